// Addresses: every view has one that can be shared. Views change the address here; the frame follows.

import { announce } from "./dom.js";
import { context, get } from "./api.js";

export const ROOT = "/ui/";

/** Notifies the frame that the address has changed. */
export const navigation = new EventTarget();

let kinds;
let kindsOf;

/** Returns the address of a view. */
export function address(view, parts = [], query = {}) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries({ context: context(), ...query })) if (value) parameters.set(name, value);
  const path = ROOT + [view, ...parts.map(encodeURIComponent)].join("/");
  const text = parameters.toString();
  return path + (text ? "?" + text : "");
}

/** Returns the address of an object's view. */
export const objectAddress = (object, query, view = "object") =>
  address(view, [object.apiVersion, object.resource, object.namespace || "-", object.name], query);

/** Reads the object that an address names. */
export const objectOf = ([apiVersion, resource, namespace, name]) =>
  ({ apiVersion, resource, namespace: namespace === "-" ? "" : namespace, name });

/** Goes to an address of the page. */
export function go(to) {
  history.pushState(null, "", to);
  navigation.dispatchEvent(new Event("changed"));
}

/** Changes the parameters of the address without leaving the view. */
export function setQuery(changes) {
  const url = new URL(location.href);
  for (const [name, value] of Object.entries(changes)) {
    if (value) url.searchParams.set(name, value);
    else url.searchParams.delete(name);
  }
  history.replaceState(null, "", url.pathname + url.search);
}

/** Returns the kinds and namespaces of the server, read once unless they are requested again. */
export function discover(again = false) {
  if (!kinds || again || kindsOf !== context()) {
    kindsOf = context();
    kinds = get("kinds").catch((error) => {
      kinds = undefined;
      throw error;
    });
  }
  return kinds;
}

/** Sets the title of the document and announces it to screen readers. */
export function title(text) {
  document.title = `${text} · Tenure`;
  announce(text);
}
