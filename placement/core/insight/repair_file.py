"""The files of plans and of undo: lines of JSON, between a header and an end."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

FORMAT: Final = "placement-repair"
VERSION: Final = 1
END: Final = {"end": True}

Entry = Mapping[str, Any]


class InvalidRepairFile(Exception):  # noqa: N818
    """The file cannot be used; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Header:
    """The first line.

    ``kind`` is ``plan`` or ``undo``, ``database`` the epoch of the database, ``plan`` the digest
    of the plan that an undo file belongs to.
    """

    kind: str
    database: str
    created_at: str
    plan: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """The contents of a file; without ``has_end`` it is truncated, or was not completed."""

    header: Header
    entries: Sequence[Entry]
    has_end: bool


def lines_of(header: Header, entries: Iterable[Entry]) -> Iterator[str]:
    """Yield the lines of a complete file."""
    yield header_line(header)
    yield from map(line, entries)
    yield line(END)


def header_line(header: Header) -> str:
    """Return the first line."""
    values = {
        "format": FORMAT,
        "version": VERSION,
        "kind": header.kind,
        "database": header.database,
        "created_at": header.created_at,
    }
    return line({**values, "plan": header.plan} if header.plan else values)


def line(entry: Entry) -> str:
    """Return one line.

    >>> print(line({"end": True}), end="")
    {"end": true}
    """
    return f"{json.dumps(entry)}\n"


def read_lines(lines: Iterable[str]) -> Document:
    """Return the contents.  A last line that is not complete is left out: it was not committed.

    Raises: InvalidRepairFile.
    """
    numbered = enumerate(lines, start=1)
    _, first = next(numbered, (1, ""))
    header = _header(first)
    entries: list[Entry] = []
    has_end = False
    for number, text in numbered:
        if not text.endswith("\n"):
            return Document(header, entries, has_end=False)
        entry = _object(text, number)
        has_end = entry == END
        if not has_end:
            entries.append(entry)
    return Document(header, entries, has_end)


def _header(text: str) -> Header:
    values = _object(text, 1)
    if values.get("format") != FORMAT:
        raise InvalidRepairFile(
            f"The file is not a plan of repairs: its first line has no format {FORMAT}."
        )
    if values.get("version") != VERSION:
        raise InvalidRepairFile(
            f"The file has version {values.get('version')}; this release reads version {VERSION}. "
            "Plan again with this release, or apply the file with the release that wrote it."
        )
    names = ("kind", "database", "created_at")
    kind, database, created_at = (values.get(name) for name in names)
    if not (isinstance(kind, str) and isinstance(database, str) and isinstance(created_at, str)):
        raise InvalidRepairFile(f"The first line of the file lacks one of {', '.join(names)}.")
    return Header(kind, database, created_at, str(values.get("plan", "")))


def _object(text: str, number: int) -> Entry:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidRepairFile(f"Line {number} of the file is not JSON: {error}.") from error
    if not isinstance(value, dict):
        raise InvalidRepairFile(f"Line {number} of the file is not a JSON object.")
    return value
