// The helper for tests with vitest: with its hooks, and with its globals.
import * as hooks from "vitest";
import { Conflict, apply } from "tenure";
import { useTestServer } from "tenure/testing";

const map = (data) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "default" }, data });

for (const [name, given] of [["hooks", hooks], ["globals", undefined]]) {
  hooks.describe(name, () => {
    const state = useTestServer({ objects: [map({ colour: "blue" })] }, given);

    hooks.test.each([1, 2])("each test has a fork, %d", async () => {
      const found = await (await fetch(`${state.server.url}/api/v1/namespaces/default/configmaps/a`)).json();
      hooks.expect(found.data).toEqual({ colour: "blue" });
      hooks.expect(() => apply(found, map({ colour: "red" }), "bob")).toThrow(Conflict);
      await state.server.apply(map({ colour: "red" }));
    });
  });
}
