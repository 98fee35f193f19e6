"""The JSON documents of the operator surface."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

VERSION: Final = 1

Json = dict[str, object]
"""A JSON object that is ready for ``json.dumps``."""

Response = Mapping[str, Any]
"""A JSON object of a service, which may be of a later release and have more members."""


def document(**fields: object) -> Json:
    """Return a document with these fields and the version of the documents."""
    return {"version": VERSION, **fields}


def read_time(text: str | None) -> datetime | None:
    """Return a time in a document, naive in UTC; None for None."""
    return datetime.fromisoformat(text).replace(tzinfo=None) if text else None
