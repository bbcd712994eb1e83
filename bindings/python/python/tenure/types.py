"""Types of documents: how their lists and maps merge."""

from __future__ import annotations

from typing import Any, Dict, List, Union

from . import _tenure


class Types:
    """The types of CustomResourceDefinitions and OpenAPI v2 or v3 documents, and the built-in ones. Compiled once, used often."""

    def __init__(self, *documents: Union[Dict[str, Any], List[Dict[str, Any]]]) -> None:
        flat: List[Dict[str, Any]] = []
        for document in documents:
            flat.extend(document if isinstance(document, list) else [document])
        self._types = _tenure.Types.of_documents(flat)

    @classmethod
    def of_schema(cls, schema: Dict[str, Any]) -> Types:
        """Returns types with which every document is of one OpenAPI schema, such as ``{"type": "object", "properties": ...}``."""
        types = cls.__new__(cls)
        types._types = _tenure.Types.of_schema(schema)
        return types

    def kinds(self) -> List[str]:
        """Returns the kinds, as ``apps/v1/Deployment``: those that were given, then the built-in ones."""
        return self._types.kinds()
