"""Uses of the package that a type checker accepts; it is checked, not run."""

from __future__ import annotations

from typing import List

import tenure
from tenure.testing import TestServer


def contested(live: "dict[str, object]") -> List[str]:
    try:
        applied = tenure.apply(live, {"kind": "ConfigMap"}, "me", force_paths=[".data"], compatibility="tenure")
    except tenure.Conflict as error:
        return [f"{of.path}: {', '.join(owner.manager for owner in of.owners)}" for of in error.conflicts]
    managers: object = applied.object["metadata"]
    return [str(managers), str(applied.changed)]


def served() -> str:
    with TestServer(crds="crds", seed=1) as server, server.fork() as fork:
        fork.inject("conflict", times=1).remove()
        return fork.kubectl("get", "pods") + fork.url


def encoded() -> str:
    data = tenure.fields.encode({"f:spec": {}}, "nested-lists")
    return data if isinstance(data, str) else data.hex()
