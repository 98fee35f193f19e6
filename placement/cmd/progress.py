"""What a command shows on a terminal while it is at work for long."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_ERASE_LINE = "\r\x1b[K"


@contextmanager
def shown() -> Iterator[Callable[[str], object]]:
    """A function that shows what the command is at, in one line that is erased at the end.

    Where standard error is no terminal, nothing is shown.
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
