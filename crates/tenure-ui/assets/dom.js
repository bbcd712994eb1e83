// Building elements. Text is always set as text; nothing here parses markup, so that object contents cannot become markup.

/** Creates an element: properties starting with "on" are listeners, `class` and attributes are set as such, children are nodes or text. */
export function h(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "selected" || name === "disabled" || name === "hidden") element[name] = value;
    else if (name === "vars") for (const [key, text] of Object.entries(value)) element.style.setProperty(key, text);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children) {
    if (child === undefined || child === null || child === false) continue;
    if (Array.isArray(child)) append(element, child);
    else element.append(child);
  }
}

/** Replaces the children of an element. */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

const SHAPES = {
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10Zm3.6-1.4L14 14",
  chevron: "m4 6 4 4 4-4",
  close: "m4 4 8 8m0-8-8 8",
  sun: "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1",
  out: "M6 3H3v10h3M10 5l3 3-3 3M13 8H6",
  arrow: "M3 8h10M9 4l4 4-4 4",
  warn: "M8 2 15 14H1L8 2Zm0 4.5V10M8 12v.010",
  check: "m3 8.5 3.5 3.5L13 4.5",
  refresh: "M13 8a5 5 0 1 1-1.5-3.5M13 2v3h-3",
};

/** Returns a small drawing, which is decoration: the text must also express its meaning. */
export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", SHAPES[name]);
  svg.append(path);
  return svg;
}

/** Announces something to screen readers. */
export function announce(text) {
  document.getElementById("announce").textContent = text;
}

/** Returns a function that runs `work` after some milliseconds without a call. */
export function debounce(work, milliseconds) {
  let timer;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...args), milliseconds);
  };
}

/** Offers a document as a file. */
export function download(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
