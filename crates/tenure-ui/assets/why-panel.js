// Why a field is as it is: its value, its owners, how it merges, and what each kind of write would do to it.

import { fill, h, icon } from "./dom.js";
import { get } from "./api.js";
import { address, objectAddress } from "./navigation.js";
import { errorState, loading, pathNode, valueText } from "./elements.js";
import { described } from "./managers.js";
import { adviceList } from "./causes.js";
import { fieldHistory } from "./history.js";

class WhyPanel extends HTMLElement {
  connectedCallback() {
    this.setAttribute("role", "complementary");
    this.setAttribute("aria-label", "Why");
    this.addEventListener("keydown", (event) => event.key === "Escape" && this.close());
  }

  disconnectedCallback() {
    this.abort?.abort();
  }

  close() {
    this.dispatchEvent(new Event("closed"));
  }

  /** Explains a field of an object of a kind, whose value may be masked. */
  async explain(object, path, context) {
    this.abort?.abort();
    this.abort = new AbortController();
    const body = h("div", { class: "body", tabindex: "-1" }, loading("Looking it up…"));
    fill(this, h("div", { class: "top" }, h("h2", null, context.at ? `Why, at revision ${context.at}` : "Why"), h("button", { type: "button", class: "quiet", onclick: () => this.close(), title: "Close" }, icon("close"), h("span", { class: "hidden-text" }, "Close"))), pathNode(path), body);
    try {
      const why = await get("why", { ...object, path, at: context.at }, this.abort.signal);
      fill(body, this.parts(why, object, context), fieldHistory(object, path, context.masked, this.abort.signal));
    } catch (error) {
      if (error.name !== "AbortError") fill(body, errorState("This field cannot be explained", error));
    }
  }

  parts(why, object, { kind, access, masked, at }) {
    const inner = why.ownedAs !== why.path;
    const value = masked ? "••••••" : valueText(why.value);
    return [
      h("section", null, h("h3", null, "Value"), h("pre", { class: "value", tabindex: "0" }, value.length > 2000 ? value.slice(0, 2000) + "…" : value)),
      h("section", null, h("h3", null, "Owners"),
        why.owners.length > 0 ? h("ul", { class: "plain" }, why.owners.map((owner) => h("li", null, described(owner), owner.who !== owner.manager && h("span", { class: "muted known" }, owner.who))))
          : h("p", null, "No manager owns it: it is a default, or was written before ownership was tracked."),
        why.advice.length > 0 && adviceList(why.advice),
        inner && h("p", { class: "muted" }, "It is owned as part of ", pathNode(why.ownedAs), ".")),
      h("section", null, h("h3", null, "How it merges"), h("p", null, h("code", null, why.type)),
        why.rules.length > 0 && h("ul", { class: "sentences" }, why.rules.map((rule) => h("li", null, rule)))),
      h("section", null, h("h3", null, "What a write would do"),
        h("dl", null, why.writes.flatMap(({ write, result }) => [h("dt", null, write), h("dd", null, result)]))),
      h("p", { class: "actions" },
        why.owners.length > 0 && !at && (access?.allowed === false
          ? h("button", { type: "button", class: "button", "aria-disabled": "true", title: access.reason }, "Hand over this field")
          : h("a", { class: "button", href: objectAddress(object, { action: "transfer", path: why.ownedAs }, "handover") }, "Hand over this field")),
        kind && h("a", { class: "button", href: address("types", [object.apiVersion, kind]) }, "About the type")),
    ];
  }
}

customElements.define("why-panel", WhyPanel);
