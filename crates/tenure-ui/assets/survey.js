// Reading all objects with the progress shown, as several views do.

import { fill, h } from "./dom.js";
import { once } from "./api.js";
import { errorState } from "./elements.js";

/** Reads a survey, shows its progress in an element, and passes every other line on. */
export async function readSurvey(element, endpoint, query, signal, onLine) {
  const bar = h("progress", { max: "1", value: 0, "aria-label": "Progress" });
  const words = h("p", null, "Reading all objects…");
  fill(element, h("div", { class: "state" }, bar, words));
  try {
    await once(endpoint, query, signal, (line) => {
      if (line.type !== "progress") return onLine(line);
      bar.max = line.of;
      bar.value = line.done;
      words.textContent = `Reading ${line.kind}…`;
    });
  } catch (error) {
    if (!signal.aborted) fill(element, errorState("The objects cannot be read", error, () => readSurvey(element, endpoint, query, signal, onLine)));
  }
}
