"""A small operator, written with kopf and tested as one is: it runs against a fork of its own in each test, watches and writes."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import urllib.request
from typing import Any, Dict, Iterator

import pytest
from conftest import widgets

from tenure.testing import TestServer

kopf = pytest.importorskip("kopf")
aiohttp = pytest.importorskip("aiohttp")

REGISTRY = kopf.OperatorRegistry()
DEFINITION = widgets(
    {"type": "object", "x-kubernetes-preserve-unknown-fields": True}, subresources={"status": {}}
)
MAPS = "/api/v1/namespaces/default/configmaps"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"


# The operator: the settings of a Widget become a ConfigMap that it applies, and its status says which.


@kopf.on.login(registry=REGISTRY)
def login(memo: kopf.Memo, **_: Any) -> Any:
    return kopf.ConnectionInfo(server=memo.url)


@kopf.on.create("example.com", "v1", "widgets", registry=REGISTRY)
@kopf.on.update("example.com", "v1", "widgets", field="spec", registry=REGISTRY)
async def configure(name: str, uid: str, spec: Dict[str, Any], patch: kopf.Patch, memo: kopf.Memo, **_: Any) -> None:
    if spec.get("colour") == "mauve":
        raise kopf.PermanentError("there is no mauve")
    owner = {"apiVersion": "example.com/v1", "kind": "Widget", "name": name, "uid": uid, "controller": True}
    settings = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"{name}-settings", "ownerReferences": [owner]},
        "data": {"colour": spec["colour"]},
    }
    where = f"{memo.url}{MAPS}/{name}-settings?fieldManager=widgets&force=true"
    async with aiohttp.ClientSession() as session:
        headers = {"Content-Type": "application/apply-patch+yaml"}
        async with session.patch(where, data=json.dumps(settings), headers=headers) as answer:
            answer.raise_for_status()
    patch.status["configMap"] = f"{name}-settings"


class Running:
    """The operator, running against a server until the block ends."""

    def __init__(self, server: TestServer) -> None:
        self.stop, self.ready, self.url = threading.Event(), threading.Event(), server.url
        self.thread = threading.Thread(target=asyncio.run, args=(self.operate(),), daemon=True)

    async def operate(self) -> None:
        settings = kopf.OperatorSettings()
        settings.scanning.disabled, settings.posting.enabled = True, False
        await kopf.operator(
            registry=REGISTRY, settings=settings, memo=kopf.Memo(url=self.url), standalone=True, namespaces=["default"],
            ready_flag=self.ready, stop_flag=self.stop,
        )

    def __enter__(self) -> Running:
        self.thread.start()
        assert self.ready.wait(30), "the operator is not ready"
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        self.thread.join(30)
        assert not self.thread.is_alive()


@pytest.fixture(scope="module")
def base() -> Iterator[TestServer]:
    with TestServer(objects=[DEFINITION]) as server:
        yield server


def widget(colour: str) -> Dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a", "namespace": "default"}, "spec": {"colour": colour}}


def awaited(server: TestServer, path: str, condition: Any) -> Dict[str, Any]:
    """Returns the first version of an object of a collection that satisfies a condition."""
    with urllib.request.urlopen(f"{server.url}{path}?watch=true&timeoutSeconds=30") as events:
        for line in events:
            found: Dict[str, Any] = json.loads(line)["object"]
            if condition(found):
                return found
    raise AssertionError(f"nothing in {path} was as expected")


def has_colour(colour: str) -> Any:
    return lambda found: found.get("data", {}).get("colour") == colour


@pytest.mark.parametrize("number", range(int(os.environ.get("TENURE_OPERATOR_TESTS", "10"))))
def test_settings_follow_the_widget(base: TestServer, number: int) -> None:
    with base.fork() as server, Running(server):
        server.apply(widget(f"blue-{number}"))
        created = awaited(server, MAPS, has_colour(f"blue-{number}"))
        assert created["metadata"]["managedFields"][0]["manager"] == "widgets"
        assert awaited(server, WIDGETS, lambda found: found.get("status"))["status"]["configMap"] == "a-settings"


def test_a_change_is_followed_and_deletion_takes_the_settings_along(base: TestServer) -> None:
    with base.fork() as server, Running(server):
        server.apply(widget("blue"))
        awaited(server, WIDGETS, lambda found: found.get("status"))
        server.apply(widget("red"))
        awaited(server, MAPS, has_colour("red"))
        server.kubectl("delete", "widget", "a")
        server.settle()
        assert server.kubectl("get", "configmaps", "a-settings", "--ignore-not-found", "--output=name") == ""


def test_the_operator_survives_a_server_that_fails(base: TestServer) -> None:
    with base.fork() as server:
        fault = server.inject("cutWatch", kind="Widget", times=1, afterEvents=1)
        with Running(server):
            server.apply(widget("blue"))
            awaited(server, MAPS, has_colour("blue"))
            server.apply(widget("red"))
            awaited(server, MAPS, has_colour("red"))
        assert fault.hits() == 1
