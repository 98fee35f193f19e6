"""The plan of a drain: a move of each consumer, or why there is none."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from placement.core.search.deadline import Deadline
from placement.exception import SearchDeadlineExceeded
from placement_insight.plan.bounds import Bounds
from placement_insight.plan.model import Holder, Move, Needs, Scene, Verdict
from placement_insight.plan.placing import Placement
from placement_insight.plan.shortage import Excluded, Shortage, shortage_of

TIME_LIMIT: Final = "the time limit ([placement]candidate_search_budget_seconds)"
_NOT_REACHED: Final = Excluded(f"not determined: {TIME_LIMIT}")
UNPROVED: Final = "the largest first leaves some out, and no bound proves that they do not fit"
_EXCLUDED: Final = Excluded("it fits on no host that the other members of its server groups allow")
_BOUND: Final = Excluded("Nova moves no member of an affinity group alone")
_RELEASED: Final = ", counting what all consumers that move release"
_FULL: Final = Excluded("no host that its server groups allow has everything free")


@dataclass(frozen=True, slots=True)
class Stuck:
    """A consumer without a move; ``is_proved`` if it fits nowhere, whatever else moves.

    The shortage is before any moves, or else after them.
    """

    holder: Holder
    needs: Needs
    shortage: Shortage
    text: str
    is_proved: bool = False
    is_after_moves: bool = False


@dataclass(frozen=True, slots=True)
class Drain:
    """The result. ``reasons`` prove that not all fit, or say why this is not determined."""

    verdict: Verdict
    moves: Sequence[Move]
    stuck: Sequence[Stuck] = ()
    reasons: Sequence[str] = field(default_factory=tuple)
    is_complete: bool = True


def drain(scene: Scene, deadline: Deadline) -> Drain:
    """Return the moves of all consumers of a scene, or of as many as were found.

    Cost: a few array operations for each different needs, and a few microseconds for each move.
    """
    placement = Placement(scene, deadline)
    if not placement.stuck:
        return Drain("fits", placement.moves)
    bounds = Bounds(scene, deadline)
    try:
        deadline.check()  # those that were not reached may fit
        stuck = list(_stuck(scene, placement, bounds))
        proofs = [each.text for each in stuck if each.is_proved] or list(bounds.sentences())
        if proofs:
            return Drain("does_not_fit", placement.moves, stuck, tuple(dict.fromkeys(proofs)))
        return Drain("undetermined", placement.moves, stuck, (UNPROVED,))
    except SearchDeadlineExceeded:
        stuck = [
            Stuck(holder, demand.needs, _NOT_REACHED, _NOT_REACHED.text)
            for demand in placement.stuck
            for holder in demand.holders
        ]
        return Drain(
            "undetermined", placement.moves, stuck, (_NOT_REACHED.text,), is_complete=False
        )


def _stuck(scene: Scene, placement: Placement, bounds: Bounds) -> Sequence[Stuck]:
    """Return the consumers that were not placed, with what they lack.

    Raises: SearchDeadlineExceeded.
    """
    stuck = []
    for demand in placement.stuck:
        is_proved = not bounds.allowed(demand).any()
        server = demand.holders[0].uuid
        if server in scene.groups.bound:
            shortage: Shortage = _BOUND
        elif not bounds.fitting(demand.needs).any():
            shortage = shortage_of(scene, bounds.snapshot, demand.needs)
        elif server in scene.groups.of_server:
            shortage = _EXCLUDED if is_proved else _FULL
        else:
            shortage = shortage_of(scene, placement.after, demand.needs)
        text = f"{shortage.text} after the moves"
        if is_proved:
            text = f"{shortage.text}{_released(scene, demand.needs, shortage)}"
        stuck += [
            Stuck(holder, demand.needs, shortage, text, is_proved, not is_proved)
            for holder in demand.holders
        ]
    return stuck


def _released(scene: Scene, needs: Needs, shortage: Shortage) -> str:
    """Return the words for a shortage in which amounts count as free that are in use now."""
    is_now = shortage == shortage_of(scene, scene.remaining, needs)
    return "" if is_now or isinstance(shortage, Excluded) else _RELEASED
