"""The exceptions of tenure. What is no document at all is a TypeError or a ValueError instead, with its path."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Type


class Owner(NamedTuple):
    """A field manager that owns a field."""

    manager: str
    #: ``Apply`` or ``Update``.
    operation: str
    api_version: str
    #: The endpoint that it wrote through; empty for the object itself.
    subresource: str
    #: When its fields last changed, as RFC 3339 text, if that is known.
    time: Optional[str]


class ContestedField(NamedTuple):
    """A field that a write would change against somebody's will."""

    #: The field, such as ``.spec.replicas``.
    path: str
    #: The live value; None if there is none.
    live: Any
    #: The value that the write would set; None if it would remove the field.
    proposed: Any
    #: Who owns the field. Empty for a patch, which knows no owners.
    owners: List[Owner]


class Error(Exception):
    """An error of tenure."""

    #: The part that is wrong, such as ``.spec.containers[0]``; empty if it is the whole or not known.
    path: str = ""
    #: The fields that are contested, if this is a conflict.
    conflicts: List[ContestedField] = []


class Conflict(Error):
    """Others own fields that an apply would change, or changed them since the last apply."""


class PatchError(Error, ValueError):
    """A patch is malformed, or cannot be applied to this document."""


class TestFailed(PatchError):
    """A ``test`` operation of a JSON patch found another value."""

    __test__ = False


class InvalidObject(Error, ValueError):
    """An object does not fit its type, or what it says of its managers cannot be read."""


class UnknownKind(Error, LookupError):
    """No type is known for the kind of an object."""


class InvalidArgument(Error, ValueError):
    """An argument has a value that it cannot have."""


class TooLarge(Error, ValueError):
    """A limit is exceeded."""


class ServerError(Error, RuntimeError):
    """A test server refused something, or cannot start."""


class InternalError(Error, RuntimeError):
    """A defect of tenure."""


_CLASSES: Dict[str, Type[Error]] = {
    "Conflict": Conflict,
    "Patch": PatchError,
    "TestFailed": TestFailed,
    "InvalidObject": InvalidObject,
    "UnknownKind": UnknownKind,
    "Argument": InvalidArgument,
    "TooLarge": TooLarge,
    "Server": ServerError,
    "Internal": InternalError,
}


def _owner(document: Dict[str, Any]) -> Owner:
    return Owner(
        document["manager"],
        document["operation"],
        document["apiVersion"],
        document.get("subresource", ""),
        document.get("time"),
    )


def make(kind: str, message: str, path: str, conflicts: List[Dict[str, Any]]) -> Error:
    """Makes the exception of an error."""
    error = _CLASSES[kind](message)
    error.path = path
    error.conflicts = [
        ContestedField(of["path"], of["live"], of["proposed"], [_owner(owner) for owner in of["owners"]]) for of in conflicts
    ]
    return error
