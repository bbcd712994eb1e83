// Apply, update, blame, why, plan, patches and field sets, as people call them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Conflict, InvalidArgument, PatchError, TestFailed, Types, UnknownKind, apply, blame, fields, patch, plan, update, why } from "tenure";

const deployment = (spec) => ({ apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web" }, spec });

test("an apply creates, changes and conflicts", () => {
  const created = apply(null, deployment({ replicas: 1, paused: true }), "alice", { time: new Date("2026-01-01T00:00:00Z") });
  assert.ok(created.changed);
  assert.ok(!apply(created.object, deployment({ replicas: 1, paused: true }), "alice").changed);
  assert.throws(
    () => apply(created.object, deployment({ replicas: 2 }), "bob"),
    (error) => {
      assert.ok(error instanceof Conflict);
      assert.equal(error.message, 'Apply failed with 1 conflict: conflict with "alice": .spec.replicas');
      const owners = [{ manager: "alice", operation: "Apply", apiVersion: "apps/v1", time: "2026-01-01T00:00:00Z" }];
      assert.deepEqual(error.conflicts, [{ path: ".spec.replicas", live: 1, proposed: 2, owners }]);
      return true;
    },
  );
  const taken = apply(created.object, deployment({ replicas: 2 }), "bob", { forcePaths: [".spec.replicas"] });
  assert.equal(taken.object.spec.replicas, 2);
});

test("an update owns what it changes", () => {
  const live = apply(null, deployment({ replicas: 1 }), "alice").object;
  const { object } = update(live, { ...live, spec: { ...live.spec, replicas: 5 } }, "scaler");
  const entry = object.metadata.managedFields.find((entry) => entry.manager === "scaler");
  assert.deepEqual(entry.fieldsV1, { "f:spec": { "f:replicas": {} } });
});

test("owners, explanations and plans", () => {
  const live = apply(null, deployment({ replicas: 1 }), "alice").object;
  assert.equal(blame(live).fields.find((field) => field.path === ".spec.replicas").owners[0].manager, "alice");
  assert.equal(why(live, "/spec/replicas").value, 1);
  assert.throws(() => why(live, ".spec.replcias"), InvalidArgument);
  assert.deepEqual(plan(live, deployment({ replicas: 2 }), "bob").conflicts.map((conflict) => conflict.path), [".spec.replicas"]);
});

test("patches", () => {
  const live = { spec: { containers: [{ name: "a", image: "x" }] } };
  const merged = patch.strategicMerge(live, { spec: { containers: [{ name: "b" }] } }, { kind: "Pod" });
  assert.deepEqual(merged, { spec: { containers: [{ name: "b" }, { name: "a", image: "x" }] } });
  assert.deepEqual(patch.strategicMerge(live, patch.twoWay(live, merged, { kind: "Pod" }), { kind: "Pod" }), merged);
  assert.throws(
    () => patch.strategicMerge(live, { spec: { containers: [{ image: "y" }] } }, { kind: "Pod" }),
    (error) => error instanceof PatchError && error.path === ".spec.containers[0]",
  );
  assert.throws(() => patch.strategicMerge(live, {}), UnknownKind);
  assert.throws(() => patch.jsonPatch({ a: 1 }, [{ op: "test", path: "/a", value: 2 }]), TestFailed);
  assert.deepEqual(patch.jsonPatchDiff({ a: 1 }, { a: 2 }), [{ op: "replace", path: "/a", value: 2 }]);
  assert.throws(() => patch.threeWay(deployment({ replicas: 3 }), deployment({ replicas: 2 }), { lastApplied: deployment({ replicas: 1 }) }), Conflict);
  assert.equal(patch.lint({ spec: { containers: [{ image: "y" }] } }, { kind: "Pod" })[0].path, ".spec.containers[0]");
});

test("types and field sets", () => {
  const types = Types.ofSchema({ type: "object", properties: { a: { type: "array", items: { type: "string" }, "x-kubernetes-patch-strategy": "merge" } } });
  assert.deepEqual(patch.strategicMerge({ a: ["x"] }, { a: ["y"] }, { schema: types }), { a: ["y", "x"] });
  assert.ok(new Types().kinds().includes("v1/Pod"));
  const owned = apply(null, deployment({ replicas: 1 }), "alice").object.metadata.managedFields[0].fieldsV1;
  assert.deepEqual(fields.decode(fields.encode(owned)), owned);
  assert.deepEqual(fields.decode(fields.encode(owned, "nested-lists")), owned);
  assert.deepEqual(fields.fromPaths(fields.paths(owned)), owned);
});
