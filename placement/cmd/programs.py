"""The entry points of the installed programs.

The modules of a command take a second to import. Ctrl-C during the import is reported without a
traceback, like Ctrl-C during the command.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from placement.terminal import INTERRUPTED

# ruff: noqa: PLC0415  imports within the block that reports Ctrl-C


def manage() -> int:
    """Run ``placement-manage``."""
    with _interruptible("placement-manage"):
        from placement.cmd import manage

        return manage.main()


def status() -> int:
    """Run ``placement-status``."""
    with _interruptible("placement-status"):
        from placement.cmd import status

        return status.main()


@contextmanager
def _interruptible(program: str) -> Iterator[None]:
    """Report Ctrl-C in a sentence, and exit."""
    try:
        yield
    except KeyboardInterrupt:
        print(f"{program}: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
