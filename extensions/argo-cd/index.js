// The tab "Owners" of every resource in Argo CD. React and the registry of extensions come from Argo CD's page.

import { ownersView } from "../owners/view.js";

const Owners = ownersView(window.React);
const isDark = () => document.querySelector(".theme-dark") !== null;

function Tab({ resource }) {
  return window.React.createElement(Owners, { object: resource, dark: isDark() });
}

window.extensionsAPI.registerResourceExtension(Tab, "**", "*", "Owners", { icon: "fa-solid fa-user-pen" });
