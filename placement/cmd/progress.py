"""Progress of a long-running command, shown on the terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_ERASE_LINE = "\r\x1b[K"


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
