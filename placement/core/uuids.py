"""Canonical UUIDs: lower case, with hyphens.

Clients may write a UUID in several spellings. Every UUID of a path, query or body is converted to
the canonical spelling, in which the database stores it.
"""

import re

_CANONICAL = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_HEX_DIGITS = re.compile(r"[0-9a-f]{32}")


def canonical_uuid(text: str) -> str | None:
    """Return a UUID in canonical form, None if the text is no UUID.

    Letter case, hyphens, braces and ``urn:uuid:`` are ignored.

    >>> canonical_uuid("{AAAAAAAA11112222-3333444444444444}")
    'aaaaaaaa-1111-2222-3333-444444444444'
    """
    if _CANONICAL.fullmatch(text):
        return text
    digits = text.lower().removeprefix("urn:").removeprefix("uuid:").strip("{}").replace("-", "")
    if not _HEX_DIGITS.fullmatch(digits):
        return None
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def canonical(text: str) -> str:
    """Return a UUID in canonical form, any other text unchanged.

    A text that is no UUID identifies nothing, and is reported as the client wrote it.

    >>> canonical("random_sauce")
    'random_sauce'
    """
    return canonical_uuid(text) or text
