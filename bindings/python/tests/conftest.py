"""Where the recordings are, and samples of objects."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Dict

import pytest

REPOSITORY = Path(os.environ.get("TENURE_REPOSITORY", Path(__file__).parents[3])).resolve()


def deployment(**spec: Any) -> Dict[str, Any]:
    """Returns a Deployment with a spec."""
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


@pytest.fixture(scope="session")
def repository() -> Path:
    """The folder of the repository."""
    return REPOSITORY
