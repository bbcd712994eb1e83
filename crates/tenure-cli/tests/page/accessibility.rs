//! Checks of a page that do not depend on its content: every control has a name, roles are complete, text has contrast, headings and
//! landmarks are in order. The rules are those of WCAG 2.2 AA that a program can decide: those of axe, and some that it does not have.

use crate::driver::Browser;
use serde_json::Value;
use std::{path::Path, sync::LazyLock};

/// The script of axe, which `scripts/test` installs from npm.
static AXE: LazyLock<String> = LazyLock::new(|| {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the folder of cargo");
    let file = target.join("npm/node_modules/axe-core/axe.min.js");
    std::fs::read_to_string(&file).unwrap_or_else(|error| {
        panic!(
            "{}: {error}; scripts/test installs it: npm install --prefix target/npm axe-core",
            file.display()
        )
    })
});

/// Returns what is wrong with the page as it is now.
pub fn problems(browser: &Browser) -> Vec<String> {
    let texts = |found: Value| -> Vec<String> {
        let found = found.as_array().unwrap_or_else(|| panic!("{found}")).clone();
        found.iter().filter_map(Value::as_str).map(String::from).collect()
    };
    let mut found = texts(browser.script(CHECKS));
    if browser.script("return typeof axe") == "undefined" {
        browser.script(&AXE);
    }
    found.extend(texts(browser.script_that_waits(RUN_AXE)));
    found
}

/// Checks a view, light and dark.
#[track_caller]
pub fn accessible(browser: &Browser, view: &str) {
    for scheme in ["light", "dark"] {
        browser.appearance(scheme);
        assert_eq!(problems(browser), Vec::<String>::new(), "{view}, {scheme}");
    }
}

/// Runs all rules of axe for WCAG up to 2.2 AA and its best practices. The last argument of the script takes the result.
const RUN_AXE: &str = r#"
const done = arguments[arguments.length - 1];
const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
axe.run(document, { runOnly: { type: "tag", values: tags }, resultTypes: ["violations"] })
  .then(({ violations }) => done(violations.flatMap(({ id, help, nodes }) => nodes.map(({ target, failureSummary }) => `axe ${id}: ${help}: ${target.join(" ")}: ${failureSummary}`))))
  .catch((error) => done([`axe failed: ${error}`]));
"#;

const CHECKS: &str = r#"
const problems = [];
const shown = (element) => element.checkVisibility({ checkOpacity: false, checkVisibilityCSS: true }) && element.getClientRects().length > 0;
const what = (element) => `<${element.localName}${element.className && typeof element.className === "string" ? ` class="${element.className}"` : ""}> ${element.textContent.trim().slice(0, 40)}`;
const labelledBy = (element) => (element.getAttribute("aria-labelledby") ?? "").split(" ").filter(Boolean).map((id) => document.getElementById(id)?.textContent ?? "").join(" ");
const name = (element) => (element.getAttribute("aria-label") || labelledBy(element) || [...(element.labels ?? [])].map((label) => label.textContent).join(" ") || element.textContent || element.getAttribute("alt") || element.title || "").trim();

// Names: controls, images, regions.
for (const element of document.querySelectorAll("a[href], button, input, select, textarea, summary, [role=button], [role=listbox], [role=option], [tabindex='0'], nav, [role=region], [role=table], [role=group]")) {
  if (shown(element) && !name(element)) problems.push(`no accessible name: ${what(element)}`);
}
for (const image of document.querySelectorAll("img")) if (!image.hasAttribute("alt")) problems.push(`image without alt: ${image.src}`);
for (const input of document.querySelectorAll("input, select, textarea")) {
  if (shown(input) && !input.getAttribute("aria-label") && !(input.labels?.length > 0)) problems.push(`no label: ${what(input)}`);
}

// Structure: one main heading, headings in order, one main, unique ids, a language and a title.
const headings = [...document.querySelectorAll("h1, h2, h3")].filter(shown);
if (headings.filter(({ localName }) => localName === "h1").length !== 1) problems.push(`not exactly one h1: ${headings.map(what)}`);
if (document.querySelectorAll("main").length !== 1) problems.push("not exactly one main");
if (!document.documentElement.lang) problems.push("no language");
if (!document.title.includes("Tenure")) problems.push(`title: ${document.title}`);
const ids = [...document.querySelectorAll("[id]")].map(({ id }) => id);
for (const id of new Set(ids.filter((id, at) => ids.indexOf(id) !== at))) problems.push(`id twice: ${id}`);
for (const attribute of ["aria-labelledby", "aria-describedby", "aria-activedescendant", "aria-controls", "for"]) {
  for (const element of document.querySelectorAll(`[${attribute}]`)) {
    for (const id of element.getAttribute(attribute).split(" ")) {
      // The active line of a list may be scrolled out of the drawn part.
      if (attribute !== "aria-activedescendant" && !document.getElementById(id)) problems.push(`${attribute} names ${id}, which is missing`);
    }
  }
}

// Roles: children that roles require, and no control inside another.
for (const [parent, child] of [["listbox", "option"], ["table", "row"], ["row", "cell"]]) {
  for (const element of document.querySelectorAll(`[role=${parent}]`)) {
    if (shown(element) && !element.querySelector(`[role=${child}], [role=columnheader]`)) problems.push(`${parent} without ${child}`);
  }
}
for (const element of document.querySelectorAll("a[href] button, button a[href], button button, [role=option] a[href], [role=option] button")) problems.push(`control inside a control: ${what(element)}`);
for (const list of document.querySelectorAll("ul, ol")) for (const child of list.children) if (child.localName !== "li") problems.push(`${child.localName} in a list`);

// Contrast of text, with colours painted to pixels so that every colour space is understood.
const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
const painted = new Map();
const pixel = (colour) => {
  if (!painted.has(colour)) painted.set(colour, paint(colour));
  return painted.get(colour);
};
const paint = (colour) => {
  canvas.clearRect(0, 0, 1, 1);
  canvas.fillStyle = colour;
  canvas.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
  return [r, g, b, a / 255];
};
const over = (top, bottom) => [0, 1, 2].map((at) => top[at] * top[3] + bottom[at] * (1 - top[3])).concat(1);
const background = (element) => {
  const layers = [];
  for (let at = element; at; at = at.parentElement) layers.push(pixel(getComputedStyle(at).backgroundColor));
  return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
};
const luminance = ([r, g, b]) => {
  const [x, y, z] = [r, g, b].map((value) => value / 255).map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
  return 0.2126 * x + 0.7152 * y + 0.0722 * z;
};
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const seen = new Map();
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.textContent.trim() || !shown(element) || element.closest(".hidden-text, option, script, noscript, .skip")) continue;
  const style = getComputedStyle(element);
  const below = background(element);
  const text = over(pixel(style.color), below);
  const [light, dark] = [luminance(text), luminance(below)].sort((a, b) => b - a);
  const ratio = (light + 0.05) / (dark + 0.05);
  const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 700);
  if (ratio < (large ? 3 : 4.5)) seen.set(`${style.color} on ${below.map(Math.round)}`, `contrast ${ratio.toFixed(2)} of ${style.color} on ${below.map(Math.round)}: ${what(element)}`);
}
problems.push(...seen.values());

// Targets are large enough to hit.
for (const element of document.querySelectorAll("button, select, input:not([type=checkbox]):not([type=radio]), summary")) {
  if (!shown(element)) continue;
  const { width, height } = element.getBoundingClientRect();
  if (width < 24 || height < 20) problems.push(`small target ${Math.round(width)}×${Math.round(height)}: ${what(element)}`);
}
return problems;
"#;
