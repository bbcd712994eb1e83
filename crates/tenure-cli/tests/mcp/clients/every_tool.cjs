// Drives every tool of `tenure mcp` with the TypeScript SDK, which checks structured results against the schemas of the tools.
//
// usage: every_tool.cjs TENURE ARGUMENT...

const assert = require("node:assert/strict");
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");

const map = (name, data) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data });
const what = { kind: "configmap", name: "settings" };

async function main([command, ...args]) {
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" }));
  const { tools } = await client.listTools();
  const called = new Set();
  const call = async (name, given, fails = false) => {
    const result = await client.callTool({ name, arguments: given });
    assert.equal(Boolean(result.isError), fails, JSON.stringify(result));
    called.add(name);
    return result.structuredContent;
  };
  const carryOut = async (plan) => call("apply_plan", { digest: plan.digest });

  const made = await call("plan", { task: "one", manifests: [map("settings", { colour: "blue", size: "s" })] });
  await carryOut(made);
  const conflict = await call("plan", { task: "two", yaml: JSON.stringify(map("settings", { colour: "red" })) });
  assert.equal(conflict.result, "conflicts");
  const gentlest = conflict.plans[0].causes[0].remedies[0];
  assert.equal(gentlest.kind, "LeaveOut");
  const settled = await call("plan", { ...gentlest.call.arguments, manifests: [map("settings", { colour: "red", shape: "round" })] });
  const done = await carryOut(settled);
  const { object } = await call("get", { object: what });
  assert.deepEqual(object.data, { colour: "blue", shape: "round", size: "s" });
  assert.equal((await call("list", { kind: "configmap", field_selector: "metadata.name=settings" })).items.length, 1);
  const owner = async (field) => (await call("blame", { object: what, fields: [field] })).fields[0].owners[0].manager;
  assert.equal(await owner(".data.shape"), "agent/two");
  assert.equal((await call("why", { object: what, field: ".data.colour" })).owners[0].manager, "agent/one");
  assert.equal((await call("history", { object: what })).changes.length, 2);
  assert.deepEqual((await call("fights", {})).fights, []);
  await carryOut(await call("transfer", { object: what, paths: [".data.shape"], to: "agent/one" }));
  assert.equal(await owner(".data.shape"), "agent/one");
  assert.equal((await call("undo", { digest: done.digest })).result, "ready");
  assert.deepEqual((await call("rehearse", { task: "one", manifests: [map("other", {})] })).second, []);
  await carryOut(await call("delete", { objects: [what] }));
  assert.equal((await call("get", { object: what }, true)).error.reason, "NotFound");

  assert.deepEqual(tools.map((tool) => tool.name).filter((name) => !called.has(name)), []);
  await assert.rejects(client.callTool({ name: "force", arguments: {} }), /there is no tool/);
  await client.close();
  console.log(`${tools.length} tools`);
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exit(1);
});
