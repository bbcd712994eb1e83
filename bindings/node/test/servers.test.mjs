// The server in the process, its helpers, and the client of Kubernetes.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as hooks from "node:test";
import { ServerError } from "tenure";
import { TestEnvironment, TestServer, restRequest, restRequestOk, useTestServer } from "tenure/testing";
import { widgets } from "./widgets.mjs";

const { describe, test } = hooks;
const configMap = (data, name = "settings") => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "default" }, data });
const PATH = "/api/v1/namespaces/default/configmaps/settings";
const get = async (server) => {
  const response = await fetch(server.url + PATH);
  return { code: response.status, ...(await response.json()) };
};

describe("a server for each test", () => {
  const state = useTestServer({ objects: [configMap({ colour: "blue" })] }, hooks);

  for (const round of [1, 2]) {
    test(`forks are independent, ${round}`, async () => {
      assert.deepEqual((await get(state.server)).data, { colour: "blue" });
      await state.server.apply(configMap({ colour: "red" }));
      assert.deepEqual((await get(state.server)).data, { colour: "red" });
    });
  }

  test("snapshots, writes and the past", async () => {
    const { server } = state;
    const [snapshot, revision] = [server.snapshot(), server.revision];
    await server.apply(configMap({ colour: "red" }), { manager: "bob" });
    assert.equal(server.writes(revision)[0].manager, "bob");
    const past = await server.at(revision);
    assert.deepEqual((await get(past)).data, { colour: "blue" });
    await past.stop();
    server.restore(snapshot);
    assert.equal(server.revision, revision);
  });

  test("faults happen as often as asked", async () => {
    const fault = state.server.inject("internalError", { kind: "ConfigMap", times: 1 });
    assert.equal((await get(state.server)).code, 500);
    assert.equal((await get(state.server)).code, 200);
    assert.equal(fault.hits(), 1);
    assert.throws(() => state.server.inject("magic"), /unknown effect/);
  });

  test("kubectl and the client of Kubernetes", async () => {
    assert.equal(await state.server.kubectl("get", "configmap", "settings", "--output=jsonpath={.data.colour}"), "blue");
    await assert.rejects(state.server.kubectl("get", "configmap", "none"), (error) => /NotFound/.test(error.stderr));
    const { CoreV1Api } = await import("@kubernetes/client-node");
    const core = (await state.server.kubeConfig()).makeApiClient(CoreV1Api);
    const found = await core.readNamespacedConfigMap({ name: "settings", namespace: "default" });
    assert.deepEqual(found.data, { colour: "blue" });
  });
});

test("the clock moves when told, and a stopped server says so", async () => {
  const server = await TestServer.start({ seed: 1 });
  server.advance(90);
  assert.equal(server.now, "2026-01-01T00:01:30Z");
  const { kubeconfig } = server;
  assert.ok(existsSync(kubeconfig));
  await server.stop();
  assert.ok(!existsSync(kubeconfig));
  assert.throws(() => server.url, (error) => error instanceof ServerError && /stopped/.test(error.message));
  await assert.rejects(TestServer.start({ crds: "/nowhere" }), ServerError);
});

test("an environment has the definitions of its directories", async () => {
  const directory = mkdtempSync(join(tmpdir(), "crds-"));
  const definition = widgets({ type: "object" });
  writeFileSync(join(directory, "widgets.json"), JSON.stringify(definition));
  const environment = new TestEnvironment({ crdDirectoryPaths: [directory] });
  assert.throws(() => environment.kubeconfigPath, /not started/);
  const config = await environment.start();
  assert.deepEqual(config.installedCRDs, ["widgets.example.com"]);
  await assert.rejects(environment.start(), /started already/);
  assert.equal(readFileSync(environment.kubeconfigPath, "utf8"), config.kubeconfigYaml);
  const path = "/apis/example.com/v1/namespaces/default/widgets";
  assert.equal((await restRequestOk(config, "GET", path)).json.kind, "WidgetList");
  const { CoreV1Api, KubeConfig } = await import("@kubernetes/client-node");
  const kubeConfig = new KubeConfig();
  kubeConfig.loadFromFile(config.kubeconfigPath);
  assert.equal((await kubeConfig.makeApiClient(CoreV1Api).readNamespace({ name: "default" })).metadata.name, "default");
  assert.deepEqual(await environment.uninstallCRDs([directory]), ["widgets.example.com"]);
  await environment.testServer.settle();
  assert.equal((await restRequest(config, "GET", path)).status, 404);
  assert.deepEqual(await environment.installCRDs(["/nowhere"], { crds: [definition], errorIfPathMissing: false }), ["widgets.example.com"]);
  await assert.rejects(environment.installCRDs(["/nowhere"]), ServerError);
  await assert.rejects(restRequestOk(config, "POST", path, { kind: "Other" }), /POST .* failed: HTTP 400/);
  await environment.stop();
  assert.throws(() => new TestEnvironment({ apiServerFlags: { v: "5" } }), TypeError);
});

test("an environment calls the webhooks of the test", async () => {
  const directory = mkdtempSync(join(tmpdir(), "webhooks-"));
  const hook = {
    name: "deny.example.com",
    admissionReviewVersions: ["v1"],
    sideEffects: "None",
    clientConfig: { service: { name: "hooks", namespace: "default", path: "/deny" } },
    rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] }],
  };
  const configuration = { apiVersion: "admissionregistration.k8s.io/v1", kind: "ValidatingWebhookConfiguration", metadata: { name: "deny" }, webhooks: [hook] };
  writeFileSync(join(directory, "webhooks.yaml"), JSON.stringify(configuration));
  const environment = new TestEnvironment({ webhookInstallOptions: { paths: [directory] } });
  const config = await environment.start();
  const { host, port, certPem: cert, keyPem: key, configurationNames } = config.webhook;
  assert.deepEqual(configurationNames, ["deny"]);
  const server = createServer({ cert, key }, async (request, response) => {
    const { request: review } = await new Response(request).json();
    const answer = { uid: review.uid, allowed: false, status: { message: `not by ${request.url}` } };
    response.end(JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response: answer }));
  });
  server.listen(port, host);
  await environment.waitForWebhookServer();
  await assert.rejects(restRequestOk(config, "POST", "/api/v1/namespaces/default/configmaps", configMap({})), /denied the request: not by \/deny/);
  server.close();
  await environment.stop();
  assert.ok(!existsSync(config.webhook.certDir));
});

test("a hundred forks do not see each other", async () => {
  const base = await TestServer.start();
  for (let number = 0; number < 100; number++) {
    const fork = await base.fork();
    assert.deepEqual((await fork.apply(configMap({ number: String(number) }))).data, { number: String(number) });
    assert.equal(fork.writes(base.revision)[0].manager, "tenure-testing");
    await fork.stop();
  }
  await base.stop();
});
