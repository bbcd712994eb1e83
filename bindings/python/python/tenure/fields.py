"""Field sets: the ``fieldsV1`` of a manager, in all its forms."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any, List, Sequence, Union

from ._arguments import Document
from ._tenure import invoke

__all__ = ["compact", "decode", "encode", "expand", "from_paths", "paths"]


def encode(fields: Union[Document, List[Document]], form: str = "binary") -> Union[bytes, str]:
    """Encodes a set (``fieldsV1``), a list of managers (``metadata.managedFields``), or those of an object. The forms are ``binary``,
    which is bytes, and the texts ``fields-v1``, ``nested-lists`` and ``string-table``; the last two hold one set."""
    encoded = invoke("fields.encode", {"fields": fields, "form": form})
    return b64decode(encoded["base64"]) if "base64" in encoded else str(encoded["text"])


def decode(data: Union[bytes, str]) -> Any:
    """Decodes any form. The result is a ``fieldsV1`` dict, or a list of managers if that was encoded."""
    if isinstance(data, str):
        return invoke("fields.decode", {"text": data})
    return invoke("fields.decode", {"base64": b64encode(data).decode()})


def paths(fields: Document) -> List[str]:
    """Returns the paths of a ``fieldsV1`` dict, such as ``.spec.replicas``."""
    result: List[str] = invoke("fields.paths", {"fields": fields})
    return result


def from_paths(paths: Sequence[str]) -> Document:
    """Returns the ``fieldsV1`` dict of paths."""
    result: Document = invoke("fields.from_paths", {"paths": list(paths)})
    return result


def compact(managed_fields: List[Document]) -> List[Document]:
    """Returns ``metadata.managedFields`` as one compact entry for all managers, as a server of Tenure shows them on request."""
    result: List[Document] = invoke("fields.compact", {"managed_fields": managed_fields})
    return result


def expand(managed_fields: List[Document]) -> List[Document]:
    """Returns ``metadata.managedFields`` with an entry for each manager."""
    result: List[Document] = invoke("fields.expand", {"managed_fields": managed_fields})
    return result
