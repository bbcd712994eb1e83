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


def widgets(schema: Dict[str, Any], **version: Any) -> Dict[str, Any]:
    """Returns the definition of Widgets with a schema, and what else its version has."""
    served = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **version}
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [served]},
    }


@pytest.fixture(scope="session")
def repository() -> Path:
    """The folder of the repository."""
    return REPOSITORY
