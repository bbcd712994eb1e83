// A component that shows an object with the owners of every line. React comes from the host, version 16.8 or newer. Only the lines that
// can be seen are drawn, so that objects of thousands of lines scroll smoothly.

import { age, blame, hues, operation } from "./owners.js";
import { meaning, who } from "./tools.js";

const ROW = 20;
const SPARE = 30;

const STYLE = `
.tenure { color-scheme: light; --t-text: #14171c; --t-muted: #565e6e; --t-line: #e3e6eb; --t-surface: #ffffff; --t-raised: #f2f4f7; --t-focus: #3450d1; --t-l: 0.45; --t-b: 0.62;
  display: flex; flex-direction: column; height: 100%; min-height: 320px; max-height: 80vh; color: var(--t-text); background: var(--t-surface); font: 13px/1.5 system-ui, sans-serif; }
.tenure.dark { color-scheme: dark; --t-text: #e7e9ee; --t-muted: #a0a8b8; --t-line: #282d37; --t-surface: #15181e; --t-raised: #1c2028; --t-focus: #98aaff; --t-l: 0.83; --t-b: 0.72; }
.tenure ul { list-style: none; margin: 0; padding: 0; }
.tenure .legend { display: flex; flex-wrap: wrap; gap: 6px; padding: 8px 10px; border-bottom: 1px solid var(--t-line); }
.tenure .legend button { font: inherit; color: inherit; background: var(--t-raised); border: 1px solid var(--t-line); border-radius: 99px; padding: 1px 10px; cursor: pointer; }
.tenure .legend button[aria-pressed="true"] { border-color: var(--t-focus); }
.tenure .dot { display: inline-block; width: 9px; height: 9px; border-radius: 50%; margin-right: 6px; background: oklch(var(--t-b) 0.14 var(--t-hue)); }
.tenure .lines { flex: 1; min-height: 0; overflow: auto; position: relative; font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 12px; }
.tenure .line { position: absolute; left: 0; min-width: 100%; height: ${ROW}px; line-height: ${ROW}px; display: flex; white-space: pre; cursor: pointer; }
.tenure .line:hover, .tenure .line[aria-selected="true"] { background: var(--t-raised); }
.tenure .gutter { flex: none; width: 220px; overflow: hidden; text-overflow: ellipsis; padding: 0 8px; border-right: 3px solid transparent; color: oklch(var(--t-l) 0.12 var(--t-hue)); }
.tenure .owned .gutter { border-right-color: oklch(var(--t-b) 0.14 var(--t-hue)); }
.tenure .unowned .gutter, .tenure .unowned .text { color: var(--t-muted); }
.tenure .text { padding: 0 10px; }
.tenure .detail { border-top: 1px solid var(--t-line); padding: 8px 10px; flex: none; max-height: 34%; overflow: auto; }
.tenure .detail code { font-family: ui-monospace, Menlo, Consolas, monospace; }
.tenure .detail li { padding-top: 4px; }
.tenure .muted { color: var(--t-muted); }
.tenure :focus-visible { outline: 2px solid var(--t-focus); outline-offset: -2px; }
`;

/** Returns the component for a host's React. Its properties are `object` and `dark`. */
export function ownersView(React) {
  const h = React.createElement;

  function Owners({ object, dark }) {
    const [selected, select] = React.useState(-1);
    const [only, setOnly] = React.useState(undefined);
    const [top, setTop] = React.useState(0);
    const [height, setHeight] = React.useState(600);
    const list = React.useRef(null);
    const view = React.useMemo(() => prepared(object), [object]);
    const lines = React.useMemo(() => chosen(view, only), [view, only]);
    React.useEffect(() => {
      const measure = () => list.current && setHeight(list.current.clientHeight);
      measure();
      window.addEventListener("resize", measure);
      return () => window.removeEventListener("resize", measure);
    }, []);
    if (view.error) return h("div", { className: `tenure${dark ? " dark" : ""}` }, h("style", null, STYLE), h("p", { className: "detail", role: "status" }, view.error));

    // The list may have become shorter than it was when it was scrolled.
    const from = Math.max(0, Math.min(top, lines.length * ROW - height));
    const first = Math.max(0, Math.floor(from / ROW) - SPARE);
    const last = Math.min(lines.length, Math.ceil((from + height) / ROW) + SPARE);
    const at = lines.indexOf(selected);
    const move = (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20 }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      const next = Math.max(0, Math.min(lines.length - 1, at + step));
      select(lines[next]);
      const box = list.current;
      if (next * ROW < box.scrollTop) box.scrollTop = next * ROW;
      if ((next + 1) * ROW > box.scrollTop + box.clientHeight) box.scrollTop = (next + 1) * ROW - box.clientHeight;
    };
    const row = (number, position) => {
      const line = view.lines[number];
      const owners = line.owners.map((each) => view.owners[each]);
      const label = owners.length > 0 ? `${owners[0].manager}${owners.length > 1 ? ` +${owners.length - 1}` : ""} ${age(owners[0].time)}` : line.state === "unowned" ? "no owner" : "";
      return h("div", { key: number, id: `tenure-line-${number}`, role: "option", "aria-selected": String(number === selected), className: `line ${line.state}`,
        "aria-label": `${line.text.trim()}. ${owners.map((owner) => `${owner.manager}, ${operation(owner)}`).join(" and ") || (line.state === "unowned" ? "No owner" : "")}`,
        style: { top: position * ROW, "--t-hue": owners.length > 0 ? view.hues.get(owners[0].manager) : undefined }, onClick: () => select(number) },
      h("span", { className: "gutter", title: label }, label), h("span", { className: "text" }, line.text));
    };
    return h("div", { className: `tenure${dark ? " dark" : ""}` }, h("style", null, STYLE),
      h("div", { className: "legend", role: "group", "aria-label": "Managers" }, [...view.hues].map(([manager, hue]) =>
        h("button", { key: manager, type: "button", "aria-pressed": String(only === manager), onClick: () => setOnly(only === manager ? undefined : manager) },
          h("span", { className: "dot", style: { "--t-hue": hue } }), manager))),
      h("div", { className: "lines", ref: list, role: "listbox", tabIndex: 0, "aria-label": "Lines of the object with their owners",
        "aria-activedescendant": at >= 0 ? `tenure-line-${selected}` : undefined, onKeyDown: move, onScroll: (event) => setTop(event.currentTarget.scrollTop) },
      h("div", { style: { height: lines.length * ROW } }, lines.slice(first, last).map((number, offset) => row(number, first + offset)))),
      view.lines[selected] && h(Detail, { line: view.lines[selected], view, object }));
  }

  function Detail({ line, view, object }) {
    const owners = line.owners.map((number) => view.owners[number]);
    return h("div", { className: "detail", "aria-live": "polite" }, h("code", null, line.path || line.text),
      owners.length === 0 && h("p", { className: "muted" }, line.state === "unowned" ? "No manager owns it: a default, or set by admission. Any manager may set it." : "It is maintained by the server, or contains fields with owners of their own."),
      h("ul", null, owners.map((owner, at) => h("li", { key: at },
        h("span", { className: "dot", style: { "--t-hue": view.hues.get(owner.manager) } }), h("b", null, who(owner, object)),
        h("span", { className: "muted", title: owner.time }, ` ${owner.manager}, ${operation(owner)}${owner.time ? `, ${age(owner.time)} ago` : ""}`),
        meaning(owner) && h("div", null, meaning(owner))))));
  }

  return Owners;
}

function prepared(object) {
  try {
    const { owners, lines } = blame(object);
    if (owners.length === 0) return { error: "The object has no managed fields. If the interface hides them, show them; else nothing was written with field tracking." };
    return { owners, lines, hues: hues(owners) };
  } catch (error) {
    return { error: `The owners cannot be shown: ${error.message}` };
  }
}

/** Returns the numbers of the lines of one manager with their parents; of all lines, if none is chosen. */
function chosen(view, manager) {
  if (!view.lines) return [];
  const all = view.lines.map((_, number) => number);
  if (manager === undefined) return all;
  const wanted = view.lines.filter((line) => line.owners.some((number) => view.owners[number].manager === manager)).map((line) => line.path);
  const kept = new Set();
  for (const path of wanted) for (let end = path.length; end > 0; end = Math.max(path.lastIndexOf(".", end - 1), path.lastIndexOf("[", end - 1))) kept.add(path.slice(0, end));
  return all.filter((number) => kept.has(view.lines[number].path));
}
