// Loads the tab into pages that host extensions as Argo CD does, with React 16 and 18, light and dark, in Chromium, and checks what a person
// sees: owners, causes, one manager's fields, the keyboard, and that 2,000 lines draw only those in view.
//
//   node extensions/test/hosts.mjs FOLDER [--pictures] [--headlamp=target/headlamp]
//
// React is installed into FOLDER, and pictures are written there. With --headlamp, the plugin that `scripts/headlamp` built is loaded as
// Headlamp loads it, into Headlamp's own section and themes.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { extension } from "../build.mjs";

const folder = resolve(process.argv[2]);
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

/** The object of the pictures: a Deployment of a Helm release that an autoscaler scales and somebody edited. */
const before = (hours) => ({ time: new Date(Date.now() - hours * 3_600_000).toISOString().replace(/\.\d+/, "") });
const container = (fields) => ({ "f:spec": { "f:template": { "f:spec": { "f:containers": { 'k:{"name":"web"}': fields } } } } });
const deployment = {
  apiVersion: "apps/v1", kind: "Deployment",
  metadata: {
    name: "web", namespace: "shop", labels: { app: "web" }, annotations: { "meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "shop" },
    managedFields: [
      entry("helm", "Apply", {
        "f:metadata": { "f:labels": { "f:app": {} }, "f:annotations": { "f:meta.helm.sh/release-name": {}, "f:meta.helm.sh/release-namespace": {} } },
        "f:spec": { "f:selector": {}, "f:template": { "f:metadata": { "f:labels": { "f:app": {} } }, "f:spec": container({ ".": {}, "f:name": {}, "f:image": {}, "f:ports": { 'k:{"containerPort":8080,"protocol":"TCP"}': { ".": {}, "f:containerPort": {} } } })["f:spec"]["f:template"]["f:spec"] } },
      }, before(170)),
      entry("kubectl-edit", "Update", container({ "f:resources": { "f:limits": { ".": {}, "f:memory": {} } } }), before(26)),
      entry("kube-controller-manager", "Update", { "f:spec": { "f:replicas": {} } }, { subresource: "scale", ...before(3) }),
    ],
  },
  spec: {
    progressDeadlineSeconds: 600, replicas: 5, selector: { matchLabels: { app: "web" } },
    template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "web", image: "registry.example.com/shop/web:1.14", ports: [{ containerPort: 8080, protocol: "TCP" }], resources: { limits: { memory: "512Mi" } } }], dnsPolicy: "ClusterFirst", restartPolicy: "Always" } },
  },
};

/** What runs in the page of a picture: the explanation of a line is open. */
async function show(render, registered) {
  const [{ component }] = registered;
  const shown = () => new Promise((done) => setTimeout(done, 60));
  render(React.createElement(component, { resource: window.OBJECT, application: {}, tree: {} }));
  await shown();
  [...document.querySelectorAll(".tenure .line")].find((line) => line.textContent.includes("replicas: 5")).click();
  await shown();
}

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

/** The hosts: their scripts, what they give to extensions, and the extension that they load. */
const react = (version) => [`react${version}`, `react-dom${version}`].map((name) => `<script src="node_modules/${name}/umd/${name.replace(/\d+$/, "")}.production.min.js"></script>`).join("");
const hosts = ["16", "18"].map((version) => ({
  name: `argo-cd-${version}`, version, head: react(version), script: extension(),
  render: version === "16" ? "(element) => ReactDOM.render(element, root)" : "(element) => (window.host ??= ReactDOM.createRoot(root)).render(element)",
  api: "window.extensionsAPI = { registerResourceExtension: (component, group, kind, title) => registered.push({ component, group, kind, title }) };",
}));
const built = process.argv.find((word) => word.startsWith("--headlamp="))?.slice("--headlamp=".length);
if (built) {
  hosts.push({
    name: "headlamp", version: "18", head: `<script src="${resolve(built, "host.js")}"></script>`, script: readFileSync(join(built, "plugin/main.js"), "utf8"),
    render: "(element) => host.render(element, root)",
    api: `window.pluginLib = { ...host.pluginLib, registerDetailsViewSection: (section) =>
  registered.push({ component: ({ resource }) => React.createElement(section, { resource: { jsonData: resource } }), group: "**", kind: "*", title: "Owners" }) };`,
  });
}

const flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files", "--virtual-time-budget=60000", `--user-data-dir=${join(folder, "profile")}`];
const failures = [];
for (const host of hosts) {
  for (const theme of ["light", "dark"]) {
    const page = (shown, work) => `<!doctype html><meta charset="utf-8"><title>running</title>
<body class="theme-${theme}" style="margin:0"><div id="root" style="height:600px"></div><pre id="result"></pre>
${host.head}
<script>const root = document.getElementById("root"), registered = []; window.OBJECT = ${JSON.stringify(shown)};
${host.api}</script>
<script>${host.script.replaceAll("</script", "<\\/script")}</script>
<script>${work(`${host.render}, registered, "${host.version}"`)}</script>`;
    const open = (name, text, size, more) => {
      const file = join(folder, `${name}.html`);
      writeFileSync(file, text);
      return execFileSync("chromium", [...flags, `--window-size=${size}`, ...more, `file://${file}`], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"], maxBuffer: 64 << 20 });
    };
    const name = `${host.name}-${theme}`;
    const tested = page(object, (given) => `(${check})(${given}).then(() => "passed", (error) => "failed: " + error.message).then((text) => { document.title = text; document.getElementById("result").textContent = "result=" + text; });`);
    const result = open(name, tested, "1000,640", ["--dump-dom"]).match(/result=([^<]*)<\/pre>/)?.[1] ?? "no result";
    if (process.argv.includes("--pictures")) open(`${name}-picture`, page(deployment, (given) => `(${show})(${given});`), "1000,640", [`--screenshot=${join(folder, `${name}.png`)}`]);
    console.log(`${host.name}, ${theme}: ${result}`);
    if (result !== "passed") failures.push(result);
  }
}
process.exitCode = failures.length > 0 ? 1 : 0;
