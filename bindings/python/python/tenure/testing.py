"""A control plane inside a test: the Kubernetes API on a loopback socket, in this process.

    with TestServer(crds="config/crd") as server:
        server.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}})
        run_my_operator(server.kubeconfig)

Clients that connect are the administrator. ``fork()`` makes an independent copy: one for each test.
"""

from __future__ import annotations

import os
import subprocess
from datetime import timedelta
from typing import Any, List, Mapping, Optional, Sequence, Union

from . import _tenure
from ._arguments import Compatibility, Document

__all__ = ["Fault", "Snapshot", "TestServer"]

_Path = Union[str, "os.PathLike[str]"]
_Paths = Union[None, _Path, Sequence[_Path]]

Snapshot = _tenure.Snapshot
Fault = _tenure.Fault


def _listed(paths: _Paths) -> List[str]:
    if paths is None:
        return []
    if isinstance(paths, (str, os.PathLike)):
        return [os.fspath(paths)]
    return [os.fspath(path) for path in paths]


class TestServer:
    """A server with a socket of its own. It starts when it is made, and ends with `stop`, with its ``with`` block, or when nothing
    refers to it."""

    __test__ = False

    def __init__(
        self,
        *,
        crds: _Paths = None,
        manifests: _Paths = None,
        objects: Sequence[Document] = (),
        seed: Optional[int] = None,
        compatibility: Compatibility = "kubernetes",
        always_allow: bool = False,
        service_accounts: bool = False,
        port: int = 0,
    ) -> None:
        """Starts a server and applies definitions, manifests and objects, whatever their order.

        ``crds`` and ``manifests`` are files or directories of YAML or JSON. ``seed`` makes uids, generated names and times repeat, and
        stops the clock. ``always_allow`` allows every request instead of asking RBAC. ``service_accounts`` creates the account
        ``default`` in every namespace.
        """
        self._server = _tenure.Server.start(
            {
                "manifests": _listed(crds) + _listed(manifests),
                "objects": list(objects),
                "seed": seed,
                "compatibility": compatibility,
                "always_allow": always_allow,
                "service_accounts": service_accounts,
                "port": port,
            }
        )

    @classmethod
    def _of(cls, server: _tenure.Server) -> TestServer:
        made = cls.__new__(cls)
        made._server = server
        return made

    def __enter__(self) -> TestServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<TestServer {self.url}>" if self._server.is_running() else "<TestServer, stopped>"

    def stop(self) -> None:
        """Ends the server. Ending it again has no effect."""
        self._server.stop()

    @property
    def url(self) -> str:
        """The base URL, such as ``http://127.0.0.1:40123``."""
        return self._server.url()

    @property
    def kubeconfig(self) -> str:
        """The path of a kubeconfig, which lasts as long as the server."""
        return self._server.kubeconfig()

    @property
    def revision(self) -> int:
        """The revision of the newest write."""
        return self._server.revision()

    @property
    def now(self) -> str:
        """The time of the server, as RFC 3339 text."""
        return self._server.now()

    def fork(self) -> TestServer:
        """Returns an independent server with the same objects, history and time. Faults are not copied."""
        return self._of(self._server.fork())

    def at(self, revision: int) -> TestServer:
        """Returns a read-only server that shows the state of a revision."""
        return self._of(self._server.at(revision))

    def snapshot(self) -> Snapshot:
        """Takes a snapshot of objects, history and time."""
        return self._server.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Returns to a snapshot. Open watches end."""
        self._server.restore(snapshot)

    def advance(self, by: Union[timedelta, float]) -> None:
        """Moves the clock forward, by a timedelta or by seconds: events, tokens and history expire, watches end."""
        self._server.advance(by if isinstance(by, timedelta) else timedelta(seconds=by))

    def stop_clock(self) -> None:
        """Stops the clock; `advance` still moves it."""
        self._server.stop_clock()

    def settle(self) -> None:
        """Waits until the server's controllers have nothing to do: dependents of deleted owners are gone."""
        self._server.settle()

    def inject(self, effect: str, **where: Any) -> Fault:
        """Injects a fault into requests, such as ``inject("conflict", kind="ConfigMap", verb="apply", times=2)``.

        Effects are latency (with ``time="250ms"``), conflict, tooManyRequests (``retryAfter``), internalError, cutResponse, cutWatch
        (``afterEvents``), bookmarksOnly, tooOld, webhookTimeout and staleRead (``revision``). ``verb``, ``kind``, ``namespace``,
        ``name`` and ``manager`` choose the requests, ``times`` how many of them.
        """
        return self._server.inject({"effect": effect, **where})

    def clear_faults(self) -> None:
        """Removes all faults."""
        self._server.clear_faults()

    def apply(self, object: Document, *, manager: str = "tenure-testing") -> Document:
        """Applies an object with force, and returns it as it is stored."""
        return self._server.apply(object, manager)

    def load(self, objects: Sequence[Document]) -> List[str]:
        """Puts objects into the server as they are, with their uids, times and status. Returns what could not be stored, and why."""
        return self._server.load(list(objects))

    def writes(self, since: int = 0) -> List[Document]:
        """Returns the writes after a revision, each with its manager, verb and the fields that it changed."""
        return self._server.writes_since(since)

    def fights(self, since: int = 0) -> List[Document]:
        """Returns the fields that managers have set back and forth after a revision."""
        return self._server.fights_since(since)

    def client(self, package: Optional[str] = None) -> Any:
        """Returns a client of this server from a package that is installed: ``kubernetes`` (an ``ApiClient``), ``kr8s`` (an ``Api``) or
        ``lightkube`` (a ``Client``); the first of them, if none is named."""
        makers = {"kubernetes": self._kubernetes, "kr8s": self._kr8s, "lightkube": self._lightkube}
        if package is not None:
            if package not in makers:
                raise ValueError(f"unknown package {package!r}; known are {', '.join(makers)}")
            return makers[package]()
        for maker in makers.values():
            try:
                return maker()
            except ModuleNotFoundError:
                continue
        raise ModuleNotFoundError(f"none of {', '.join(makers)} is installed; `pip install kubernetes` installs one")

    def _kubernetes(self) -> Any:
        from kubernetes.client import ApiClient, Configuration  # type: ignore[import-not-found,import-untyped,unused-ignore]

        configuration = Configuration()
        configuration.host = self.url
        # A proxy of the environment is not meant for the loopback address.
        configuration.proxy = None
        return ApiClient(configuration)

    def _kr8s(self) -> Any:
        import kr8s  # type: ignore[import-not-found,import-untyped,unused-ignore]

        return kr8s.api(url=self.url, kubeconfig=self.kubeconfig)

    def _lightkube(self) -> Any:
        from lightkube import Client, KubeConfig  # type: ignore[import-not-found,import-untyped,unused-ignore]

        return Client(config=KubeConfig.from_file(self.kubeconfig), namespace="default")

    def kubectl(
        self, *arguments: str, input: Optional[str] = None, check: bool = True, env: Optional[Mapping[str, str]] = None
    ) -> str:
        """Runs the kubectl of the PATH against this server and returns what it prints. A failure raises
        ``subprocess.CalledProcessError`` with its ``stderr``, unless ``check`` is False."""
        environment = {**os.environ, **(env or {}), "KUBECONFIG": self.kubeconfig}
        done = subprocess.run(
            ["kubectl", *arguments], input=input, env=environment, check=check, capture_output=True, text=True
        )
        return done.stdout
