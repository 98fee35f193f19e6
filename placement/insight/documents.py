"""The JSON documents of the operator surface."""

import json
from typing import Final

VERSION: Final = 1

Json = dict[str, object]
"""A JSON object that is ready for ``json.dumps``."""


def document(**fields: object) -> bytes:
    """Return a response body with the version of the documents and these fields."""
    return json.dumps({"version": VERSION, **fields}).encode("ascii")
