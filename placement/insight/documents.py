"""The JSON documents of the operator surface."""

import json
from typing import Final

VERSION: Final = 1


def document(**fields: object) -> bytes:
    """Return a body: the version of the surface, and these fields."""
    return json.dumps({"version": VERSION, **fields}).encode("ascii")
