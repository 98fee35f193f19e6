"""The entry points of the installed programs.

The modules of a command take a second to import. Ctrl-C during this second is reported as it is
later, without a traceback.
"""

import importlib
import sys
from typing import Final

INTERRUPTED: Final = 130
"""The exit code after Ctrl-C."""


def manage() -> int:
    """Run ``placement-manage``."""
    return _run("placement-manage", "placement.cmd.manage")


def status() -> int:
    """Run ``placement-status``."""
    return _run("placement-status", "placement.cmd.status")


def compare() -> int:
    """Run ``placement-compare``."""
    return _run("placement-compare", "placement.cmd.compare")


def _run(program: str, module: str) -> int:
    try:
        code: int = importlib.import_module(module).main()
    except KeyboardInterrupt:
        print(f"{program}: interrupted", file=sys.stderr)
        return INTERRUPTED
    return code
