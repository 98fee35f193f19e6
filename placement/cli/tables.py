"""Tables that fit the terminal, and JSON in the columns of text for scripts.

A list has one row for each object. If not all columns fit, the least important columns are left
out and long texts end with an ellipsis; a UUID is shown whole or not at all. Output that is not
written to a terminal is at most ``PIPE_WIDTH`` wide.
"""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Final

from cliff.columns import FormattableColumn

PIPE_WIDTH: Final = 200

_LONGEST_WHOLE: Final = 40  # a longer text may be shortened; a request id has 40 characters
_SHORTEST: Final = 29  # a request beside time, reason and count at 80 characters
_BORDER: Final = 3  # of a column
_UUID: Final = re.compile(r"( \()?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?(1)\))")
"""A UUID, or " (UUID)" after a name."""
_PIECE: Final = re.compile("[^ &,]*[ &,]*")  # a line may end after it

Rows = Sequence[Sequence[object]]


def fitted(
    columns: Sequence[str], rows: Rows, width: int, important: Sequence[str]
) -> tuple[Sequence[str], Rows]:
    """Return the columns that fit into the width, and their cells as text or numbers.

    ``important`` has the most important columns first. Only their texts are shortened; another
    column is shown if there is enough space for all of it.
    """
    texts = [[_text(cell) for cell in row] for row in rows]
    natural = {
        name: max([len(name), *(_width(row[at]) for row in texts)])
        for at, name in enumerate(columns)
    }
    least = {
        name: min(natural[name], _SHORTEST)
        if name in important and natural[name] > _LONGEST_WHOLE
        else natural[name]
        for name in columns
    }
    others = [name for name in columns if name not in important]
    widths: dict[str, int] = {}
    free = width - 1
    for group in ([name for name in important if name in columns], others):
        for name in group:
            if not widths or least[name] + _BORDER <= free:
                widths[name] = least[name]
                free -= least[name] + _BORDER
        for name, shown in widths.items():
            added = max(min(natural[name] - shown, free), 0)
            widths[name] += added
            free -= added
    places = [(at, widths[name]) for at, name in enumerate(columns) if name in widths]
    cut = [[_shortened(row[at], most) for at, most in places] for row in texts]
    return [columns[at] for at, _ in places], cut


def _text(cell: object) -> object:
    if isinstance(cell, FormattableColumn):
        cell = cell.human_readable()
    return "" if cell is None or cell in ([], {}) else scalar(cell)


def _width(value: object) -> int:
    return max(map(len, str(value).split("\n")))


def _shortened(value: object, width: int) -> object:
    if not isinstance(value, str):
        return value
    return "\n".join(shortened(line, width) for line in value.split("\n"))


def shortened(line: str, width: int) -> str:
    """Return the line, or its beginning with an ellipsis; a UUID is not cut.

    One that would be cut is left out if it is after a name.

    >>> shortened("web-1 (5c1f0a2b-1b3d-4e5f-9a7b-0c1d2e3f4a5b): VCPU 4, DISK_GB 20", 30)
    'web-1: VCPU 4, DISK_GB 20'
    """
    if len(line) <= width:
        return line
    end = width - 1
    for uuid in _UUID.finditer(line):
        if uuid.start() < end < uuid.end():
            if uuid[1]:
                return shortened(line[: uuid.start()] + line[uuid.end() :], width)
            end = uuid.start()
    return f"{line[:end].rstrip()}…"


def wrapped_values(names: Iterable[str], values: Iterable[object], width: int) -> list[object]:
    """Return the values of fields with these names, whose table then fits into the width."""
    of_values = width - max(map(len, ("Field", *names))) - 2 * _BORDER - 1
    return [wrapped(value, of_values) for value in values]


def wrapped(cell: object, width: int) -> object:
    """Return the cell; lines of a text end after a blank, a comma or "&", so no UUID is broken.

    >>> print(wrapped("member_of=5c1f0a2b-1b3d-4e5f-9a7b-0c1d2e3f4a5b&limit=1", 50))
    member_of=5c1f0a2b-1b3d-4e5f-9a7b-0c1d2e3f4a5b&
    limit=1
    """
    text = _text(cell)
    if not isinstance(text, str):
        return text
    lines = []
    for line in text.split("\n"):
        lines.append("")
        for piece in _PIECE.findall(line):
            if lines[-1] and len(lines[-1] + piece.rstrip()) > width:
                lines.append("")
            lines[-1] += piece
    return "\n".join(map(str.rstrip, lines))


def in_one_line(rows: Iterable[Sequence[object]]) -> list[list[object]]:
    """Return the cells as text or numbers, each in one line."""
    return [
        [text.replace("\n", "; ") if isinstance(text, str) else text for text in map(_text, row)]
        for row in rows
    ]


def with_json(values: Iterable[object]) -> list[object]:
    """Return the values for ``-f csv`` and ``-f value``: nested ones as JSON."""
    return [scalar(value) for value in values]


def scalar(value: object) -> object:
    """Return the value, as JSON if it is nested."""
    if isinstance(value, FormattableColumn):
        value = value.machine_readable()
    is_nested = isinstance(value, dict | list | tuple)
    return json.dumps(value, ensure_ascii=False) if is_nested else value
