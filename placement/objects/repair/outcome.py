"""The outcome of an action, or of its undo."""

from dataclasses import dataclass
from typing import Final

APPLIED: Final = "applied"


ALREADY: Final = "already"


SKIPPED: Final = "skipped"


@dataclass(frozen=True, slots=True)
class Outcome:
    """``applied``, ``already`` (by an earlier run) or ``skipped``, and why."""

    status: str
    reason: str = ""
