// Signing in with a token or a kubeconfig, when there is no link with a code.

import { fill, h } from "./dom.js";
import { post } from "./api.js";
import { field, sentence } from "./elements.js";

class SignInView extends HTMLElement {
  connectedCallback() {
    const token = h("input", { type: "password", autocomplete: "off", spellcheck: "false" });
    const kubeconfig = h("textarea", { rows: "5", spellcheck: "false", autocomplete: "off" });
    const problem = h("p", { class: "problem", role: "alert" });
    const button = h("button", { class: "button primary", type: "submit" }, "Sign in");
    const submit = async (event) => {
      event.preventDefault();
      fill(problem);
      button.disabled = true;
      try {
        this.onSignedIn(await post("session", { token: token.value, kubeconfig: kubeconfig.value }));
      } catch (error) {
        fill(problem, sentence(error.message));
      } finally {
        button.disabled = false;
      }
    };
    fill(this, h("form", { class: "card sign-in", onsubmit: submit },
      h("h1", null, "Sign in"),
      this.message && h("p", { class: "message" }, sentence(this.message)),
      h("p", { class: "muted" }, "The link that ", h("code", null, "tenure serve"), " or ", h("code", null, "tenure ui"), " prints signs you in. You can also use a token."),
      field("Token", token),
      h("details", null, h("summary", null, "Use a kubeconfig"), field("Kubeconfig", kubeconfig, "Only the token of its current user is used.")),
      problem, button));
    token.focus();
  }
}

customElements.define("sign-in-view", SignInView);
