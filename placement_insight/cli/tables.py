"""The cells of tables as text, and JSON in the columns of text for scripts."""

import json
from collections.abc import Iterable

from cliff.columns import FormattableColumn

from placement_insight.fitted_tables import BORDER, lines_of


def _text(cell: object) -> object:
    if isinstance(cell, FormattableColumn):
        cell = cell.human_readable()
    return "" if cell is None or cell in ([], {}) else scalar(cell)


def wrapped_values(names: Iterable[str], values: Iterable[object], width: int) -> list[object]:
    """Return the values of fields with these names, whose table then fits into the width."""
    of_values = width - max(map(len, ("Field", *names))) - 2 * BORDER - 1
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
    return "\n".join(part for line in text.split("\n") for part in lines_of(line, width))


def texts(row: Iterable[object]) -> list[object]:
    """Return the cells of a row as text or numbers."""
    return list(map(_text, row))


def in_one_line(row: Iterable[object]) -> list[object]:
    """Return the cells of a row as text or numbers, each in one line."""
    return [cell.replace("\n", "; ") if isinstance(cell, str) else cell for cell in texts(row)]


def with_json(values: Iterable[object]) -> list[object]:
    """Return the values for ``-f csv``, ``shell`` and ``value``: nested ones as JSON."""
    return [scalar(value) for value in values]


def scalar(value: object) -> object:
    """Return the value, as JSON if it is nested."""
    if isinstance(value, FormattableColumn):
        value = value.machine_readable()
    is_nested = isinstance(value, dict | list | tuple)
    return json.dumps(value, ensure_ascii=False) if is_nested else value
