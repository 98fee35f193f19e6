"""Text of clients: canonical UUIDs, times, and characters that are printable or can be stored.

Clients may write a UUID in several spellings. Every UUID of a path, query or body is converted to
the canonical spelling, lower case with hyphens, in which the database stores it.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Final, overload

Names = Mapping[str, str]
"""Names by UUID, or by the suffix of a group."""

NO_NAMES: Final[Names] = MappingProxyType({})

_CANONICAL = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_HEX_DIGITS = re.compile(r"[0-9a-f]{32}")

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


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


@overload
def timestamp(at: datetime) -> str: ...
@overload
def timestamp(at: None) -> None: ...
def timestamp(at: datetime | None) -> str | None:
    """Return a time in UTC (aware or naive) in ISO 8601, in whole seconds; None for None.

    >>> timestamp(datetime(2026, 11, 21, 2, 14, 7, 999))
    '2026-11-21T02:14:07Z'
    """
    return None if at is None else f"{at:%Y-%m-%dT%H:%M:%SZ}"


def printable(text: str) -> str:
    r"""Return the text in one line, with the characters escaped that control a terminal.

    >>> printable("cn1\x1b[31m\nship\u00e9")
    'cn1\\x1b[31m\\nshipé'
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def among(number: int, uuid: str, name: str | None = None) -> str:
    """Return a number of consumers or providers, and one of them, for a message.

    >>> among(2, "u1", "cn1"), among(1, "u3")
    ('2 in all, among them cn1 (u1)', '1 in all, among them u3')
    """
    example = uuid if name is None else f"{printable(name)} ({uuid})"
    return f"{number} in all, among them {example}"


def printable_lines(text: str) -> str:
    r"""Return the text with its lines, each of them printable.

    >>> printable_lines("cn1\x07\ncn2")
    'cn1\\x07\ncn2'
    """
    return "\n".join(map(printable, text.split("\n")))


def nouns(number: int, noun: str) -> str:
    """Return the noun for a number.

    >>> nouns(1, "action"), nouns(2, "action")
    ('action', 'actions')
    """
    return noun if number == 1 else f"{noun}s"


def first(names: Sequence[str], most: int = 10) -> str:
    """Return the first of some names, and how many more there are.

    >>> first(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def is_storable(text: str) -> bool:
    r"""Return whether every database can store the text.

    PostgreSQL cannot store NUL, UTF-8 cannot encode surrogates. A text that is not
    storable was never stored, so a lookup of it returns nothing.

    >>> is_storable("ship\u00e9"), is_storable("nul\0"), is_storable("half a pair \ud83d")
    (True, False, False)
    """
    return _UNSTORABLE.search(text) is None
