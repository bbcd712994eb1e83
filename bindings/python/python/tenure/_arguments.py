"""Arguments that several functions have."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any, Dict, List, Optional, Union

from . import _tenure
from .types import Types

#: A document: what ``json.loads`` returns for an object.
Document = Dict[str, Any]
#: Types besides the built-in ones.
Schema = Union[None, Types, Document, List[Document]]
#: A moment: RFC 3339 text, or a datetime, which is in UTC unless it has a time zone.
Time = Union[None, str, datetime]
#: ``"kubernetes"`` or ``"tenure"``, and single improvements after a plus, as in ``"kubernetes+ClientMergeKeys"``.
Compatibility = str


def compiled(schema: Schema) -> Optional[_tenure.Types]:
    """Returns the compiled types of an argument."""
    if schema is None:
        return None
    if isinstance(schema, Types):
        return schema._types
    return Types(schema)._types


def moment(time: Time) -> Optional[str]:
    """Returns a moment as text."""
    if not isinstance(time, datetime):
        return time
    if time.tzinfo is not None:
        time = time.astimezone(timezone.utc)
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")
