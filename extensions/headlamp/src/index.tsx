// The section "Owners" on the details page of every object in Headlamp. The component is the one of the tab for Argo CD.

import { registerDetailsViewSection } from "@kinvolk/headlamp-plugin/lib";
import { SectionBox } from "@kinvolk/headlamp-plugin/lib/CommonComponents";
import React from "react";
import { ownersView } from "../../owners/view.js";

const Owners = ownersView(React);

/** Whether Headlamp shows a dark theme: its background tells; a transparent one is that of the browser, white. */
function isDark() {
  const [red, green, blue, alpha = 1] = (getComputedStyle(document.body).backgroundColor.match(/[\d.]+/g) ?? [255, 255, 255]).map(Number);
  return alpha > 0 && red + green + blue < 384;
}

function Section({ resource }: { resource?: { jsonData?: { metadata?: { managedFields?: unknown[] } } } }) {
  const object = resource?.jsonData;
  if (!object?.metadata?.managedFields) return null;
  return React.createElement(SectionBox, { title: "Owners" }, React.createElement(Owners, { object, dark: isDark() }));
}

registerDetailsViewSection(Section);
