// Environments shaped like those of envtest-js, which start a kube-apiserver: a suite written for it changes its import.
"use strict";

const { mkdtempSync, readFileSync, rmSync } = require("node:fs");
const { createServer } = require("node:net");
const { tmpdir } = require("node:os");
const { join } = require("node:path");
const tls = require("node:tls");
const { setTimeout: pause } = require("node:timers/promises");
const native = require("./native.cjs");
const { written } = require("./documents.cjs");
const { guarded } = require("./errors.cjs");

const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WEBHOOKS = {
  MutatingWebhookConfiguration: "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
  ValidatingWebhookConfiguration: "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
};
/** Options that are about the programs of a control plane, of which there are none here, and have no effect. */
const IDLE = ["attachOutput", "binaryAssetsDirectory", "dataDir", "indexURL", "onProgress", "readyPollIntervalMs", "startTimeoutMs", "stopTimeoutMs"];

/** Sends a request to the server of a configuration. */
async function restRequest(config, method, path, body) {
  const headers = { Accept: "application/json", ...(body === undefined ? {} : { "Content-Type": "application/json" }) };
  const response = await fetch(new URL(path, config.server), { method, headers, body: body === undefined ? undefined : written("body", body) });
  const text = await response.text();
  let json;
  try {
    json = JSON.parse(text);
  } catch {
    // A text, such as that of /healthz.
  }
  return { status: response.status, text, json };
}

/** Sends a request, and throws if it is refused. */
async function restRequestOk(config, method, path, body) {
  const response = await restRequest(config, method, path, body);
  if (response.status >= 200 && response.status < 300) return response;
  throw new Error(`${method} ${path} failed: HTTP ${response.status}: ${response.json?.message ?? response.text.slice(0, 500)}`);
}

/** Creates an object, or replaces the one of its name. */
async function createOrReplace(config, collection, object) {
  const created = await restRequest(config, "POST", collection, object);
  if (created.status !== 409) {
    if (created.status >= 300) throw new Error(`${collection}/${object.metadata.name}: ${created.json?.message ?? created.text}`);
    return;
  }
  const path = `${collection}/${object.metadata.name}`;
  const { resourceVersion } = (await restRequestOk(config, "GET", path)).json.metadata;
  await restRequestOk(config, "PUT", path, { ...object, metadata: { ...object.metadata, resourceVersion } });
}

/** Returns the objects of files and directories that are of the kinds, with a name. */
function manifests(paths, kinds, missingAllowed = false) {
  const objects = JSON.parse(guarded(() => native.manifests((paths ?? []).map(String), missingAllowed)));
  const found = objects.filter((object) => kinds.includes(object?.kind));
  for (const object of found) if (!object.metadata?.name) throw new Error(`a ${object.kind} in ${paths.join(", ")} has no metadata.name`);
  return found;
}

function definitions(paths, { crds = [], errorIfPathMissing = true } = {}) {
  for (const crd of crds) {
    if (crd?.kind !== "CustomResourceDefinition" || !crd.metadata?.name) {
      throw new Error(`crds has ${JSON.stringify(crd?.metadata?.name)} of the kind ${JSON.stringify(crd?.kind)}; expected a CustomResourceDefinition with a name`);
    }
  }
  return [...crds, ...manifests(paths, ["CustomResourceDefinition"], !errorIfPathMissing)];
}

/** Returns a client configuration that calls the server of the test where a service is named, at the path of the service. */
function local({ service, url } = {}, path, { host, port, caPem }) {
  const authority = host.includes(":") ? `[${host}]` : host;
  const at = service?.path ?? (url === undefined ? path : new URL(url).pathname);
  return { url: `https://${authority}:${port}${at}`, caBundle: Buffer.from(caPem).toString("base64") };
}

function converted(definition, webhook) {
  const conversion = definition.spec?.conversion;
  if (webhook === undefined || conversion?.strategy !== "Webhook") return definition;
  const conversionReviewVersions = conversion.webhook?.conversionReviewVersions ?? ["v1", "v1beta1"];
  const clientConfig = local(conversion.webhook?.clientConfig, "/convert", webhook);
  return { ...definition, spec: { ...definition.spec, conversion: { ...conversion, webhook: { conversionReviewVersions, clientConfig } } } };
}

/** Installs definitions, and resolves to their names when they are served. */
async function installCRDs(config, paths, options = {}) {
  const { conversionWebhook = config.webhook, establishTimeoutMs = 30_000, pollIntervalMs = 20 } = options;
  const installed = definitions(paths, options).map((definition) => converted(definition, conversionWebhook));
  for (const definition of installed) await createOrReplace(config, DEFINITIONS, definition);
  const end = Date.now() + establishTimeoutMs;
  for (const { metadata } of installed) {
    for (;;) {
      const { json } = await restRequestOk(config, "GET", `${DEFINITIONS}/${metadata.name}`);
      const conditions = json.status?.conditions ?? [];
      const refused = conditions.find(({ type, status }) => type === "NamesAccepted" && status === "False");
      if (refused) throw new Error(`the names of ${metadata.name} are not accepted: ${refused.message}`);
      if (conditions.some(({ type, status }) => type === "Established" && status === "True")) break;
      if (Date.now() >= end) throw new Error(`${metadata.name} is not established: ${JSON.stringify(conditions)}`);
      await pause(pollIntervalMs);
    }
  }
  return installed.map(({ metadata }) => metadata.name);
}

/** Deletes definitions, and resolves to the names of those that there were. */
async function uninstallCRDs(config, paths, options) {
  const deleted = [];
  for (const { metadata } of definitions(paths, options)) {
    const path = `${DEFINITIONS}/${metadata.name}`;
    if ((await restRequest(config, "GET", path)).status === 404) continue;
    await restRequestOk(config, "DELETE", path);
    deleted.push(metadata.name);
  }
  return deleted;
}

/** Waits until a server of webhooks takes connections. */
async function waitForWebhookServer(host, port, { timeoutMs = 10_000, caPem } = {}) {
  const end = Date.now() + timeoutMs;
  const connects = () =>
    new Promise((resolve) => {
      const socket = tls.connect({ host, port, ca: caPem, rejectUnauthorized: caPem !== undefined }, () => socket.end(() => resolve(undefined)));
      socket.on("error", resolve);
    });
  for (;;) {
    const problem = await connects();
    if (problem === undefined) return;
    if (Date.now() >= end) throw new Error(`the webhook server at ${host}:${port} takes no connections: ${problem.message}`);
    await pause(20);
  }
}

/** Returns a port that was free a moment ago. */
function freePort(host) {
  return new Promise((resolve, reject) => {
    const server = createServer().on("error", reject);
    server.listen(0, host, () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** Makes what the server of a test needs for webhooks: an address and a certificate for it. */
async function webhookServing({ localServingHost: host = "127.0.0.1", localServingPort } = {}) {
  const certDir = mkdtempSync(join(tmpdir(), "tenure-webhooks-"));
  const [certPath, keyPath] = guarded(() => native.servingCertificate(certDir, [...new Set(["localhost", "127.0.0.1", "::1", host])]));
  const [certPem, keyPem] = [certPath, keyPath].map((path) => readFileSync(path, "utf8"));
  // The authority follows the certificate.
  const caPem = certPem.slice(certPem.lastIndexOf("-----BEGIN CERTIFICATE-----"));
  return { host, port: localServingPort ?? (await freePort(host)), caPem, certPem, keyPem, certDir, certPath, keyPath, configurationNames: [] };
}

async function installWebhooks(config, objects) {
  for (const object of objects) {
    const webhooks = (object.webhooks ?? []).map((webhook) => ({ ...webhook, clientConfig: local(webhook.clientConfig, "/", config.webhook) }));
    await createOrReplace(config, WEBHOOKS[object.kind], { ...object, webhooks });
    config.webhook.configurationNames.push(object.metadata.name);
  }
}

/** Returns the options of the server. */
function serverOptions({ listenAddress = "127.0.0.1", securePort, version, apiServerFlags, etcdFlags, ...others }) {
  if (!["127.0.0.1", "localhost"].includes(listenAddress)) throw new TypeError(`listenAddress ${listenAddress}: test servers listen on 127.0.0.1 only`);
  for (const [name, flags] of Object.entries({ apiServerFlags, etcdFlags })) {
    if (Object.keys(flags ?? {}).length > 0) throw new TypeError(`${name}: the server runs in this process and has no flags`);
  }
  if (others.useExistingCluster) throw new TypeError("useExistingCluster: the environment is a server of its own");
  for (const name of IDLE) delete others[name];
  const [, minor] = /^v?(\d+\.\d+)/.exec(version ?? "") ?? [];
  return { port: securePort, ...(minor === undefined ? {} : { compatibility: `kubernetes@${minor}` }), ...others };
}

/** Makes the classes for a class of servers. */
module.exports = (TestServer) => {
  class TestEnvironment {
    #config;

    constructor({ crdDirectoryPaths = [], crds = [], crdInstallOptions = {}, webhookInstallOptions, ...others } = {}) {
      this.options = { crdDirectoryPaths, crdInstallOptions: { ...crdInstallOptions, crds: [...crds, ...(crdInstallOptions.crds ?? [])] }, webhookInstallOptions };
      this.serverOptions = serverOptions(others);
      /** The `TestServer`, for forks, faults and the clock. */
      this.testServer = undefined;
    }

    /** What clients need. */
    get config() {
      if (this.#config === undefined) throw new Error("the environment is not started; await start() first");
      return this.#config;
    }

    get kubeconfigPath() {
      return this.config.kubeconfigPath;
    }

    get url() {
      return this.config.server;
    }

    async start() {
      if (this.testServer !== undefined) throw new Error("the environment is started already");
      const { crdDirectoryPaths, crdInstallOptions, webhookInstallOptions } = this.options;
      this.testServer = await TestServer.start(this.serverOptions);
      try {
        const { url: server, kubeconfig: kubeconfigPath } = this.testServer;
        const kubeconfigYaml = readFileSync(kubeconfigPath, "utf8");
        const config = { server, kubeconfigPath, kubeconfigYaml, user: "admin", apiServerPort: Number(new URL(server).port), installedCRDs: [] };
        this.#config = config;
        if (webhookInstallOptions !== undefined) {
          config.webhook = await webhookServing(webhookInstallOptions);
          await installWebhooks(config, manifests(webhookInstallOptions.paths, Object.keys(WEBHOOKS)));
        }
        config.installedCRDs = await installCRDs(config, crdDirectoryPaths, crdInstallOptions);
        return config;
      } catch (error) {
        await this.stop();
        throw error;
      }
    }

    installCRDs(paths, options) {
      return installCRDs(this.config, paths, options);
    }

    uninstallCRDs(paths, options) {
      return uninstallCRDs(this.config, paths, options);
    }

    async waitForWebhookServer(timeoutMs) {
      const { webhook } = this.config;
      if (webhook === undefined) throw new Error("the environment was started without webhookInstallOptions");
      await waitForWebhookServer(webhook.host, webhook.port, { timeoutMs, caPem: webhook.caPem });
    }

    async stop() {
      const { testServer } = this;
      if (this.#config?.webhook !== undefined) rmSync(this.#config.webhook.certDir, { recursive: true, force: true });
      this.testServer = this.#config = undefined;
      await testServer?.stop();
    }
  }

  /** Makes a `globalSetup` of vitest: one environment for all workers, whose configuration is `inject("envtest")`. */
  const createVitestGlobalSetup = (options) => async (project) => {
    const environment = new TestEnvironment(options);
    project.provide("envtest", await environment.start());
    return () => environment.stop();
  };

  return { TestEnvironment, createVitestGlobalSetup, installCRDs, restRequest, restRequestOk, uninstallCRDs, waitForWebhookServer };
};
