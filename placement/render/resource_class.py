"""Resource classes as JSON; links begin with the mount prefix."""

import json
from collections.abc import Iterable
from typing import Any


def resource_class(name: str, prefix: str) -> bytes:
    """Return the body of one class."""
    return json.dumps(_named(name, prefix)).encode("ascii")


def resource_classes(names: Iterable[str], prefix: str) -> bytes:
    """Return the body of GET /resource_classes."""
    return json.dumps({"resource_classes": [_named(name, prefix) for name in names]}).encode(
        "ascii"
    )


def _named(name: str, prefix: str) -> dict[str, Any]:
    href = f"{prefix}/resource_classes/{name}"
    return {"name": name, "links": [{"rel": "self", "href": href}]}
