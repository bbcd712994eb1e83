"""Strategic merge patch, JSON merge patch and JSON patch on plain dicts.

Strategic merge patches need the type of a document: that of its apiVersion and kind, or the one that ``kind`` names, such as
``"Deployment"`` or ``"apps/v1/Deployment"``. Types of custom resources are given as ``schema``, as for `tenure.apply`.
"""

from __future__ import annotations

from typing import Any, List, NamedTuple, Optional

from ._arguments import Compatibility, Document, Schema, compiled
from ._tenure import invoke

__all__ = [
    "Finding",
    "json_merge",
    "json_merge_diff",
    "json_patch",
    "json_patch_diff",
    "lint",
    "strategic_merge",
    "three_way",
    "two_way",
]


class Finding(NamedTuple):
    """What would be refused, ignored or understood otherwise than its author may think."""

    path: str
    problem: str
    fix: str


def strategic_merge(
    live: Document,
    patch: Document,
    *,
    kind: Optional[str] = None,
    schema: Schema = None,
    order: str = "kubernetes",
    compatibility: Compatibility = "kubernetes",
) -> Document:
    """Applies a strategic merge patch. ``order`` says where entries go that only the live list has: in their positions among the others
    (``"kubernetes"``), or before them, as the design of list orders describes (``"documented"``)."""
    arguments = {"live": live, "patch": patch, "kind": kind, "order": order, "compatibility": compatibility}
    result: Document = invoke("patch.strategic_merge", arguments, compiled(schema))
    return result


def two_way(
    original: Document,
    modified: Document,
    *,
    kind: Optional[str] = None,
    schema: Schema = None,
    keys: str = "merge",
    compatibility: Compatibility = "kubernetes",
) -> Document:
    """Calculates the strategic merge patch from one document to another. ``keys`` are those that match the entries of lists: the merge
    key (``"merge"``), or all that the type recommends (``"recommended"``)."""
    arguments = {"original": original, "modified": modified, "kind": kind, "keys": keys, "compatibility": compatibility}
    result: Document = invoke("patch.two_way", arguments, compiled(schema))
    return result


def three_way(
    modified: Document,
    live: Document,
    *,
    last_applied: Optional[Document] = None,
    overwrite: bool = False,
    kind: Optional[str] = None,
    schema: Schema = None,
    keys: str = "merge",
    compatibility: Compatibility = "kubernetes",
) -> Document:
    """Calculates the patch that brings a live object to a manifest, as ``kubectl apply`` does. Without ``last_applied`` the annotation of
    the live object has the last manifest. Raises `tenure.Conflict` where both changed since, unless the manifest may ``overwrite``."""
    arguments = {
        "last_applied": last_applied,
        "modified": modified,
        "live": live,
        "overwrite": overwrite,
        "kind": kind,
        "keys": keys,
        "compatibility": compatibility,
    }
    result: Document = invoke("patch.three_way", arguments, compiled(schema))
    return result


def json_merge(live: Any, patch: Any, *, dialect: str = "kubernetes") -> Any:
    """Applies a JSON merge patch (RFC 7396), as the Kubernetes API does or as the ``"standard"`` says."""
    return invoke("patch.json_merge", {"live": live, "patch": patch, "dialect": dialect})


def json_patch(live: Any, operations: List[Document], *, dialect: str = "kubernetes") -> Any:
    """Applies a JSON patch (RFC 6902), as the Kubernetes API does or as the ``"standard"`` says. Raises `tenure.TestFailed` if a ``test``
    operation finds another value."""
    return invoke("patch.json_patch", {"live": live, "operations": operations, "dialect": dialect})


def json_merge_diff(original: Any, modified: Any) -> Any:
    """Calculates the JSON merge patch from one document to another."""
    return invoke("patch.json_merge_diff", {"original": original, "modified": modified})


def json_patch_diff(original: Any, modified: Any) -> List[Document]:
    """Calculates the JSON patch from one document to another."""
    result: List[Document] = invoke("patch.json_patch_diff", {"original": original, "modified": modified})
    return result


def lint(
    document: Document, *, manifest: bool = False, kind: Optional[str] = None, schema: Schema = None
) -> List[Finding]:
    """Checks a strategic merge patch without a live object, or a manifest from which patches will be calculated."""
    arguments = {"document": document, "manifest": manifest, "kind": kind}
    return [Finding(**finding) for finding in invoke("patch.lint", arguments, compiled(schema))]
