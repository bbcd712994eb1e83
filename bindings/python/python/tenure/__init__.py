"""Who owns every field of a Kubernetes object.

Server-side apply, updates, blame and plans on plain dicts, without a cluster; strategic merge patch, JSON merge patch and JSON patch in
``tenure.patch``; field sets in ``tenure.fields``; a control plane for tests in ``tenure.testing``. Everything behaves as Kubernetes does;
``compatibility="tenure"`` turns on the documented improvements.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Optional, Sequence

from . import fields, patch
from ._arguments import Compatibility, Document, Schema, Time, compiled, moment
from ._tenure import KUBERNETES_VERSION, VERSION as __version__, invoke
from .errors import (
    Conflict,
    ContestedField,
    Error,
    InternalError,
    InvalidArgument,
    InvalidObject,
    Owner,
    PatchError,
    ServerError,
    TestFailed,
    TooLarge,
    UnknownKind,
)
from .types import Types

__all__ = [
    "Applied",
    "Conflict",
    "ContestedField",
    "Error",
    "InternalError",
    "InvalidArgument",
    "InvalidObject",
    "KUBERNETES_VERSION",
    "Owner",
    "PatchError",
    "ServerError",
    "TestFailed",
    "TooLarge",
    "Types",
    "UnknownKind",
    "__version__",
    "apply",
    "blame",
    "fields",
    "patch",
    "plan",
    "update",
    "why",
]


class Applied(NamedTuple):
    """The result of a write."""

    #: The object with its ``metadata.managedFields``, before defaults and validation.
    object: Document
    #: Whether the object or the owners of its fields differ from the live ones.
    changed: bool


def apply(
    live: Optional[Document],
    config: Document,
    manager: str,
    *,
    force: bool = False,
    force_paths: Sequence[str] = (),
    subresource: str = "",
    time: Time = None,
    schema: Schema = None,
    compatibility: Compatibility = "kubernetes",
) -> Applied:
    """Applies a configuration to the live object, or creates it if ``live`` is None.

    Raises `Conflict` if others own fields that would change. ``force`` takes all of them, ``force_paths`` those at and below paths such as
    ``.spec.replicas``. ``time`` is what the manager's entry shows. ``schema`` has the types of custom resources: a
    CustomResourceDefinition, an OpenAPI document, a list of them, or `Types`.
    """
    arguments = {
        "live": live,
        "config": config,
        "manager": manager,
        "force": force,
        "force_paths": list(force_paths),
        "subresource": subresource,
        "time": moment(time),
        "compatibility": compatibility,
    }
    return Applied(**invoke("apply", arguments, compiled(schema)))


def update(
    live: Optional[Document],
    object: Document,
    manager: str,
    *,
    subresource: str = "",
    time: Time = None,
    schema: Schema = None,
    compatibility: Compatibility = "kubernetes",
) -> Applied:
    """Writes a whole object, as PUT does, or creates it if ``live`` is None: the manager owns what it changes. Updates never conflict."""
    arguments = {
        "live": live,
        "object": object,
        "manager": manager,
        "subresource": subresource,
        "time": moment(time),
        "compatibility": compatibility,
    }
    return Applied(**invoke("update", arguments, compiled(schema)))


def blame(live: Document, *, schema: Schema = None) -> Document:
    """Returns the owners of every field: ``object``, ``fields`` with path, value and owners, and ``absent``, what is owned and not set."""
    result: Document = invoke("blame", {"live": live}, compiled(schema))
    return result


def why(
    live: Document, path: str, *, time: Time = None, schema: Schema = None, compatibility: Compatibility = "kubernetes"
) -> Document:
    """Explains one field, named in any notation: its value and owners, how its type merges, and what each kind of write would do."""
    arguments = {"live": live, "path": path, "time": moment(time), "compatibility": compatibility}
    result: Document = invoke("why", arguments, compiled(schema))
    return result


def plan(
    live: Optional[Document],
    config: Document,
    manager: str,
    *,
    force: bool = False,
    force_paths: Sequence[str] = (),
    time: Time = None,
    schema: Schema = None,
    compatibility: Compatibility = "kubernetes",
) -> Document:
    """Returns what an apply would do: ``action``, the ``values`` and ``owners`` that change, ``conflicts`` with their ``causes``, and
    what else deserves attention. A conflict is part of the result, and raises nothing."""
    arguments: dict[str, Any] = {
        "live": live,
        "config": config,
        "manager": manager,
        "force": force,
        "force_paths": list(force_paths),
        "time": moment(time),
        "compatibility": compatibility,
    }
    result: Document = invoke("plan", arguments, compiled(schema))
    return result
