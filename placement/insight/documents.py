"""The JSON documents of the operator surface."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

VERSION: Final = 1

Json = dict[str, object]
"""A JSON object that is ready for ``json.dumps``."""

Response = Mapping[str, Any]
"""A JSON object of a service, which may be of a later release and have more members."""


def document(**fields: object) -> bytes:
    """Return a response body with the version of the documents and these fields."""
    return json.dumps({"version": VERSION, **fields}).encode("ascii")


def read_time(text: str | None) -> datetime | None:
    """Return a time in a document, naive in UTC; None for None."""
    return datetime.fromisoformat(text).replace(tzinfo=None) if text else None
