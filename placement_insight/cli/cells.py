"""The cells of a table, which are text in tables, and data in the other formats."""

from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from cliff.columns import FormattableColumn

from placement.core.text import NO_NAMES, Names, printable
from placement_insight.cli.tables import scalar
from placement_insight.names import legend, named

T = TypeVar("T")


# cliff of Debian 12 has no parameter of FormattableColumn
class Shown(FormattableColumn, Generic[T]):  # type: ignore[type-arg]
    """A value with its text for a table; it is unchanged in the other formats."""

    def __init__(self, value: T, text: Callable[[T], str]) -> None:
        super().__init__(value)
        self._text = text

    def human_readable(self) -> str:
        """Return the text."""
        return self._text(self.machine_readable())


class Complete(Shown[T]):
    """A value whose text has names already, or must not have any."""


def query_cell(text: str, names: Names) -> Complete[str]:
    """Return a query, which people copy: in a table, names of its UUIDs are below it."""
    return Complete(text, lambda text: "\n".join((printable(text), *legend(text, names))))


def cells(row: Iterable[object], names: Names = NO_NAMES) -> list[object]:
    """Return the cells of a row.

    In a table, control characters in texts are escaped, and UUIDs follow their names.
    """
    return [_cell(cell, names) for cell in row]


def _cell(cell: object, names: Names) -> object:
    if isinstance(cell, str):
        return Shown(cell, lambda text: named(printable(text), names))
    if isinstance(cell, Complete):
        return cell
    if isinstance(cell, FormattableColumn):
        text = cell.human_readable
        return Shown(cell.machine_readable(), lambda _: named(text(), names))
    return cell


def by_line(text: Callable[[T], str]) -> Callable[[Iterable[T]], str]:
    """Return a function from values to their texts, one per line."""
    return lambda values: "\n".join(map(text, values))


def facts(values: Mapping[str, object]) -> Shown[Mapping[str, object]]:
    """Return names with values; in a table they are one per line."""
    lines = [printable(f"{name}: {scalar(value)}") for name, value in values.items()]
    return Shown(values, lambda _: "\n".join(lines))


def aligned(values: Mapping[str, int]) -> Shown[Mapping[str, int]]:
    """Return numbers by name; in a table they are one per line, in columns."""
    width = max((len(name) for name in values), default=0) + 1
    digits = max((len(str(value)) for value in values.values()), default=0)
    lines = [f"{printable(name) + ':':<{width}} {values[name]:>{digits}}" for name in values]
    return Shown(values, lambda _: "\n".join(lines))
