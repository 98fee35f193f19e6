"""Output of commands: tables that fit, every encoding, early readers, full disks, progress.

The programs start here, where Ctrl-C ends their imports without a traceback.

Python writes what it has buffered when it exits, after the command has returned, and reports a
failure with a traceback. So commands write it while their errors are still handled.
"""

import os
import re
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from typing import IO, Final

CLOSED: Final = 128 + signal.SIGPIPE
"""The exit code if the reader of the output, such as ``head``, ended before its end."""

INTERRUPTED: Final = 128 + signal.SIGINT
"""The exit code after Ctrl-C."""

PIPE_WIDTH: Final = 200
"""The width of a table that is not written to a terminal."""

BORDER: Final = 3
"""The width of the border of a column."""

_LONGEST_WHOLE: Final = 40  # a longer text may be shortened; a request id has 40 characters
_SHORTEST: Final = 29  # a request beside time, reason and count at 80 characters
_UUID: Final = re.compile(r"( \()?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?(1)\))")
"""A UUID, or " (UUID)" after a name."""

Rows = Sequence[Sequence[object]]

_ERASE_LINE = "\r\x1b[K"


def describe(error: OSError) -> str:
    """Return the reason of an error, beginning with its file if there is one."""
    return f"{error.filename}: {error.strerror}." if error.filename else str(error)


def accept_all_characters() -> None:
    r"""Escape characters that the encoding of the output does not have, as in ``\xe9``."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")


def written(command: Callable[[], int], failure: int = 1) -> int:
    """Return the exit code of the command after its output is written.

    Raises: BrokenPipeError, OSError, whatever the command raises.
    """
    try:
        code = command()
    except SystemExit as end:  # of argparse: 0 after --help, 2 for wrong arguments
        code = failure if end.code else 0
    sys.stdout.flush()
    return code


def discard_unwritten() -> None:
    """Discard the buffered output if it cannot be written."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):  # there is no file behind it
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())


def table_width(output: IO[str]) -> int:
    """Return the width of a table that is written to this output."""
    return shutil.get_terminal_size().columns if output.isatty() else PIPE_WIDTH


def fitted(
    columns: Sequence[str], rows: Rows, width: int, important: Sequence[str]
) -> tuple[list[str], list[list[object]]]:
    """Return the columns that fit into the width, and their cells, which are text or numbers.

    If not all columns fit, the least important are left out, and long texts end with an ellipsis.
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


@contextmanager
def progress_line() -> Iterator[Callable[[str], object]]:
    """Provide a function that shows a text in one line, which is erased at the end.

    If standard error is not a terminal, nothing is shown.
    """
    if not sys.stderr.isatty():
        yield lambda _text: None
        return
    try:
        yield _show
    finally:
        _show("")


def _show(text: str) -> None:
    sys.stderr.write(_ERASE_LINE + text)
    sys.stderr.flush()


def _start(module: str) -> int:
    """Import a module, and return the exit code of its ``main``."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is not signal.SIG_IGN:  # as in the background of a shell
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    main: Callable[[], int] = import_module(module).main
    signal.signal(signal.SIGINT, handler)
    return main()


api = partial(_start, "placement.cmd.api")
manage = partial(_start, "placement.cmd.manage")
status = partial(_start, "placement.cmd.status")
compare = partial(_start, "placement_compare.command")
