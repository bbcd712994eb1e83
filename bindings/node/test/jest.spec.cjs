// The helper for tests with the globals of jest, whose modules live in a realm of their own.
const { Conflict, apply } = require("tenure");
const { useTestServer } = require("tenure/testing");

const map = (data) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "default" }, data });
const state = useTestServer({ objects: [map({ colour: "blue" })] });

test.each([1, 2])("each test has a fork, %d", async () => {
  const found = await (await fetch(`${state.server.url}/api/v1/namespaces/default/configmaps/a`)).json();
  expect(found.data).toEqual({ colour: "blue" });
  await state.server.apply(map({ colour: "red" }));
});

test("documents of another realm and exceptions", async () => {
  const live = await (await fetch(`${state.server.url}/api/v1/namespaces/default/configmaps/a`)).json();
  expect(() => apply(live, map({ colour: "red" }), "bob")).toThrow(Conflict);
  expect(() => apply(null, map({ colour: undefined }), "bob")).toThrow(TypeError);
});
