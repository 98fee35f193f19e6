"""Tables and sentences that fit the terminal.

A list has one row for each object. If a table is too wide, in this order: the domain that all
names of a column share is cut; a text that is equal in all rows is named below the table;
columns of numbers are joined to one; the least important columns are left out; and long texts
continue in the next line. A UUID is shown whole or not at all. ``FittedTable.notes`` says what is
not in the table. Output that is not written to a terminal is at most ``PIPE_WIDTH`` wide.
"""

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from textwrap import fill
from typing import IO, Final
from unicodedata import east_asian_width

PIPE_WIDTH: Final = 200
"""The width of a table that is not written to a terminal."""

BORDER: Final = 3
"""The width of the border of a column."""

JOINED: Final = "more"
"""The column of the numbers that have no column."""

_LONGEST_WHOLE: Final = 40  # a longer text may be shortened; a request id has 40 characters
_SHORTEST: Final = 29  # a request beside time, reason and count at 80 characters
_SHORTEST_AMOUNTS: Final = 18
_MOST_LINES: Final = 6  # of a text in a cell
_MOST_WITH_UUIDS: Final = 3  # of a text with UUIDs after names
_PLACES_OF_UUID: Final = 36
_BARE: Final = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_UUID: Final = re.compile(rf"( \()?{_BARE}(?(1)\))")
"""A UUID, or " (UUID)" after a name."""
_UUIDS: Final = re.compile(f"(?:req-)?{_BARE}(?:, {_BARE})*")
_PIECE: Final = re.compile("[^ &,]*[ &,]*")  # a line may end after it
_AMOUNTS: Final = re.compile(r"(?:\w+=\d+ ?)*")
_DOMAIN: Final = re.compile(r"(?:\.[A-Za-z][A-Za-z0-9-]*)+")

Rows = Sequence[Sequence[object]]
Cells = Mapping[str, Sequence[object]]
"""The cells of each column."""


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


@dataclass(frozen=True, slots=True)
class FittedTable:
    """The columns and cells of a table; and what is said below it instead.

    ``in_all_rows`` has the values of columns that are equal in all rows, and ``domains`` the
    domains that were cut, by column.
    """

    columns: Sequence[str]
    rows: Rows
    left_out: Sequence[str] = ()
    in_all_rows: Mapping[str, object] = field(default_factory=dict)
    domains: Mapping[str, str] = field(default_factory=dict)

    def notes(self) -> Iterator[str]:
        """Yield a sentence for each kind of thing that is not in the table."""
        for domain in dict.fromkeys(self.domains.values()):
            columns = [name for name, cut in self.domains.items() if cut == domain]
            yield f"Names end with {domain}: {', '.join(columns)}."
        if self.in_all_rows:
            equal = (f"{name} {value}" for name, value in self.in_all_rows.items())
            yield f"In all rows: {' '.join(', '.join(equal).split())}."
        if self.left_out:
            yield f"Columns left out: {', '.join(self.left_out)}. See --column and -f json."


def fitted(
    columns: Sequence[str], rows: Rows, width: int, important: Sequence[str]
) -> FittedTable:
    """Return the columns that fit into the width, and their cells, which are text or numbers.

    ``important`` has the most important columns first. Only their texts are broken; another column
    is shown if there is enough space for all of it.
    """
    cells = {name: [row[at] for row in rows] for at, name in enumerate(columns)}
    if _total(cells) <= width or not rows:
        return FittedTable(columns, rows)
    domains = {name: end for name, values in cells.items() if (end := _domain(values))}
    for name, domain in domains.items():
        cells[name] = [str(value).removesuffix(domain) for value in cells[name]]
    equal: dict[str, object] = {}
    if _total(cells) > width and len(rows) > 1:
        equal = {
            name: values[0]
            for name, values in cells.items()
            if name not in important[: 1 if isinstance(values[0], str) else None]
            and _is_repeated(values)
        }
    whole = {name: values for name, values in cells.items() if name not in equal}
    shown = _with_joined_numbers(whole, important) if _total(whole) > width else whole
    widths = _widths(shown, (*important, JOINED), width)
    return FittedTable(
        [name for name in shown if name in widths],
        _broken(shown, widths),
        [
            name
            for name in whole
            if name not in widths and not (JOINED in widths and name not in shown)
        ],
        {name: f"{value}{domains.get(name, '')}" for name, value in equal.items()},
        {name: domain for name, domain in domains.items() if name in widths},
    )


def broken_columns(columns: Sequence[str], rows: Rows, width: int) -> Rows:
    """Return the rows of columns that all stay; their texts are broken, as far as they can be."""
    cells: Cells = {name: [row[at] for row in rows] for at, name in enumerate(columns)}
    return _broken(cells, _widths(cells, columns, width, all_stay=True)) if rows else rows


def _total(cells: Cells) -> int:
    return sum(_natural(name, values) + BORDER for name, values in cells.items()) + 1


def _natural(name: str, values: Sequence[object]) -> int:
    return max([len(name), *map(_width, values)])


def _domain(values: Sequence[object]) -> str:
    """Return the domain at the end of all values, which are names.

    >>> _domain(["cn1.dc1.example.org", "cn2.example.org"]), _domain(["gpu_81:00.0", "cn1"])
    ('.example.org', '')
    """
    if not all(isinstance(value, str) and " " not in value for value in values):
        return ""
    ends = [str(value).split(".")[:0:-1] for value in values]
    shared = [
        labels[0] for labels in takewhile(lambda each: len({*each}) == 1, zip(*ends, strict=False))
    ]
    domain = "".join(f".{label}" for label in reversed(shared))
    return domain if _DOMAIN.fullmatch(domain) else ""


def _is_repeated(values: Sequence[object]) -> bool:
    first = values[0]
    is_short = first not in ("", 0) and _width(first) <= _LONGEST_WHOLE
    return is_short and all(value == first for value in values)


def _with_joined_numbers(cells: Cells, important: Sequence[str]) -> Cells:
    """Return the cells with the less important columns of numbers in one, if there are several."""
    numbers = [
        name
        for name, values in cells.items()
        if name not in important and all(isinstance(value, int) for value in values)
    ]
    if len(numbers) < 2:
        return cells
    rows = zip(*(cells[name] for name in numbers), strict=True)
    joined = [
        " ".join(f"{name}={number}" for name, number in zip(numbers, row, strict=True) if number)
        for row in rows
    ]
    others = {name: values for name, values in cells.items() if name not in numbers}
    return {**others, JOINED: joined}


def _widths(
    cells: Cells, important: Sequence[str], width: int, *, all_stay: bool = False
) -> Mapping[str, int]:
    """Return the widths of the columns that are shown."""
    natural = {name: _natural(name, values) for name, values in cells.items()}
    least = {
        name: min(most, _shortest(cells[name], most, all_stay)) if name in important else most
        for name, most in natural.items()
    }
    others = [name for name in cells if name not in important]
    widths: dict[str, int] = {}
    free = width - 1
    for group in ([name for name in important if name in cells], others):
        for name in group:
            if all_stay or not widths or least[name] + BORDER <= free:
                widths[name] = least[name]
                free -= least[name] + BORDER
        for name, shown in widths.items():
            added = max(min(natural[name] - shown, free), 0)
            widths[name] += added
            free -= added
    return widths


def _shortest(values: Sequence[object], natural: int, all_stay: bool) -> int:
    """Return the least width of an important column: of a UUID without a name if others can go."""
    if all(isinstance(value, str) and _AMOUNTS.fullmatch(value) for value in values):
        return _SHORTEST_AMOUNTS
    uuids = (uuid for value in values for uuid in _UUID.finditer(str(value)))
    least = _SHORTEST if all_stay or all(uuid[1] for uuid in uuids) else _PLACES_OF_UUID + 1
    return least if natural > _LONGEST_WHOLE else natural


def _broken(cells: Cells, widths: Mapping[str, int]) -> Rows:
    """Return the rows of the columns that have a width."""
    columns = [
        [broken(value, widths[name]) if isinstance(value, str) else value for value in values]
        for name, values in cells.items()
        if name in widths
    ]
    return list(map(list, zip(*columns, strict=True)))


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


def broken(text: str, width: int) -> str:
    """Return the text in lines of this width, of which the last one may end with an ellipsis.

    UUIDs after names are left out if the text would need more than three lines otherwise; UUIDs
    that are wider than a line are an ellipsis.

    >>> print(broken("web-1 (5c1f0a2b-1b3d-4e5f-9a7b-0c1d2e3f4a5b): VCPU 4, DISK_GB 20", 20))
    web-1: VCPU 4,
    DISK_GB 20
    """
    lines = list[str]()
    for line in text.split("\n"):
        parts = list(lines_of(line, width))
        if len(parts) > _MOST_WITH_UUIDS or any(_places(part) > width for part in parts):
            without = _UUID.sub(lambda uuid: "" if uuid[1] else uuid[0], line)
            if width < _PLACES_OF_UUID:
                without = _UUIDS.sub("…", without)
            parts = list(lines_of(without, width))
        lines += parts
    if len(lines) > max(_MOST_LINES, text.count("\n") + 1):
        lines[_MOST_LINES - 1 :] = [f"{lines[_MOST_LINES - 1]}…"]
    return "\n".join(shortened(line, width) for line in lines)


def lines_of(line: str, width: int) -> Iterator[str]:
    """Yield lines that end after a blank, a comma or "&" of the line, so that no UUID is broken.

    >>> list(lines_of("member_of=5c1f0a2b-1b3d-4e5f-9a7b-0c1d2e3f4a5b&limit=1", 50))
    ['member_of=5c1f0a2b-1b3d-4e5f-9a7b-0c1d2e3f4a5b&', 'limit=1']
    """
    text = ""
    for piece in _pieces(line, width):
        if text and _places(text + piece.rstrip()) > width:
            yield text.rstrip()
            text = ""
        text += piece
    yield text.rstrip()


def _pieces(line: str, width: int) -> Iterator[str]:
    """Yield the pieces of a line; a piece that is too long is broken, except if it has a UUID."""
    for piece in _PIECE.findall(line):
        most = width if piece.isascii() else width // 2
        is_whole = _places(piece.rstrip()) <= width or _UUID.search(piece)
        size = len(piece) + 1 if is_whole else max(most, 1)
        yield from (piece[at : at + size] for at in range(0, len(piece), size))


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
