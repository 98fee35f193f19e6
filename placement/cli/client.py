"""Requests of ``openstack`` commands to the routes under ``/insight``, and their output.

``get`` sends a request with the session of osc-placement. ``WrittenOutput`` writes the output
while errors are still handled. The cells of a table are text in tables, and data in the other
formats.
"""

import argparse
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from textwrap import dedent
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode

from cliff.columns import FormattableColumn
from keystoneauth1.exceptions import ClientException, ConnectionError  # noqa: A004
from osc_lib import exceptions
from osc_lib.exceptions import CommandError
from osc_placement import version

from placement import terminal
from placement.core.text import printable
from placement.exception import PlacementException
from placement.insight.explanation.text import closest_line, funnel_lines, remedy_line, unmet_lines
from placement.insight.names import Names, legend, named
from placement.insight.recording.text import SUPERSEDED, recorded_line

_MISSING = ("", exceptions.NotFound.message, "The resource could not be found.")
"""The messages for an unknown path: of this service, of osc-lib, and of upstream."""

_NO_NAMES: Names = MappingProxyType({})

Table = tuple[Sequence[str], Iterable[Any]]
"""The columns of the output, and its rows; or the names of fields, and their values."""

Options = Mapping[str, tuple[str, str, str]]
"""The option, the metavar and the help for each parameter of a query."""


def get(app: Any, url: str) -> Any:
    """Return the document at a URL.

    A query is read at ``--os-placement-api-version`` if one is given, else at the newest: the
    version that the client negotiates is older.

    Raises: CommandError if the service does not have the route or something else responded, and
    the errors of osc-placement for error responses.
    """
    requested_version = app.api_version["placement"]
    newest = requested_version in version.NEGOTIATE_VERSIONS
    try:
        client = app.client_manager.placement  # it may negotiate the version
        response = client.request("GET", url, **({"version": "latest"} if newest else {}))
        return response.json()
    except exceptions.NotFound as error:
        if error.message not in _MISSING:
            raise
        raise failure(url, error) from error
    except (ConnectionError, ValueError, LookupError, TypeError) as error:
        # Keystone's middleware, a proxy or another program responded, or nothing
        raise failure(url, _cause(error)) from error


def add_options(parser: argparse.ArgumentParser, options: Options) -> None:
    """Add options that are parameters of a query."""
    for name, (option, metavar, text) in options.items():
        parser.add_argument(option, dest=name, metavar=metavar, help=text)


def given(arguments: argparse.Namespace, names: Iterable[str]) -> dict[str, Any]:
    """Return the query parameters with these names for the options that are set."""
    values = {name: getattr(arguments, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def consumers(app: Any, query: Mapping[str, object]) -> Iterator[dict[str, Any]]:
    """Yield all consumers that a query describes, page by page.  Raises: see ``get``."""
    marker: Mapping[str, str] = {}
    while True:
        document = get(app, f"/insight/consumers?{urlencode({**query, **marker})}")
        yield from document["consumers"]
        if not document["next"]:
            return
        marker = {"marker": document["next"]}


def _cause(error: BaseException) -> BaseException:
    """Return the HTTP error that was handled when the error occurred."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ClientException):
        cause = cause.__context__
    return cause or error


def failure(url: str, cause: object) -> CommandError:
    """Return the error of a request to which the service did not respond with a document."""
    return CommandError(
        f"GET {url.partition('?')[0]} failed: {printable(str(cause)).strip().rstrip('.')}. Check "
        "that the service runs and is this implementation of Placement, and that the endpoint has "
        "the right path: --os-endpoint, or the catalog."
    )


class WrittenOutput:
    """Mixed into a command: it fails if its output cannot be written.

    Otherwise Python would report the error with a traceback when ``openstack`` exits.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the options."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)  # type: ignore[misc]
        self.add_arguments(parser)
        return parser

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""

    def run(self, parsed_args: Any) -> int:
        """Run the command; return its exit code.

        Raises: BrokenPipeError, for which cliff exits with 141; CommandError.
        """
        run: Callable[[Any], int] = super().run  # type: ignore[misc]
        try:
            return terminal.written(lambda: run(parsed_args))
        except PlacementException as error:
            raise CommandError(printable(str(error))) from None
        except BrokenPipeError:
            terminal.discard_unwritten()
            raise
        except OSError as error:
            terminal.discard_unwritten()
            raise CommandError(terminal.describe(error)) from error


class Shown(FormattableColumn[Any]):
    """A value with its text for a table; it is unchanged in the other formats."""

    def __init__(self, value: Any, text: Callable[[Any], str]) -> None:
        super().__init__(value)
        self._text = text

    def human_readable(self) -> str:
        """Return the text."""
        return self._text(self.machine_readable())


class Complete(Shown):
    """A value whose text has names already, or must not have any."""


def query_cell(text: str, names: Names) -> Complete:
    """Return a query, which people copy: in a table, names of its UUIDs are below it."""
    return Complete(text, lambda text: "\n".join((printable(text), *legend(text, names))))


def cells(row: Iterable[Any], names: Names = _NO_NAMES) -> list[Any]:
    """Return the cells of a row.

    In a table, control characters in texts are escaped, and UUIDs follow their names.
    """
    return [_cell(cell, names) for cell in row]


def _cell(cell: Any, names: Names) -> Any:
    if isinstance(cell, str):
        return Shown(cell, lambda text: named(printable(text), names))
    if isinstance(cell, Complete):
        return cell
    if isinstance(cell, FormattableColumn):
        text = cell.human_readable
        return Shown(cell.machine_readable(), lambda _: named(text(), names))
    return cell


def wants_names(arguments: argparse.Namespace, columns: Collection[str]) -> bool:
    """Return whether the output has names: not in text for scripts without one of the columns."""
    is_text = arguments.formatter in {"csv", "value"}
    return not is_text or not set(columns).isdisjoint(arguments.columns)


def columns_with_names(
    arguments: argparse.Namespace, columns: Sequence[str], of_names: Sequence[str]
) -> tuple[str, ...]:
    """Return the columns of the output, with the columns of names where they are separate.

    They are separate in JSON and YAML, and where the option ``--column`` selects them. Tables have
    the names beside the UUIDs.
    """
    is_data = arguments.formatter in {"json", "yaml"}
    return (*columns, *(name for name in of_names if is_data or name in arguments.columns))


def is_table(arguments: argparse.Namespace) -> bool:
    """Return whether the output is a table with columns that the command chooses."""
    return arguments.formatter == "table" and not arguments.columns


def by_line(text: Callable[[Any], str]) -> Callable[[Iterable[Any]], str]:
    """Return a function from values to their texts, one per line."""
    return lambda values: "\n".join(map(text, values))


def facts(values: Mapping[str, Any]) -> Shown:
    """Return names with values; in a table they are one per line."""
    write = by_line(lambda name: printable(f"{name}: {values[name]}"))
    return Shown(values, write)


def aligned(values: Mapping[str, int]) -> Shown:
    """Return numbers by name; in a table they are one per line, in columns."""
    return Shown(values, _aligned)


def _aligned(values: Mapping[str, int]) -> str:
    width = max((len(name) for name in values), default=0) + 1
    digits = max((len(str(value)) for value in values.values()), default=0)
    return "\n".join(
        f"{printable(name) + ':':<{width}} {value:>{digits}}" for name, value in values.items()
    )


def _funnel(names: Names, rows: Sequence[Mapping[str, Any]]) -> str:
    with_names = [
        {**row, "text": named(row["text"], names), "note": named(row["note"], names)}
        for row in rows
    ]
    return dedent("\n".join(funnel_lines(with_names)))


def _fits(number: int | None) -> str:
    return "not determined" if number is None else str(number)


def explanation(
    document: Mapping[str, Any], names: Names = _NO_NAMES, without_remedies: str = ""
) -> dict[str, Any]:
    """Return the fields of an explanation, the result first.

    ``without_remedies`` says why it has no remedies, empty if there are none.
    """
    if "root" in document:
        fields = {
            "host": document["root"]["name"],
            "fits": document["root"]["fits"],
            "unmet": Shown(document["near_misses"], by_line(unmet_lines)),
        }
    else:
        fields = {
            "fits": Shown(document["fits"], _fits),
            "roots": document["roots"],
            "funnel": Shown(document["funnel"], partial(_funnel, names)),
            "near_misses": Shown(document["near_misses"], by_line(closest_line)),
        }
    lines = by_line(remedy_line)
    return {
        **fields,
        "remedies": Shown(
            document["remedies"], lambda remedies: without_remedies or lines(remedies)
        ),
        "undetermined": Shown(document["undetermined"], by_line(printable)),
        "query": query_cell(document["query"], names),
        "microversion": document["microversion"],
        "at": document["at"],
    }


def recorded(document: Mapping[str, Any], names: Names = _NO_NAMES) -> dict[str, Any]:
    """Return the fields of a recorded request: its reason, then its explanation."""
    columns = ("kind", "reason", "request_id", "global_request_id", "project_id", "user_id", "at")
    equal = ("count", "first_at", "last_at", "superseded")
    fields = {name: document[name] for name in (*columns, *equal)}
    if document["is_superseded"]:
        fields["superseded"] = Shown(document["superseded"], lambda _: SUPERSEDED)
    if document["kind"] == "no_candidates" and "funnel" in document["explanation"]:
        not_recorded = "not recorded: explain the query with --remedies"
        return {**explanation(document["explanation"], names, not_recorded), **fields}
    if "claim" in document:
        subject = {"claim": facts(document["claim"] or {})}
    else:
        subject = {"query": query_cell(document["query"] or "", names)}
    return {**fields, "explanation": Shown(document["explanation"], _refusal), **subject}


def records(documents: Sequence[Mapping[str, Any]], names: Names) -> Shown:
    """Return the records after the decisive one, in a table a line each."""
    lines = by_line(lambda recorded: named(printable(recorded_line(recorded)), names))
    return Shown(documents, lines)


def _refusal(explanation: Mapping[str, Any]) -> str:
    """Return the sentence of a refusal, or its facts if it was too long to record."""
    return printable(explanation.get("sentence", "")) or facts(explanation).human_readable()
