"""Fixtures of pytest, which load by themselves: ``tenure_server``, one for the session, and ``tenure``, a fork of it for each test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterator

import pytest

if TYPE_CHECKING:
    from .testing import TestServer


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options."""
    group = parser.getgroup("tenure", "a Kubernetes control plane for tests")
    group.addoption(
        "--tenure-crds",
        action="append",
        default=[],
        metavar="DIR",
        help="apply the definitions and manifests of a file or a directory to the server of the session; may be repeated",
    )
    group.addoption(
        "--tenure-compatibility",
        default=None,
        metavar="NAME",
        help="kubernetes (the default), or tenure, for servers with the documented improvements",
    )
    parser.addini("tenure_crds", "files and directories with definitions, as for --tenure-crds", type="paths", default=[])


@pytest.fixture(scope="session")
def tenure_server(request: pytest.FixtureRequest) -> Iterator[TestServer]:
    """A control plane for the whole session, with the definitions of ``--tenure-crds``."""
    from .testing import TestServer

    config = request.config
    crds = [*config.getini("tenure_crds"), *config.getoption("--tenure-crds")]
    compatibility = config.getoption("--tenure-compatibility") or "kubernetes"
    with TestServer(crds=crds, compatibility=compatibility) as server:
        yield server


@pytest.fixture
def tenure(tenure_server: TestServer) -> Iterator[TestServer]:
    """A control plane for one test: a fork of the one of the session."""
    with tenure_server.fork() as server:
        yield server
