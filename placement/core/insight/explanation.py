"""Why a request is satisfied where it is, and nowhere else.

The search decides by masks and by problems; an explanation counts what the same
masks and problems remove, in the order in which they are applied. What fails two
requirements is counted at the first, so that the numbers add up. Nothing here
runs unless an explanation is asked for.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from placement.core.insight.requirements import Requirement, without_one
from placement.core.request import CandidateRequest
from placement.core.search.anchors import anchors_by_kind, narrow_all, possible_anchors, reach
from placement.core.search.deadline import Budget
from placement.core.search.filters import Served, Step, anchor_steps, one_of, steps
from placement.core.search.plan import Need, Plan
from placement.core.search.problem import Problem
from placement.core.search.problem_builder import ProblemBuilder
from placement.core.search.search import check_names
from placement.core.search.solver import solve
from placement.core.snapshot.rows import Mask
from placement.core.snapshot.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Loss:
    """How many that had met everything before did not meet this."""

    requirement: Requirement
    count: int


@dataclass(frozen=True, slots=True)
class SlotTally:
    """The providers that one group, or one class of the unsuffixed group, lost.

    ``considered`` less all losses is ``remaining``. ``largest`` has for each
    class the largest amount that would have fitted a provider that meets all
    else, 0 if none does.
    """

    suffix: str
    considered: int
    losses: tuple[Loss, ...]
    remaining: int
    largest: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Relaxation:
    """How many roots would have a candidate if one requirement were dropped."""

    requirement: Requirement
    roots: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """What became of all roots (``roots`` less all losses is ``remaining``) and providers.

    ``remaining`` roots have a candidate around them. ``relaxations`` are those
    that would let more roots fit, the most first; empty unless asked for.
    """

    slots: tuple[SlotTally, ...]
    roots: int
    losses: tuple[Loss, ...]
    remaining: int
    relaxations: tuple[Relaxation, ...] = ()


def explain(
    snapshot: Snapshot,
    request: CandidateRequest,
    *,
    now: Callable[[], float],
    budget_seconds: float = 5.0,
    relaxed: bool = False,
) -> Explanation:
    """Return what each requirement removes; with ``relaxed`` also what dropping one would do.

    ``request.limit`` is of no matter. Costs a few searches over all roots, with
    ``relaxed`` a few for each requirement.

    Raises: UnknownTrait, UnknownResourceClass; SearchDeadlineExceeded.
    """
    check_names(snapshot, request)
    budget = Budget(budget_seconds, now)
    plan = Plan.of(request)
    served = narrow_all(snapshot, plan)
    losses = tuple(_root_losses(snapshot, plan, served, budget))
    roots = int(snapshot.forest.is_root.sum())
    remaining = roots - sum(loss.count for loss in losses)
    return Explanation(
        slots=tuple(_slot_tallies(snapshot, plan, budget)),
        roots=roots,
        losses=losses,
        remaining=remaining,
        relaxations=tuple(_relaxations(snapshot, request, remaining, budget)) if relaxed else (),
    )


def summary(explanation: Explanation) -> str:
    """Return an explanation in one line, for a log.

    >>> summary(Explanation((), 3, (Loss(Requirement("root_required", "CUSTOM_A"), 2),), 1))
    '1 of 3 roots fit; root_required=CUSTOM_A: -2'
    """
    parts = [f"{explanation.remaining} of {explanation.roots} roots fit"]
    parts += [_counted(loss) for loss in explanation.losses if loss.count]
    for tally in explanation.slots:
        lost = [_counted(loss) for loss in tally.losses if loss.count]
        largest = ",".join(f"{name}:{amount}" for name, amount in tally.largest.items())
        parts.append(
            f"group '{tally.suffix}': {tally.remaining} of {tally.considered} providers"
            f" ({'; '.join(lost) or 'none lost'}; largest that fits {largest or '-'})"
        )
    return "; ".join(parts)


def _counted(loss: Loss) -> str:
    return f"{loss.requirement}: -{loss.count}"


# --- providers -----------------------------------------------------------------


def _slot_tallies(snapshot: Snapshot, plan: Plan, budget: Budget) -> Iterator[SlotTally]:
    everybody = snapshot.forest.root >= 0
    for slot in plan.slots:
        budget.look()
        need = plan.needs[slot.need]
        taken = list(steps(snapshot, need))
        losses, rest = _losses(everybody, taken, slot.suffix)
        yield SlotTally(
            suffix=slot.suffix,
            considered=int(everybody.sum()),
            losses=tuple(losses),
            remaining=int(rest.sum()),
            largest=_largest(snapshot, need, taken),
        )


def _losses(considered: Mask, taken: Sequence[Step], suffix: str) -> tuple[list[Loss], Mask]:
    """Return what each step removes of what is left before it, and what is left at last."""
    losses = []
    for step in taken:
        after = considered & step.mask
        if step.parameter:
            count = int(considered.sum()) - int(after.sum())
            losses.append(Loss(Requirement(step.parameter + suffix, step.value), count))
        considered = after
    return losses, considered


def _largest(snapshot: Snapshot, need: Need, taken: Sequence[Step]) -> dict[str, int]:
    """Return the largest amounts; the first steps are those of the resources, in order."""
    largest = {}
    for number, (name, _) in enumerate(need.resources):
        others = [step.mask for step in (*taken[:number], *taken[number + 1 :])]
        able = reduce(np.logical_and, others, snapshot.forest.root >= 0)
        column = snapshot.columns.get(name)
        largest[name] = column.largest(able) if column else 0
    return largest


# --- roots ---------------------------------------------------------------------


def _root_losses(
    snapshot: Snapshot, plan: Plan, served: Sequence[Served], budget: Budget
) -> Iterator[Loss]:
    """Yield what the roots' own conditions remove, then each slot, then the conditions between."""
    taken = [
        *anchor_steps(snapshot, plan),
        *(
            Step(*_group(plan, slot.need, slot.suffix), reach(snapshot, served[slot.need]))
            for slot in plan.slots
        ),
    ]
    losses, possible = _losses(snapshot.forest.is_root, taken, "")
    yield from losses
    before = int(possible.sum())
    for requirement, looser in _stages(plan):
        after = _solvable(snapshot, looser, served, possible, budget)
        yield Loss(requirement, before - after)
        before = after


def _group(plan: Plan, need: int, suffix: str) -> tuple[str, str]:
    """Name a slot that has no provider: by its resources, or else by its suffix."""
    resources = plan.needs[need].resources
    value = ",".join(f"{name}:{amount}" for name, amount in resources)
    return (f"resources{suffix}", value) if value else (f"group {suffix}", "")


def _stages(plan: Plan) -> Iterator[tuple[Requirement, Plan]]:
    """Yield the plan with one more condition between slots each time, in the end with all."""
    request = replace(plan.request, nested=True)
    stage = replace(plan, request=request, isolated=(), subtrees=(), either=(), contended={})
    if plan.contended:
        stage = replace(stage, contended=plan.contended)
        yield Requirement("resources of all groups together", ""), stage
    if plan.either:
        stage = replace(stage, either=plan.either)
        yield Requirement("required", "&required=".join(map(one_of, plan.either))), stage
    if plan.isolated:
        stage = replace(stage, isolated=plan.isolated)
        yield Requirement("group_policy", "isolate"), stage
    for number, slots in enumerate(plan.subtrees, start=1):
        stage = replace(stage, subtrees=plan.subtrees[:number])
        value = ",".join(sorted(plan.slots[slot].suffix for slot in slots))
        yield Requirement("same_subtree", value), stage
    if not plan.request.nested:
        yield Requirement("one provider of each tree", ""), plan


def _solvable(
    snapshot: Snapshot, plan: Plan, served: Sequence[Served], possible: Mask, budget: Budget
) -> int:
    """Return around how many of the possible roots the plan has a solution."""
    anchors = anchors_by_kind(snapshot, plan, served, possible)
    surroundings = ProblemBuilder(snapshot, plan, served)
    known: dict[Problem, bool] = {}
    count = len(anchors.lone)
    for anchor in (*anchors.mixed.tolist(), *anchors.shared.tolist()):
        budget.spend()
        problem = surroundings.problem(anchor)
        if problem not in known:
            known[problem] = next(solve(plan, problem, budget), None) is not None
        count += known[problem]
    return count


# --- what if -------------------------------------------------------------------


def _relaxations(
    snapshot: Snapshot, request: CandidateRequest, remaining: int, budget: Budget
) -> list[Relaxation]:
    found = [
        Relaxation(requirement, _roots_that_fit(snapshot, relaxed, budget))
        for requirement, relaxed in without_one(request)
    ]
    useful = [relaxation for relaxation in found if relaxation.roots > remaining]
    return sorted(useful, key=lambda relaxation: -relaxation.roots)


def _roots_that_fit(snapshot: Snapshot, request: CandidateRequest, budget: Budget) -> int:
    budget.look()
    plan = Plan.of(request)
    served = narrow_all(snapshot, plan)
    possible = possible_anchors(snapshot, plan, served)
    return _solvable(snapshot, plan, served, possible, budget)
