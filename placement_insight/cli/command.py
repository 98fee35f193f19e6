"""What the commands have in common: options of a query, columns, and output that is written.

``WrittenOutput`` writes the output while errors are still handled.
"""

import argparse
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from textwrap import fill, indent
from typing import Any, Final, cast

from osc_lib.command.command import Lister
from osc_lib.exceptions import CommandError

from placement import terminal
from placement.core.text import printable
from placement.exception import PlacementException
from placement_insight.cli import tables
from placement_insight.fitted_tables import Rows, broken_columns, fitted, fitted_lines, width_of

Table = tuple[Sequence[str], Iterable[object]]
"""The columns of the output, and its rows; or the names of fields, and their values."""

_UNBROKEN: Final = 1_000_000  # cliff would break UUIDs

Options = Mapping[str, tuple[str, str, str]]
"""The option, the metavar and the help for each parameter of a query."""


def add_options(parser: argparse.ArgumentParser, options: Options, **settings: Any) -> None:
    """Add options that are parameters of a query, all with these settings of argparse."""
    for name, (option, metavar, text) in options.items():
        parser.add_argument(option, dest=name, metavar=metavar, help=text, **settings)


def given(arguments: argparse.Namespace, names: Iterable[str]) -> dict[str, str]:
    """Return the query parameters with these names for the options that are set."""
    values = {name: getattr(arguments, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def described(docstring: str, width: int) -> str:
    """Return a description without markup; examples, which begin with $, have their lines."""
    paragraphs = docstring.replace("``", "").split("\n\n")
    return "\n\n".join(
        indent(text, "  ") if text.startswith("$") else fill(text, width) for text in paragraphs
    )


class Parser:
    """A parser that ends a command with wrong arguments with 1, as the programs; argparse with 2.

    It takes ``--sort -VCPU`` as ``--sort=-VCPU``; argparse takes it as another option.
    """

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._parser = parser

    def __getattr__(self, name: str) -> Any:
        return getattr(self._parser, name)

    def parse_args(self, words: Sequence[str]) -> argparse.Namespace:
        """Return the values of the options."""
        words = list(words)
        if "--sort" in words[:-1]:
            at = words.index("--sort")
            words[at : at + 2] = ["=".join(words[at : at + 2])]
        try:
            return self._parser.parse_args(words)
        except SystemExit as end:
            raise SystemExit(1 if end.code else 0) from None


class WrittenOutput:
    """Mixed into a command: it fails if its output cannot be written.

    Otherwise Python would report the error with a traceback when ``openstack`` exits.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        """Return the parser of the options."""
        parser: argparse.ArgumentParser = super().get_parser(prog_name)  # type: ignore[misc]
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        width = shutil.get_terminal_size().columns - 2  # as argparse
        parser.description = described(parser.description or "", width)
        self.add_arguments(parser)
        return cast("argparse.ArgumentParser", Parser(parser))

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of the command."""

    important: Sequence[str] = ()
    """The most important columns of a table first; the others follow in their order."""

    exit_status = 0
    """The exit status after the output is written, such as 3 if an audit found errors."""

    nothing: Sequence[str] = ()
    """The lines below a table without rows."""

    has_lines = False
    """Whether a cell of a list may have several lines."""

    def note(self, *lines: str, is_command: bool = False) -> None:
        """Write lines beside the output, to standard error; sentences fit the terminal."""
        stderr = self.app.stderr  # type: ignore[attr-defined]
        for line in lines:
            stderr.write(f"{line if is_command else fitted_lines(line, stderr)}\n")

    def produce_output(
        self, parsed_args: argparse.Namespace, column_names: Sequence[str], data: Any
    ) -> int:
        """Write the output: a table that fits, or nested values as JSON.  Returns: 0."""
        is_list, notes = isinstance(self, Lister), list[str]()
        if parsed_args.formatter in {"csv", "shell", "value"}:
            data = map(tables.with_json, data) if is_list else tables.with_json(data)
        elif parsed_args.formatter == "table":
            if is_list:
                column_names, data, notes = self._list(parsed_args, column_names, data)
            else:
                data = tables.wrapped_values(column_names, data, self._width(parsed_args))
            parsed_args = argparse.Namespace(**{**vars(parsed_args), "max_width": _UNBROKEN})
        produce: Callable[..., int] = super().produce_output  # type: ignore[misc]
        status = produce(parsed_args, column_names, data)
        sys.stdout.flush()  # before the notes
        self.note(*notes)
        return status

    def _list(
        self,
        arguments: argparse.Namespace,
        columns: Sequence[str],
        data: Iterable[Sequence[object]],
    ) -> tuple[Sequence[str], Rows, list[str]]:
        """Return the columns and rows of a table, and what to write below it."""
        rows = list(map(tables.texts if self.has_lines else tables.in_one_line, data))
        if chosen := [name for name in columns if name in arguments.columns]:
            return columns, self._with_chosen(arguments, columns, rows, chosen), []
        important = (*arguments.sort_columns, *self.important)
        table = fitted(columns, rows, self._width(arguments), important)
        return table.columns, table.rows, list(table.notes() if rows else self.nothing)

    def _with_chosen(
        self,
        arguments: argparse.Namespace,
        columns: Sequence[str],
        rows: Rows,
        chosen: Sequence[str],
    ) -> Rows:
        """Return the rows, with the texts of the chosen columns in lines that fit."""
        if not (self.app.stdout.isatty() or arguments.max_width > 0 or arguments.fit_width):  # type: ignore[attr-defined]
            return rows
        places = [columns.index(name) for name in chosen]
        picked = [[row[at] for at in places] for row in rows]
        shown = broken_columns(chosen, picked, self._width(arguments))
        return [
            [dict(zip(places, cells, strict=True)).get(at, cell) for at, cell in enumerate(row)]
            for row, cells in zip(rows, shown, strict=True)
        ]

    def _width(self, arguments: argparse.Namespace) -> int:
        if arguments.max_width > 0:
            return int(arguments.max_width)
        if arguments.fit_width:
            return shutil.get_terminal_size().columns
        return width_of(self.app.stdout)  # type: ignore[attr-defined]

    def run(self, parsed_args: argparse.Namespace) -> int:
        """Run the command; return its exit code.

        Raises: BrokenPipeError, for which cliff exits with 141; CommandError.
        """
        run: Callable[[argparse.Namespace], int] = super().run  # type: ignore[misc]
        try:
            return terminal.written(lambda: run(parsed_args)) or self.exit_status
        except PlacementException as error:
            raise CommandError(printable(str(error))) from None
        except BrokenPipeError:
            terminal.discard_unwritten()
            raise
        except OSError as error:
            terminal.discard_unwritten()
            raise CommandError(terminal.describe(error)) from error


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
