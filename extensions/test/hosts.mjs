// Loads the tab into pages that host extensions as Argo CD does, with React 16 and 18, light and dark, in Chromium, and checks what a person
// sees: owners, causes, one manager's fields, the keyboard, and that 2,000 lines draw only those in view.
//
//   node extensions/test/hosts.mjs FOLDER [--pictures] [--headlamp=extensions/headlamp/dist/main.js]
//
// React is installed into FOLDER, and pictures are written there. With --headlamp, the built plugin is loaded as Headlamp loads it, too.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const folder = resolve(process.argv[2]);
const extension = readFileSync(new URL("../argo-cd/extension-tenure.js", import.meta.url), "utf8");
mkdirSync(folder, { recursive: true });
if (!existsSync(join(folder, "node_modules/react-dom18"))) {
  const packages = ["16", "18"].flatMap((version) => [`react${version}@npm:react@${version}`, `react-dom${version}@npm:react-dom@${version}`]);
  try {
    execFileSync("npm", ["install", "--prefix", folder, "--no-audit", "--no-fund", "--legacy-peer-deps", "--loglevel=error", ...packages], { stdio: "inherit" });
  } catch (error) {
    console.log(`React cannot be installed, the hosts are not checked: ${error.message}`);
    process.exit(0);
  }
}

/** The object that the host shows: 2,000 lines of two managers, and replicas that an autoscaler scales. */
const keys = Array.from({ length: 2000 }, (_, at) => `key${String(at).padStart(4, "0")}`);
const owned = (odd) => Object.fromEntries(keys.filter((_, at) => at % 2 === odd).map((key) => [`f:${key}`, {}]));
const entry = (manager, operation, fieldsV1, more = {}) => ({ manager, operation, apiVersion: "v1", time: "2026-11-01T08:00:00Z", fieldsType: "FieldsV1", fieldsV1, ...more });
const object = {
  apiVersion: "example.com/v1", kind: "Settings",
  metadata: {
    name: "web", namespace: "shop", annotations: { "argocd.argoproj.io/tracking-id": "shop:Settings:shop/web" },
    managedFields: [
      entry("argocd-controller", "Apply", { "f:data": owned(0) }),
      entry("kubectl-edit", "Update", { "f:data": owned(1) }),
      entry("kube-controller-manager", "Update", { "f:spec": { "f:replicas": {} } }, { subresource: "scale" }),
    ],
  },
  spec: { replicas: 5 },
  data: Object.fromEntries(keys.map((key) => [key, "value"])),
};

/** What runs in the page, after the extension was loaded. */
async function check(render, registered, version) {
  const frame = () => new Promise((done) => setTimeout(done, 20));
  const expect = (found, wanted, what) => {
    if (found !== wanted) throw new Error(`${what}: expected ${wanted}, found ${found}`);
  };
  const all = (selector) => [...document.querySelectorAll(selector)];
  const settle = async () => { await frame(); await frame(); };
  expect(React.version.split(".")[0], version, "React");
  expect(registered.length, 1, "registered extensions");
  const [{ component, group, kind, title }] = registered;
  expect([group, kind, title].join(" "), "** * Owners", "the registration");
  render(React.createElement(component, { resource: window.OBJECT, application: {}, tree: {} }));
  await settle();
  expect(all(".tenure .legend button").map((button) => button.textContent).sort().join(), "argocd-controller,kube-controller-manager,kubectl-edit", "managers");
  const drawn = all(".tenure .line").length;
  if (drawn < 10 || drawn > 150) throw new Error(`${drawn} of 2,000 lines are drawn`);
  expect(document.querySelector(".tenure").classList.contains("dark"), document.querySelector(".theme-dark") !== null, "the theme");
  const list = document.querySelector(".tenure .lines");
  for (let at = 0; at <= 40; at += 1) {
    list.scrollTop = (list.scrollHeight * at) / 40;
    list.dispatchEvent(new Event("scroll", { bubbles: true }));
    await frame();
    if (all(".tenure .line").length > 150) throw new Error("too many lines are drawn while scrolling");
  }
  await settle();
  if (!all(".tenure .line").some((line) => line.textContent.includes("replicas: 5"))) throw new Error("the last lines are not drawn");
  all(".tenure .line").find((line) => line.textContent.includes("replicas: 5")).click();
  await settle();
  const detail = document.querySelector(".tenure .detail").textContent;
  if (!detail.includes("HorizontalPodAutoscaler via scale") || !detail.includes("leave the field out")) throw new Error(`the detail says: ${detail}`);
  all(".tenure .legend button").find((button) => button.textContent === "kube-controller-manager").click();
  await settle();
  expect(all(".tenure .line").map((line) => line.querySelector(".text").textContent.trim()).join(), "spec:,replicas: 5", "the lines of one manager");
  list.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowUp", bubbles: true }));
  await settle();
  expect(all('.tenure .line[aria-selected="true"]').length, 1, "selected lines");
  all(".tenure .legend button").find((button) => button.textContent === "kube-controller-manager").click();
  list.scrollTop = 0;
  list.dispatchEvent(new Event("scroll", { bubbles: true }));
  await settle();
}

/** The hosts: what they give to extensions, and the script that they load. */
const argoCd = {
  name: "argo-cd", script: extension,
  api: "window.extensionsAPI = { registerResourceExtension: (component, group, kind, title) => registered.push({ component, group, kind, title }) };",
};
const built = process.argv.find((word) => word.startsWith("--headlamp="))?.slice("--headlamp=".length);
const headlamp = built && {
  name: "headlamp", script: readFileSync(built, "utf8"),
  api: `const h = React.createElement, box = ({ title, children }) => h("section", { style: { padding: 16 } }, h("h2", { style: { font: "20px sans-serif", color: "gray" } }, title), children);
window.pluginLib = { React, CommonComponents: { SectionBox: box }, registerDetailsViewSection: (section) =>
  registered.push({ component: ({ resource }) => h(section, { resource: { jsonData: resource } }), group: "**", kind: "*", title: "Owners" }) };
if (document.body.className === "theme-dark") document.body.style.backgroundColor = "#15181e";`,
};

const failures = [];
for (const [host, version] of [[argoCd, "16"], [argoCd, "18"], [headlamp, "18"]].filter(([host]) => host)) {
  for (const theme of ["light", "dark"]) {
    const script = (name) => `<script src="node_modules/${name}/umd/${name.replace(/\d+$/, "")}.production.min.js"></script>`;
    const render = version === "16" ? "(element) => ReactDOM.render(element, root)" : "(element) => (window.host ??= ReactDOM.createRoot(root)).render(element)";
    const page = `<!doctype html><meta charset="utf-8"><title>running</title>
<body class="theme-${theme}" style="margin:0"><div id="root" style="height:600px"></div><pre id="result"></pre>
${script(`react${version}`)}${script(`react-dom${version}`)}
<script>const root = document.getElementById("root"), registered = []; window.OBJECT = ${JSON.stringify(object)};
${host.api}</script>
<script>${host.script.replaceAll("</script", "<\\/script")}</script>
<script>(${check})(${render}, registered, "${version}").then(() => "passed", (error) => "failed: " + error.message).then((text) => { document.title = text; document.getElementById("result").textContent = "result=" + text; });</script>`;
    const file = join(folder, `${host.name}-${version}-${theme}.html`);
    writeFileSync(file, page);
    const flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files", "--window-size=1000,640", "--virtual-time-budget=60000", `--user-data-dir=${join(folder, "profile")}`];
    const chromium = (more) => execFileSync("chromium", [...flags, ...more, `file://${file}`], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"], maxBuffer: 64 << 20 });
    const result = chromium(["--dump-dom"]).match(/result=([^<]*)<\/pre>/)?.[1] ?? "no result";
    if (process.argv.includes("--pictures")) chromium([`--screenshot=${join(folder, `${host.name}-${version}-${theme}.png`)}`]);
    console.log(`${host.name} ${version}, ${theme}: ${result}`);
    if (result !== "passed") failures.push(result);
  }
}
process.exitCode = failures.length > 0 ? 1 : 0;
