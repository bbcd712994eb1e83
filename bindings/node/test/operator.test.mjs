// A small operator, written with @kubernetes/client-node and tested as one is: it runs against a fork of its own in each test.
import assert from "node:assert/strict";
import * as hooks from "node:test";
import { CoreV1Api, CustomObjectsApi, PatchStrategy, Watch, makeInformer, setHeaderOptions } from "@kubernetes/client-node";
import { useTestServer } from "tenure/testing";
import { widgets } from "./widgets.mjs";

const { describe, test } = hooks;
const namespace = "default";
const resource = { group: "example.com", version: "v1", plural: "widgets", namespace };
const WIDGETS = "/apis/example.com/v1/namespaces/default/widgets";
const MAPS = "/api/v1/namespaces/default/configmaps";
const definition = widgets({ type: "object", "x-kubernetes-preserve-unknown-fields": true }, { subresources: { status: {} } });
const widget = (colour) => ({ apiVersion: "example.com/v1", kind: "Widget", metadata: { name: "a", namespace }, spec: { colour } });

// The operator: the settings of a Widget become a ConfigMap that it applies, and its status says which.
async function operate(config, failed) {
  const [core, custom] = [config.makeApiClient(CoreV1Api), config.makeApiClient(CustomObjectsApi)];
  const apply = { fieldManager: "widgets", force: true };
  const reconcile = async ({ metadata: { name, uid }, spec, status }) => {
    const owner = { apiVersion: "example.com/v1", kind: "Widget", name, uid, controller: true };
    const settings = `${name}-settings`;
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: settings, ownerReferences: [owner] }, data: { colour: spec.colour } };
    const header = setHeaderOptions("Content-Type", PatchStrategy.ServerSideApply);
    await core.patchNamespacedConfigMap({ name: settings, namespace, body, ...apply }, header);
    if (status?.configMap === settings) return;
    const said = { apiVersion: "example.com/v1", kind: "Widget", status: { configMap: settings } };
    await custom.patchNamespacedCustomObjectStatus({ ...resource, name, body: said, ...apply }, header);
  };
  const informer = makeInformer(config, WIDGETS, () => custom.listNamespacedCustomObject(resource));
  for (const event of ["add", "update"]) informer.on(event, (found) => reconcile(found).catch(failed));
  await informer.start();
  return informer;
}

// Resolves to the first version of an object of a collection that satisfies a condition.
function awaited(config, path, condition) {
  return new Promise((resolve, reject) => {
    const watch = new Watch(config).watch(
      path,
      {},
      (_, found) => {
        if (!condition(found)) return;
        watch.then((controller) => controller.abort());
        resolve(found);
      },
      (error) => reject(error ?? new Error(`nothing in ${path} was as expected`)),
    );
  });
}

describe("an operator", () => {
  const state = useTestServer({ objects: [definition] }, hooks);
  const operated = async (body) => {
    const config = await state.server.kubeConfig();
    const failures = [];
    const informer = await operate(config, (error) => failures.push(error));
    await body(config);
    await informer.stop();
    assert.deepEqual(failures, []);
  };
  const coloured = (colour) => (found) => found.data?.colour === colour;

  for (let number = 0; number < 100; number++) {
    test(`settings follow the widget, ${number}`, () =>
      operated(async (config) => {
        await state.server.apply(widget(`blue-${number}`));
        const created = await awaited(config, MAPS, coloured(`blue-${number}`));
        assert.equal(created.metadata.managedFields[0].manager, "widgets");
        const told = await awaited(config, WIDGETS, (found) => found.status);
        assert.equal(told.status.configMap, "a-settings");
      }));
  }

  test("a change is followed, and deletion takes the settings along", () =>
    operated(async (config) => {
      await state.server.apply(widget("blue"));
      await awaited(config, WIDGETS, (found) => found.status);
      await state.server.apply(widget("red"));
      await awaited(config, MAPS, coloured("red"));
      await state.server.kubectl("delete", "widget", "a");
      await state.server.settle();
      assert.equal(await state.server.kubectl("get", "configmaps", "a-settings", "--ignore-not-found", "--output=name"), "");
    }));
});
