"""The change that an action makes, and the error if its plan is out of date."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from placement.core.insight.undo import Drift, Scope


class ChangedSince(Exception):  # noqa: N818
    """The rows differ from those in the plan; the message states the current ones."""


@dataclass(frozen=True, slots=True)
class Change:
    """What an action touches: the rows to record, and what to publish.

    ``perform`` makes the change; ``drift`` is that of the counter that it sets.
    """

    scope: Scope
    perform: Callable[[], object]
    changed: Collection[int] = ()
    bumped: Collection[int] = ()
    removed: Mapping[int, str] | None = None
    names: bool = False
    drift: Drift | None = None
