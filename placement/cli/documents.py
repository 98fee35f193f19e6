"""Parts of the documents of ``/insight`` as cells: text for people, data for formatters."""

from collections.abc import Iterable, Mapping
from typing import Any

from cliff.columns import FormattableColumn

from placement.core.printable_text import printable
from placement.render.explanation_text import closest_line, funnel_lines, remedy_line

RED, GREEN, PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[0m"


class Text(FormattableColumn[Any]):
    """A text of others: printable in a table, unchanged in the other formats."""

    def human_readable(self) -> str:
        """Return the text with escaped control characters."""
        return printable(self._value)


def cells(row: Iterable[Any]) -> list[Any]:
    """Return the cells of a row; texts that could control a terminal are a ``Text``."""
    return [
        Text(cell) if isinstance(cell, str) and not cell.isprintable() else cell for cell in row
    ]


class Funnel(FormattableColumn[Any]):
    """The rows of the funnel, a line each."""

    def human_readable(self) -> str:
        """Return a line for each requirement."""
        return "\n".join(line.strip() for line in funnel_lines(self._value))


class NearMisses(FormattableColumn[Any]):
    """The roots that come closest, a line each."""

    def human_readable(self) -> str:
        """Return a line for each root."""
        return "\n".join(map(closest_line, self._value))


class Remedies(FormattableColumn[Any]):
    """What would help, a line each."""

    def human_readable(self) -> str:
        """Return a line for each change."""
        return "\n".join(map(remedy_line, self._value))


class Lines(FormattableColumn[Any]):
    """A list, an item a line."""

    def human_readable(self) -> str:
        """Return the items, a line each."""
        return "\n".join(map(printable, self._value))


class Fits(FormattableColumn[Any]):
    """The number of roots that fit, in color on a terminal."""

    def __init__(self, value: int | None, *, colored: bool) -> None:
        super().__init__(value)
        self._colored = colored

    def human_readable(self) -> str:
        """Return the number."""
        text = "not determined" if self._value is None else str(self._value)
        color = GREEN if self._value else RED
        return f"{color}{text}{PLAIN}" if self._colored else text


class Facts(FormattableColumn[Any]):
    """Names with values."""

    def human_readable(self) -> str:
        """Return a line for each."""
        return "\n".join(printable(f"{name}: {value}") for name, value in self._value.items())


def explanation(document: Mapping[str, Any], *, colored: bool) -> dict[str, Any]:
    """Return the fields of an explanation, the answer first."""
    return {
        "fits": Fits(document["fits"], colored=colored),
        "roots": document["roots"],
        "funnel": Funnel(document["funnel"]),
        "near_misses": NearMisses(document["near_misses"]),
        "remedies": Remedies(document["remedies"]),
        "undetermined": Lines(document["undetermined"]),
        "query": document["query"],
        "microversion": document["microversion"],
        "at": document["at"],
    }


def recorded(document: Mapping[str, Any], *, colored: bool) -> dict[str, Any]:
    """Return the fields of a recorded request: its reason, then its explanation."""
    names = ("kind", "reason", "request_id", "global_request_id", "project_id", "user_id", "at")
    fields = {name: document[name] for name in names}
    if document["kind"] == "no_candidates" and "funnel" in document["explanation"]:
        return {**explanation(document["explanation"], colored=colored), **fields}
    claim = {"claim": Facts(document["claim"])} if "claim" in document else {}
    return {**fields, "explanation": Facts(document["explanation"]), **claim}
