// The frame of the page: navigation, the address of each view, the session, and the states that concern all views.

import { announce, fill, h, icon } from "./dom.js";
import { ApiError, connection, context, get, post, signOut } from "./api.js";
import { errorPage, loading, select } from "./elements.js";
import { listenForKeys, showKeys } from "./keys.js";
import { ROOT, address, go, navigation, title } from "./navigation.js";
import { approvals, followApprovals, waitingBadge } from "./approvals.js";
import "./view-sign-in.js";
import "./view-overview.js";
import "./view-objects.js";
import "./view-object.js";
import "./view-difference.js";
import "./view-apply.js";
import "./view-handover.js";
import "./view-managers.js";
import "./view-manager.js";
import "./view-types.js";
import "./view-approvals.js";

// The views: the first part of the address, the element, and the title.
const VIEWS = {
  overview: ["overview-view", "Overview"],
  objects: ["objects-view", "Objects"],
  object: ["object-view", "Object"],
  difference: ["difference-view", "Two versions"],
  apply: ["apply-view", "Try an apply"],
  handover: ["handover-view", "Hand over"],
  managers: ["managers-view", "Managers"],
  manager: ["manager-view", "Manager"],
  types: ["types-view", "Types"],
  approvals: ["approvals-view", "Approvals"],
};
const NAVIGATION = ["overview", "objects", "apply", "handover", "managers", "types", "approvals"];
// Which of them a view without an entry of its own belongs to.
const PARENTS = { object: "objects", difference: "objects", manager: "managers" };

const main = document.getElementById("main");
const bar = document.getElementById("bar");
const notice = document.getElementById("notice");
let session;
let sessionOf = "";

async function route() {
  if (session && sessionOf !== context()) return start();
  const path = location.pathname.slice(ROOT.length).split("/").map(decodeURIComponent);
  const [name, ...parts] = path[0] ? path : ["overview"];
  const known = VIEWS[name];
  drawBar(PARENTS[name] ?? name);
  if (!session) return;
  if (!known) return fill(main, errorPage("There is no such page", { message: "check the address, or start at the overview" }));
  const [tag, words] = known;
  title(words);
  const view = document.createElement(tag);
  view.parts = parts;
  view.query = new URLSearchParams(location.search);
  fill(main, view);
  main.scrollTop = 0;
}

function drawBar(current) {
  const theme = localStorage.getItem("theme") ?? "";
  fill(bar,
    h("a", { class: "brand", href: address("overview"), "aria-label": "Tenure, start" }, h("img", { src: "/ui/assets/icon.svg", alt: "", width: "26", height: "26" }), h("span", null, "Tenure")),
    session && h("nav", { "aria-label": "Views" }, NAVIGATION.filter((name) => name !== "approvals" || session.approvals || name === current).map((name) =>
      h("a", { href: address(name), "aria-current": name === current ? "page" : undefined }, VIEWS[name][1], name === "approvals" && waitingBadge()))),
    h("div", { class: "end" },
      session && contextChoice(),
      session && h("div", { class: "server", title: `${session.server} ${session.version}` }, h("b", null, session.user || "signed in"), h("span", null, session.server.replace(/^https?:\/\//, ""))),
      session && h("button", { type: "button", class: "quiet keys-button", onclick: showKeys, title: "Keys (?)" }, h("span", { "aria-hidden": "true" }, "?"), h("span", { class: "hidden-text" }, "Keys")),
      h("button", { type: "button", class: "quiet", onclick: nextTheme, title: "Change the colours" }, icon("sun"), h("span", { class: "hidden-text" }, `Colours: ${theme || "as the system"}`)),
      session && h("button", { type: "button", class: "quiet", onclick: leave, title: "Sign out" }, icon("out"), h("span", { class: "hidden-text" }, "Sign out"))));
  revealCurrent();
}

/** Returns a menu of the contexts, where there are several. */
function contextChoice() {
  if (!(session.contexts?.length > 1)) return undefined;
  const menu = select(session.contexts.map((name) => [name, name]), session.context, (name) => {
    const url = new URL(ROOT + "overview", location.href);
    url.searchParams.set("context", name);
    go(url.pathname + url.search);
  });
  menu.setAttribute("aria-label", "Context");
  menu.className = "context";
  return menu;
}

const THEMES = ["", "light", "dark"];

/** On a narrow screen the current view may be outside of the visible part of the navigation. */
function revealCurrent() {
  bar.querySelector("[aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });
}

function nextTheme() {
  const next = THEMES[(THEMES.indexOf(localStorage.getItem("theme") ?? "") + 1) % THEMES.length];
  localStorage.setItem("theme", next);
  applyTheme();
  route();
  announce(`Colours: ${next || "as the system"}`);
}

function applyTheme() {
  document.documentElement.dataset.theme = localStorage.getItem("theme") ?? "";
}

async function leave() {
  await signOut().catch(() => {});
  askToSignIn("You have signed out.");
}

function askToSignIn(message) {
  session = undefined;
  followApprovals(false);
  drawBar("");
  title("Sign in");
  const view = document.createElement("sign-in-view");
  view.message = message;
  view.onSignedIn = (opened) => {
    session = opened;
    sessionOf = context();
    followApprovals(session.approvals);
    route();
  };
  fill(main, view);
}

async function start() {
  applyTheme();
  drawBar("");
  fill(main, loading("Connecting…"));
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  try {
    if (code) {
      history.replaceState(null, "", location.pathname + location.search);
      session = await post("session", { code });
    } else {
      session = await get("session");
    }
    sessionOf = context();
    followApprovals(session.approvals);
    route();
  } catch (error) {
    if (error instanceof ApiError && (error.code === 401 || error.code === 403)) return askToSignIn(code ? error.message : "");
    // The bar stays, so that another context can be chosen.
    sessionOf = context();
    fill(main, errorPage("The server cannot be reached", error, start));
  }
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href]");
  if (!link || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || link.hasAttribute("download")) return;
  const url = new URL(link.href);
  if (url.origin !== location.origin || !url.pathname.startsWith(ROOT) || url.hash) return;
  event.preventDefault();
  go(url.pathname + url.search);
  main.focus({ preventScroll: true });
});
// A link with a code may be opened while the page is open.
addEventListener("hashchange", () => location.hash.startsWith("#code=") && start());
addEventListener("resize", revealCurrent);
// A browser may keep a page that was left, with its connections; the view is removed, which ends them, and drawn again on return.
addEventListener("pagehide", () => fill(main));
addEventListener("pageshow", (event) => event.persisted && start());
addEventListener("popstate", () => location.hash.startsWith("#code=") || route());
navigation.addEventListener("changed", route);
approvals.addEventListener("changed", () => document.querySelector("nav .waiting-badge")?.replaceWith(waitingBadge()));
listenForKeys();
connection.addEventListener("expired", () => session && askToSignIn("The session has ended. Sign in again to continue."));
connection.addEventListener("lost", () => fill(notice, h("p", { class: "lost" }, icon("warn"), "The connection is lost. What you see may be out of date; the page tries again.")));
connection.addEventListener("restored", () => fill(notice));
start();
