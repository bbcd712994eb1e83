// Plans of agents that wait for a person: the list, and one plan with everything that it does, to approve or to refuse.

import { announce, fill, h, icon } from "./dom.js";
import { get, post } from "./api.js";
import { address, objectAddress, title } from "./navigation.js";
import { emptyState, errorState, loading, pathNode, sentence } from "./elements.js";
import { ago, described } from "./managers.js";
import { ownerChanges, valueChanges } from "./changes.js";
import { approvals, knownPlans, readPlans } from "./approvals.js";

const WORDS = { waits: "Waits", approved: "Approved", refused: "Refused" };
const VERBS = { apply: "Apply", restore: "Restore", delete: "Delete" };

const short = (digest) => digest.slice(0, 19);
const count = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;
const verdict = (decision) => h("span", { class: `verdict decision ${decision}` }, WORDS[decision]);
const named = (object) => `${object.kind} ${object.name}${object.namespace ? ` in ${object.namespace}` : ""}`;

/** Returns who asked: the managers of the tasks, as far as the plan applies something. */
const asked = (managers) => (managers.length > 0
  ? managers.map((manager) => described({ manager, operation: "Apply" }))
  : h("span", { class: "muted" }, "an agent, without a task of its own"));

class ApprovalsView extends HTMLElement {
  connectedCallback() {
    title("Approvals");
    this.list = h("div", { class: "waiting-plans" });
    this.place = h("div", { class: "plan" });
    this.digest = this.parts[0];
    this.changed = () => this.drawList();
    approvals.addEventListener("changed", this.changed);
    fill(this, h("div", { class: "heading" }, h("h1", null, "Approvals"), h("span", { class: "muted" }, "What agents want to do, for you to decide")), this.list, this.place);
    this.read();
  }

  disconnectedCallback() {
    approvals.removeEventListener("changed", this.changed);
    this.abort?.abort();
  }

  async read() {
    if (!knownPlans()) fill(this.list, loading("Reading the plans…"));
    try {
      await readPlans();
      this.drawList();
      if (this.digest) await this.show();
    } catch (error) {
      fill(this.list, errorState("The plans cannot be read", error, () => this.read()));
    }
  }

  drawList() {
    const { plans, problems } = knownPlans() ?? { plans: [], problems: [] };
    if (plans.length === 0) {
      fill(this.list, this.problems(problems), !this.digest && emptyState("No plan waits", "Agents that use `tenure mcp --approve plan` ask here before they change anything. New plans appear by themselves."));
      return;
    }
    fill(this.list, this.problems(problems), h("ul", { class: "plain" }, plans.map((plan) => this.entry(plan))));
  }

  problems(problems) {
    return problems.length > 0 && h("ul", { class: "notes" }, problems.map((problem) => h("li", null, sentence(problem))));
  }

  entry({ digest, decision, managers, named: steps, count: all, time }) {
    return h("li", null, h("a", { class: "waiting-plan", href: address("approvals", [digest]), "aria-current": digest === this.digest ? "true" : undefined },
      h("span", { class: "line-of spread" }, h("b", null, managers.join(", ") || "an agent"), verdict(decision)),
      steps.map(({ write, object }) => h("span", { class: "line-of" }, `${VERBS[write] ?? write} ${named(object)}`)),
      all > steps.length && h("span", { class: "muted" }, `and ${all - steps.length} more`),
      h("span", { class: "line-of muted" }, h("code", null, short(digest)), h("time", { datetime: time, title: time }, ago(time)))));
  }

  /** Shows the plan that the address names. */
  async show() {
    this.abort?.abort();
    this.abort = new AbortController();
    if (!this.place.hasChildNodes()) fill(this.place, loading("Reading the plan…"));
    try {
      const plan = await get("approvals/plan", { digest: this.digest }, this.abort.signal);
      this.drawPlan(plan);
    } catch (error) {
      if (error.name === "AbortError") return;
      if (error.code === 404) fill(this.place, emptyState("This plan no longer waits", "It was carried out, or its agent withdrew it."));
      else fill(this.place, errorState("The plan cannot be shown", error, () => this.show()));
    }
  }

  drawPlan(plan) {
    const { digest, decision, managers, server, time, steps, stale, isHere, pin } = plan;
    const decide = (word, label, primary) => h("button", { type: "button", class: `button${primary ? " primary" : ""}`, "aria-disabled": decision === word ? "true" : undefined, onclick: () => decision !== word && this.decide(word) }, label);
    const words = { waits: "The decision is about this digest, which covers everything that is shown here.", approved: "Approved. The agent can carry it out once, if it still holds.", refused: "Refused. The agent is told so, and cannot carry it out." };
    fill(this.place,
      h("article", { class: "card" },
        h("header", null, h("h2", null, count(steps.length, "step")), verdict(decision)),
        h("dl", { class: "facts" },
          h("dt", null, "Asked by"), h("dd", { class: "line-of" }, asked(managers)),
          h("dt", null, "For"), h("dd", null, server, !isHere && h("span", { class: "tag" }, "another cluster than the one of this page")),
          h("dt", null, "Made"), h("dd", null, h("time", { datetime: time, title: time }, ago(time)), h("span", { class: "muted" }, `pinned to ${pin}`)),
          h("dt", null, "Digest"), h("dd", null, h("code", { class: "digest" }, digest))),
        stale?.length > 0 && h("section", null, h("h3", null, "It no longer holds"), h("ul", { class: "notes" }, stale.map((text) => h("li", { class: "lines" }, sentence(text)))), h("p", { class: "muted" }, "If it is carried out as things are, it is refused, and nothing is written."))),
      steps.map((step) => this.step(step)),
      h("div", { class: "bottom" }, decide("approved", "Approve", true), decide("refused", "Refuse", false), h("span", { class: "muted" }, words[decision])));
  }

  step({ object, write, manager, forces, forcesAll, plan }) {
    const name = object.resource ? h("a", { href: objectAddress(object) }, `${object.kind} ${object.name}`) : `${object.kind} ${object.name}`;
    const changes = plan.values ?? [];
    const owners = plan.owners ?? [];
    const losers = owners.filter((owner) => owner.manager !== manager && (owner.lost?.length > 0 || owner.removed?.length > 0));
    return h("article", { class: "card" },
      h("header", null, h("h2", null, name), object.namespace && h("span", { class: "muted" }, object.namespace), h("span", { class: `verdict ${write === "delete" ? "refused" : "change"}` }, sentence(plan.action ?? write))),
      (forcesAll || forces?.length > 0) && h("section", { class: "taken" }, h("h3", null, "Taken by force"),
        forcesAll ? h("p", { class: "problem" }, "Every field of the manifest that others own.")
          : h("ul", { class: "changes" }, forces.map((path) => h("li", null, pathNode(path), losers.some((owner) => owner.lost?.includes(path)) && h("span", null, "from ", losers.filter((owner) => owner.lost?.includes(path)).map(described)))))),
      (plan.warnings ?? []).length > 0 && h("ul", { class: "notes" }, plan.warnings.map((warning) => h("li", null, warning))),
      changes.length > 0 && h("section", null, h("h3", null, "Values"), valueChanges(changes, true)),
      owners.length > 0 && h("section", null, h("h3", null, "Owners"), ownerChanges(owners)),
      changes.length === 0 && owners.length === 0 && h("p", { class: "muted" }, write === "delete" ? "The object is deleted, with all of its fields." : "No value and no owner changes."));
  }

  async decide(decision) {
    try {
      await post("approvals/decision", { digest: this.digest, decision });
      announce(WORDS[decision]);
      await readPlans();
      await this.show();
      this.place.querySelector(".bottom button:not([aria-disabled])")?.focus();
    } catch (error) {
      const problem = h("p", { class: "problem", role: "alert" }, icon("warn"), sentence(error.message));
      this.place.querySelector(".bottom")?.append(problem);
    }
  }
}

customElements.define("approvals-view", ApprovalsView);
