"""The server in the process, its fixtures, and the clients of other packages."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from datetime import timedelta
from pathlib import Path
from typing import Any, Dict

import pytest

import tenure as package
from tenure.testing import TestServer

pytest_plugins = ["pytester"]


def config_map(name: str = "settings", **data: str) -> Dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": data}


def get(server: TestServer, path: str) -> Any:
    with urllib.request.urlopen(server.url + path) as response:
        return json.load(response)


SETTINGS = "/api/v1/namespaces/default/configmaps/settings"


def test_a_server_serves_objects_until_it_is_stopped() -> None:
    with TestServer(objects=[config_map(colour="blue")]) as server:
        assert server.url.startswith("http://127.0.0.1:")
        assert get(server, SETTINGS)["data"] == {"colour": "blue"}
        kubeconfig = Path(server.kubeconfig)
        assert server.url in kubeconfig.read_text()
        assert server.url in repr(server)
    assert not kubeconfig.exists() and "stopped" in repr(server)
    with pytest.raises(RuntimeError, match="the server is stopped"):
        server.fork()
    server.stop()


def test_forks_are_independent(tenure: TestServer) -> None:
    tenure.apply(config_map(colour="blue"))
    with tenure.fork() as fork:
        fork.apply(config_map(colour="red"))
        assert get(fork, SETTINGS)["data"] == {"colour": "red"}
    assert get(tenure, SETTINGS)["data"] == {"colour": "blue"}


def test_snapshots_are_returned_to(tenure: TestServer) -> None:
    tenure.apply(config_map(colour="blue"))
    snapshot, revision = tenure.snapshot(), tenure.revision
    tenure.apply(config_map(colour="red"), manager="bob")
    [write] = tenure.writes(since=revision)
    assert (write["manager"], write["changes"][0]["after"]) == ("bob", "red")
    with tenure.at(revision) as past:
        assert get(past, SETTINGS)["data"] == {"colour": "blue"}
    tenure.restore(snapshot)
    assert tenure.revision == revision and get(tenure, SETTINGS)["data"] == {"colour": "blue"}


def test_the_clock_moves_when_told() -> None:
    with TestServer(seed=1) as server:
        assert server.now == "2026-01-01T00:00:00Z"
        server.advance(timedelta(minutes=1))
        server.advance(30)
        assert server.now == "2026-01-01T00:01:30Z"


def test_faults_happen_as_often_as_asked(tenure: TestServer) -> None:
    tenure.apply(config_map())
    fault = tenure.inject("internalError", kind="ConfigMap", verb="get", times=1)
    with pytest.raises(urllib.error.HTTPError) as raised:
        get(tenure, SETTINGS)
    assert raised.value.code == 500 and fault.hits() == 1
    assert get(tenure, SETTINGS)["kind"] == "ConfigMap"
    with pytest.raises(package.InvalidArgument, match="unknown effect"):
        tenure.inject("magic")
    tenure.inject("internalError").remove()
    tenure.inject("internalError")
    tenure.clear_faults()
    assert get(tenure, SETTINGS)


def test_settling_waits_for_the_controllers(tenure: TestServer) -> None:
    owner = tenure.apply(config_map("owner"))
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    owned = config_map("owned")
    owned["metadata"]["ownerReferences"] = [reference]
    tenure.apply(owned)
    tenure.kubectl("delete", "configmap", "owner")
    tenure.settle()
    assert tenure.kubectl("get", "configmap", "owned", "--ignore-not-found", "--output=name") == ""


def test_kubectl_speaks_to_the_server(tenure: TestServer) -> None:
    tenure.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(config_map(colour="blue")))
    assert tenure.kubectl("get", "configmap", "settings", "--output=jsonpath={.data.colour}") == "blue"
    with pytest.raises(subprocess.CalledProcessError) as raised:
        tenure.kubectl("get", "configmap", "none")
    assert "NotFound" in raised.value.stderr


def test_objects_of_a_cluster_are_loaded_as_they_are(tenure: TestServer) -> None:
    cloned = config_map(colour="blue")
    cloned["metadata"]["uid"] = "8b6b5b1a-0000-4000-8000-000000000001"
    assert tenure.load([cloned]) == []
    assert get(tenure, SETTINGS)["metadata"]["uid"] == cloned["metadata"]["uid"]
    [left] = tenure.load([{"apiVersion": "example.com/v1", "kind": "Wizard", "metadata": {"name": "a"}}])
    assert "Wizard" in left


def test_a_server_that_cannot_start_says_why() -> None:
    with pytest.raises(package.ServerError, match="/nowhere"):
        TestServer(crds="/nowhere")
    with pytest.raises(package.ServerError, match="apiVersion|kind"):
        TestServer(objects=[{"metadata": {"name": "a"}}])


def test_clients_of_kubernetes(tenure: TestServer) -> None:
    kubernetes = pytest.importorskip("kubernetes")
    tenure.apply(config_map(colour="blue"))
    core = kubernetes.client.CoreV1Api(tenure.client("kubernetes"))
    assert core.read_namespaced_config_map("settings", "default").data == {"colour": "blue"}
    core.patch_namespaced_config_map("settings", "default", {"data": {"colour": "red"}})
    assert core.read_namespaced_config_map("settings", "default").data == {"colour": "red"}


def test_clients_of_kr8s(tenure: TestServer) -> None:
    pytest.importorskip("kr8s")
    tenure.apply(config_map(colour="blue"))
    [found] = list(tenure.client("kr8s").get("configmaps", "settings", namespace="default"))
    assert found.raw["data"] == {"colour": "blue"}


def test_clients_of_lightkube(tenure: TestServer) -> None:
    pytest.importorskip("lightkube")
    from lightkube.resources.core_v1 import ConfigMap

    tenure.apply(config_map(colour="blue"))
    assert tenure.client("lightkube").get(ConfigMap, "settings", namespace="default").data == {"colour": "blue"}
    with pytest.raises(ValueError, match="known are kubernetes, kr8s, lightkube"):
        tenure.client("pykube")


def test_a_hundred_forks_do_not_see_each_other(tenure_server: TestServer) -> None:
    for number in range(100):
        with tenure_server.fork() as fork:
            assert fork.apply(config_map(number=str(number)))["data"] == {"number": str(number)}
            assert fork.writes(tenure_server.revision)[0]["manager"] == "tenure-testing"


WIDGETS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
"""


def test_the_plugin_loads_by_itself_with_definitions(pytester: pytest.Pytester) -> None:
    crds = pytester.mkdir("crds")
    (crds / "widgets.yaml").write_text(WIDGETS)
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.parametrize("number", [1, 2])
        def test_each_test_has_its_own_server(tenure, tenure_server, number):
            assert tenure.url != tenure_server.url
            assert tenure.kubectl("get", "widgets", "--output=name") == ""
            tenure.apply({"apiVersion": "example.com/v1", "kind": "Widget",
                "metadata": {"name": "a", "namespace": "default"}, "spec": {"number": number}})
            assert tenure.kubectl("get", "widgets", "--output=name") == "widget.example.com/a\\n"
        """
    )
    pytester.runpytest_subprocess("--tenure-crds", "crds").assert_outcomes(passed=2)
