"""Canonical forms of response bodies: equal for equivalent responses.

The API does not define the order of any list, so lists are sorted. The prefix at which a service
is mounted is removed from links. Floats are rounded to six significant digits, because MySQL
stores allocation ratios in single precision.
"""

import json
from typing import Any

_DIGITS = 6


def canonical(body: bytes, prefix: str) -> Any:
    """Return the canonical form of a JSON body; the text itself if it is not JSON."""
    try:
        return _canonical(json.loads(body), prefix)
    except ValueError:
        return body.decode(errors="replace")


def error_code(body: bytes) -> str | None:
    """Return the error code of an error response, if it has one."""
    try:
        code = json.loads(body)["errors"][0].get("code")
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):
        return None
    return None if code is None else str(code)


def sort_key(value: Any) -> str:
    """Return a text by which canonical values are ordered."""
    return json.dumps(value, sort_keys=True)


def _canonical(value: Any, prefix: str) -> Any:
    if isinstance(value, dict):
        return {
            name: _without_prefix(item, prefix) if name == "href" else _canonical(item, prefix)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return sorted((_canonical(item, prefix) for item in value), key=sort_key)
    if isinstance(value, float):
        rounded = float(f"{value:.{_DIGITS}g}")
        return int(rounded) if rounded.is_integer() else rounded
    return value


def _without_prefix(href: Any, prefix: str) -> Any:
    return href.removeprefix(prefix) if isinstance(href, str) else href
