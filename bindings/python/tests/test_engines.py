"""Apply, update, blame, why, plan, patches and field sets, as people call them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any, Dict

import pytest
from conftest import deployment, widgets

import tenure
from tenure import fields, patch

PARTS = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    "items": {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string"}, "size": {"type": "integer"}},
    },
}
WIDGETS = widgets({"type": "object", "properties": {"spec": {"type": "object", "properties": {"parts": PARTS}}}})


def widget(*parts: Dict[str, Any]) -> Dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"parts": list(parts)}}


def test_an_apply_creates_changes_and_conflicts() -> None:
    created = tenure.apply(None, deployment(replicas=1, paused=True), "alice", time="2026-01-01T00:00:00Z")
    assert created.changed
    assert created.object["metadata"]["managedFields"][0]["time"] == "2026-01-01T00:00:00Z"
    again = tenure.apply(created.object, deployment(replicas=1, paused=True), "alice")
    assert not again.changed and again.object == created.object
    with pytest.raises(tenure.Conflict) as raised:
        tenure.apply(created.object, deployment(replicas=2), "bob")
    assert str(raised.value) == 'Apply failed with 1 conflict: conflict with "alice": .spec.replicas'
    owner = tenure.Owner("alice", "Apply", "apps/v1", "", "2026-01-01T00:00:00Z")
    assert raised.value.conflicts == [tenure.ContestedField(".spec.replicas", 1, 2, [owner])]
    taken = tenure.apply(created.object, deployment(replicas=2), "bob", force_paths=[".spec.replicas"])
    assert taken.object["spec"]["replicas"] == 2 and taken.object["spec"]["paused"] is True
    forced = tenure.apply(created.object, deployment(replicas=2), "bob", force=True)
    assert {entry["manager"] for entry in forced.object["metadata"]["managedFields"]} == {"alice", "bob"}


def test_an_update_owns_what_it_changes() -> None:
    live = tenure.apply(None, deployment(replicas=1, paused=True), "alice").object
    changed = {**live, "spec": {**live["spec"], "replicas": 5}}
    updated = tenure.update(live, changed, "scaler", time=datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=1))))
    owners = {entry["manager"]: entry for entry in updated.object["metadata"]["managedFields"]}
    assert owners["scaler"]["fieldsV1"] == {"f:spec": {"f:replicas": {}}}
    assert owners["scaler"]["time"] == "2025-12-31T23:00:00Z"
    assert owners["alice"]["fieldsV1"] == {"f:spec": {"f:paused": {}}}
    status = tenure.update(updated.object, {**updated.object, "status": {"replicas": 5}}, "controller", subresource="status")
    assert status.object["status"] == {"replicas": 5}
    assert tenure.update(None, deployment(replicas=1), "alice").changed


def test_custom_resources_have_the_types_of_their_definition() -> None:
    with pytest.raises(tenure.UnknownKind, match="example.com/v1 Widget"):
        tenure.apply(None, widget(), "alice")
    for schema in (WIDGETS, [WIDGETS], tenure.Types(WIDGETS)):
        live = tenure.apply(None, widget({"name": "x", "size": 1}), "alice", schema=schema).object
        merged = tenure.apply(live, widget({"name": "y", "size": 2}), "bob", schema=schema).object
        assert merged["spec"]["parts"] == [{"name": "x", "size": 1}, {"name": "y", "size": 2}]
    assert tenure.Types(WIDGETS).kinds()[0] == "example.com/v1/Widget"
    with pytest.raises(tenure.InvalidArgument, match="neither a CustomResourceDefinition nor an OpenAPI"):
        tenure.Types({"kind": "Pod"})


def test_types_come_from_an_openapi_document() -> None:
    document = {
        "openapi": "3.0.0",
        "components": {
            "schemas": {
                "com.example.Thing": {
                    "type": "object",
                    "x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Thing"}],
                    "properties": {
                        "apiVersion": {"type": "string"},
                        "kind": {"type": "string"},
                        "metadata": {"type": "object", "properties": {"name": {"type": "string"}}},
                        "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                    },
                }
            }
        },
    }
    thing = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}}
    live = tenure.apply(None, {**thing, "tags": ["a"]}, "alice", schema=document).object
    both = tenure.apply(live, {**thing, "tags": ["b"]}, "bob", schema=document).object
    assert both["tags"] == ["a", "b"]


def test_owners_explanations_and_plans() -> None:
    live = tenure.apply(None, deployment(replicas=1), "alice").object
    blamed = {field["path"]: field["owners"] for field in tenure.blame(live)["fields"]}
    assert blamed[".spec.replicas"][0]["manager"] == "alice"
    why = tenure.why(live, "/spec/replicas")
    assert why["value"] == 1 and why["writes"]
    with pytest.raises(tenure.InvalidArgument, match=r"did you mean \.spec\.replicas\?"):
        tenure.why(live, ".spec.replcias")
    plan = tenure.plan(live, deployment(replicas=2), "bob")
    assert [conflict["path"] for conflict in plan["conflicts"]] == [".spec.replicas"]
    assert tenure.plan(live, deployment(replicas=2), "bob", force=True)["conflicts"] == []
    assert tenure.plan(None, deployment(), "bob")["action"] == "create"


def test_patches() -> None:
    live = {"spec": {"containers": [{"name": "a", "image": "x"}]}}
    merged = patch.strategic_merge(live, {"spec": {"containers": [{"name": "b"}]}}, kind="v1/Pod")
    assert merged == {"spec": {"containers": [{"name": "b"}, {"name": "a", "image": "x"}]}}
    calculated = patch.two_way(live, merged, kind="Pod")
    assert patch.strategic_merge(live, calculated, kind="Pod") == merged
    with pytest.raises(tenure.PatchError) as raised:
        patch.strategic_merge(live, {"spec": {"containers": [{"image": "y"}]}}, kind="Pod")
    assert raised.value.path == ".spec.containers[0]" and "merge key" in str(raised.value)
    with pytest.raises(tenure.UnknownKind, match="name the kind"):
        patch.strategic_merge(live, {})
    assert patch.json_merge({"a": 1}, {"a": None}) == {}
    assert patch.json_patch({}, [{"op": "add", "path": "/a", "value": [1]}]) == {"a": [1]}
    with pytest.raises(tenure.TestFailed):
        patch.json_patch({"a": 1}, [{"op": "test", "path": "/a", "value": 2}])
    assert patch.json_patch_diff({"a": 1}, {"a": 2}) == [{"op": "replace", "path": "/a", "value": 2}]
    assert patch.json_merge_diff({"a": 1}, {}) == {"a": None}
    finding = patch.lint({"spec": {"containers": [{"image": "y"}]}}, kind="Pod")[0]
    assert finding.path == ".spec.containers[0]" and finding.fix


def test_three_way_patches_conflict_where_both_changed() -> None:
    last, live = deployment(replicas=1), deployment(replicas=2)
    with pytest.raises(tenure.Conflict) as raised:
        patch.three_way(deployment(replicas=3), live, last_applied=last)
    assert raised.value.conflicts == [tenure.ContestedField(".spec.replicas", 2, 3, [])]
    won = patch.three_way(deployment(replicas=3), live, last_applied=last, overwrite=True)
    assert won == {"spec": {"replicas": 3}}


def test_improvements_are_on_if_asked_for() -> None:
    live, change = {"spec": {"nodeSelector": {"a": "b"}}}, {"spec": {"nodeSelector": {"$patch": "delete"}}}
    assert patch.strategic_merge(live, change, kind="Pod") == {"spec": {"nodeSelector": {}}}
    for compatibility in ("tenure", "kubernetes+RemoveDeletedMaps"):
        assert patch.strategic_merge(live, change, kind="Pod", compatibility=compatibility) == {"spec": {}}
    with pytest.raises(tenure.InvalidArgument, match="expected kubernetes or tenure"):
        patch.strategic_merge(live, change, kind="Pod", compatibility="openshift")


def test_field_sets_have_many_forms() -> None:
    live = tenure.apply(None, deployment(replicas=1, paused=True), "alice").object
    managers = live["metadata"]["managedFields"]
    owned = managers[0]["fieldsV1"]
    for form in ("binary", "fields-v1", "nested-lists", "string-table"):
        encoded = fields.encode(owned, form)
        assert isinstance(encoded, bytes if form == "binary" else str)
        assert fields.decode(encoded) == owned
        assert fields.decode(fields.encode(managers, "binary")) == managers
    assert fields.paths(owned) == [".spec.paused", ".spec.replicas"]
    assert fields.from_paths(fields.paths(owned)) == owned
    assert fields.expand(fields.compact(managers)) == managers
    assert fields.decode(fields.encode(live)) == managers
    with pytest.raises(tenure.InvalidArgument):
        fields.encode(owned, "xml")
    with pytest.raises(tenure.InvalidObject):
        fields.decode(b"\xff\xff\xff")
