"""Output of commands: every encoding, a reader that ends early, a full disk, and progress.

The programs start here, where Ctrl-C ends their imports without a traceback.

Python writes what it has buffered when it exits, after the command has returned, and reports a
failure with a traceback. So commands write it while their errors are still handled.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from types import FrameType
from typing import Final

CLOSED: Final = 128 + signal.SIGPIPE
"""The exit code if the reader of the output, such as ``head``, ended before its end."""

INTERRUPTED: Final = 128 + signal.SIGINT
"""The exit code after Ctrl-C."""

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


def stop_by(handler: Callable[[int, FrameType | None], None]) -> None:
    """Call the handler on SIGTERM and Ctrl-C, unless they are ignored."""
    for number in (signal.SIGTERM, signal.SIGINT):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def end(_number: int, _frame: FrameType | None) -> None:
    """End this process at once, with exit status 0."""
    os._exit(0)


def api() -> int:
    """Run ``placement-api``; SIGTERM and Ctrl-C end it with status 0, also during imports."""
    stop_by(end)
    main: Callable[[], int] = import_module("placement.cmd.api").main
    return main()


manage = partial(_start, "placement.cmd.manage")
status = partial(_start, "placement.cmd.status")
compare = partial(_start, "placement_compare.command")
