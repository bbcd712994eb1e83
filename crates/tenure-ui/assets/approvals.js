// Plans of agents that wait: one place that asks for them while the page is visible, for the navigation and the view.

import { h } from "./dom.js";
import { get } from "./api.js";

// How often the page asks. The plans are files, which tell nobody that they came.
const MILLISECONDS = 4000;

/** Notifies that the plans have "changed". */
export const approvals = new EventTarget();

let timer;
let known;

/** Returns the plans as they were last read; undefined before that. */
export const knownPlans = () => known;

/** Reads the plans, and tells of changes. */
export async function readPlans() {
  const read = await get("approvals");
  const changed = JSON.stringify(read) !== JSON.stringify(known);
  known = read;
  if (changed) approvals.dispatchEvent(new Event("changed"));
  return read;
}

/** Asks for the plans from time to time, or stops that. */
export function followApprovals(on) {
  clearTimeout(timer);
  known = undefined;
  if (!on) return;
  const ask = async () => {
    // A connection that is lost, or a session that has ended, is shown by the frame.
    if (!document.hidden) await readPlans().catch(() => {});
    clearTimeout(timer);
    timer = setTimeout(ask, MILLISECONDS);
  };
  ask();
}

/** Returns how many plans wait, beside the name of the view. */
export function waitingBadge() {
  const count = known?.plans.filter(({ decision }) => decision === "waits").length ?? 0;
  return h("span", { class: "waiting-badge", hidden: count === 0 }, String(count), h("span", { class: "hidden-text" }, count === 1 ? " plan waits" : " plans wait"));
}
