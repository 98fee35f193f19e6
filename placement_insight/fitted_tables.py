"""Tables and sentences that fit the terminal.

A list has one row for each object. If not all columns fit, the least important columns are left
out and long texts end with an ellipsis; a UUID is shown whole or not at all. Output that is not
written to a terminal is at most ``PIPE_WIDTH`` wide.
"""

import re
import shutil
from collections.abc import Sequence
from textwrap import fill
from typing import IO, Final
from unicodedata import east_asian_width

PIPE_WIDTH: Final = 200
"""The width of a table that is not written to a terminal."""

BORDER: Final = 3
"""The width of the border of a column."""

_LONGEST_WHOLE: Final = 40  # a longer text may be shortened; a request id has 40 characters
_SHORTEST: Final = 29  # a request beside time, reason and count at 80 characters
_UUID: Final = re.compile(r"( \()?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?(1)\))")
"""A UUID, or " (UUID)" after a name."""

Rows = Sequence[Sequence[object]]


def width_of(output: IO[str]) -> int:
    """Return the width of a table that is written to this output."""
    return shutil.get_terminal_size().columns if output.isatty() else PIPE_WIDTH


def fitted_lines(text: str, output: IO[str]) -> str:
    """Return lines that fit the terminal; what continues a line is indented.

    If the output is no terminal, they are not changed, for programs that read lines.
    """
    if not output.isatty():
        return text
    return "\n".join(_filled(line, width_of(output)) for line in text.splitlines())


def _filled(line: str, width: int) -> str:
    """Return a line as several lines, broken at blanks.

    >>> print(_filled("  cmp-12: no other host has VCPU:64 free", 24))
      cmp-12: no other host
        has VCPU:64 free
    """
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    return fill(
        line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def fitted(
    columns: Sequence[str], rows: Rows, width: int, important: Sequence[str]
) -> tuple[list[str], list[list[object]]]:
    """Return the columns that fit into the width, and their cells, which are text or numbers.

    ``important`` has the most important columns first. Only their texts are shortened; another
    column is shown if there is enough space for all of it.
    """
    natural = {
        name: max([len(name), *(_width(row[at]) for row in rows)])
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
            if not widths or least[name] + BORDER <= free:
                widths[name] = least[name]
                free -= least[name] + BORDER
        for name, shown in widths.items():
            added = max(min(natural[name] - shown, free), 0)
            widths[name] += added
            free -= added
    places = [(at, widths[name]) for at, name in enumerate(columns) if name in widths]
    cut = [[_shortened(row[at], most) for at, most in places] for row in rows]
    return [columns[at] for at, _ in places], cut


def _width(value: object) -> int:
    return max(map(_places, str(value).split("\n")))


def _places(line: str) -> int:
    """Return the width of a line on a terminal, where Chinese and Japanese characters have two.

    >>> _places("研发部-01")
    9
    """
    if line.isascii():
        return len(line)
    return len(line) + sum(east_asian_width(character) in "FW" for character in line)


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
    if _places(line) <= width:
        return line
    end = width - 1
    while _places(line[:end]) >= width:
        end -= 1
    for uuid in _UUID.finditer(line):
        if uuid.start() < end < uuid.end():
            if uuid[1]:
                return shortened(line[: uuid.start()] + line[uuid.end() :], width)
            end = uuid.start()
    return f"{line[:end].rstrip()}…"
