"""Random small clouds with a request, and the fewest consumers to move by brute force."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

from placement.core.capacity import free, integer_capacity
from placement.core.model import ProviderState
from placement.core.request import CandidateRequest, RequestGroup
from placement.core.requirement import Isolate
from placement_insight.tests.support.drains import (
    Allocations,
    BruteForce,
    Case,
    allocated,
    keeps,
    random_case,
    root_of,
    with_cells,
    with_groups,
)

Amounts = Mapping[tuple[int, str], int]
"""Amounts by the number of the provider and the class."""


@dataclass(frozen=True)
class RoomCase:
    """A cloud in which nothing is drained; ``wanted`` has the amounts of the request.

    They are as if a consumer had them in the tree of a root: those of the root are unsuffixed.
    """

    case: Case
    wanted: Allocations

    @property
    def request(self) -> CandidateRequest:
        states = self.case.states
        groups = []
        for at, amounts in self.wanted.items():
            is_root = states[at].provider.parent_uuid is None
            groups.append(RequestGroup("" if is_root else f"_{at}", amounts))
        return CandidateRequest(tuple(groups), (Isolate(),))


def random_room_case(rng: random.Random, *, has_groups: bool = False) -> RoomCase:
    case = random_case(rng)
    states = case.states
    roots = [at for at, state in enumerate(states) if state.provider.parent_uuid is None]
    trees = [[at for at in range(len(states)) if root_of(states, at) == root] for root in roots]
    consumers = dict(case.consumers)
    for tree in trees:
        for number in range(rng.randint(1, 5)):
            if held := allocated(rng, states, tree):
                consumers[f"consumer{tree[0]}-{number}"] = held
    held = [Counter[str]() for _ in states]
    for allocations in consumers.values():
        for at, amounts in allocations.items():
            held[at].update(amounts)
    most = rng.choice((0, 1, 2))  # what is used by others
    states = [
        replace(state, used=dict(sums + Counter({n: rng.randint(0, most) for n in sums})))
        for state, sums in zip(states, held, strict=True)
    ]
    wanted: Allocations = {}
    while not wanted:
        wanted = _lacking(rng, states, rng.choice(trees))
    case = replace(case, states=states, consumers=consumers, drained=frozenset())
    case = with_groups(rng, case) if has_groups else case
    return RoomCase(with_cells(rng, case) if rng.random() < 0.3 else case, wanted)


def _lacking(rng: random.Random, states: list[ProviderState], tree: list[int]) -> Allocations:
    """Return amounts that some providers of a tree lack, of one class; the rest is free."""
    inventories = [(at, *each) for at in tree for each in states[at].inventories.items()]
    if not inventories:
        return {}
    lacking = rng.choice(inventories)
    wanted: Allocations = {}
    for at, name, inventory in inventories:
        left = free(inventory, states[at].used.get(name, 0))
        if (at, name) == lacking[:2]:
            wanted.setdefault(at, {})[name] = left + rng.choice((1, 1, 2, 3))
        elif left and rng.random() < 0.4:
            wanted.setdefault(at, {})[name] = max(left - rng.randint(0, 2), 1)
    return wanted


class BruteRoom:
    """All sets of consumers of each root, and all plans for them."""

    def __init__(self, world: RoomCase) -> None:
        self.world = world
        self.states = world.case.states
        self.consumers = world.case.consumers
        self._options: dict[tuple[int, str], Sequence[Amounts]] = {}

    @cached_property
    def roots(self) -> Sequence[int]:
        return [n for n, state in enumerate(self.states) if state.provider.parent_uuid is None]

    def tree(self, root: int) -> frozenset[int]:
        return frozenset(n for n in range(len(self.states)) if root_of(self.states, n) == root)

    def fits(self, root: int, leaving: Sequence[str], *, is_moved: bool) -> bool:
        """Return whether the request fits on a root after these consumers left it.

        A claim that does not increase usage is accepted where usage exceeds the capacity: all that
        consumers release is free for their moves, but not for the request.
        """
        left, released = Counter(self._left), Counter[tuple[int, str]]()
        for uuid in leaving:
            released.update(_amounts(self.consumers[uuid]))
        for_moves = {key: max(amount, 0) + released[key] for key, amount in left.items()}
        for_request = {key: amount + released[key] for key, amount in left.items()}
        taken = {frozenset[tuple[tuple[int, str], int]]()}
        for uuid in leaving if is_moved else ():
            options = self._elsewhere(root, uuid)
            taken = {sums for each in taken for sums in _sums(each, options, for_moves)}
        taken = {each for each in taken if self._keeps_groups(each, leaving)}
        wanted = self._wanted_on(root)
        return any(True for each in taken for _ in _sums(each, wanted, for_request))

    def _keeps_groups(
        self, taken: Iterable[tuple[tuple[int, str], int]], leaving: Sequence[str]
    ) -> bool:
        """Return whether moves keep the rules of groups; the other consumers stay."""
        case, force = self.world.case, BruteForce(self.world.case)
        moved = {name: target for (target, name), _ in taken if name in leaving}
        sources = {
            uuid: source
            for uuid, held in case.consumers.items()
            if uuid not in leaving and (source := force.source(held)) is not None
        }
        return all(keeps(each, moved, {**case.staying, **sources}, case) for each in case.groups)

    @cached_property
    def _left(self) -> Mapping[tuple[int, str], int]:
        """The capacity that is not used, negative if usage exceeds it."""
        return {
            (at, name): integer_capacity(inventory) - state.used.get(name, 0)
            for at, state in enumerate(self.states)
            for name, inventory in state.inventories.items()
        }

    def _elsewhere(self, root: int, uuid: str) -> Sequence[Amounts]:
        if (root, uuid) not in self._options:
            force = BruteForce(replace(self.world.case, drained=self.tree(root)))
            self._options[root, uuid] = [
                {**{(at, name): n for at, name, n in option}, (target, uuid): 1}
                for _, target, option in force.choices(uuid)
            ]
        return self._options[root, uuid]

    def _wanted_on(self, root: int) -> Sequence[Amounts]:
        if (root, "") not in self._options:
            source = root_of(self.states, next(iter(self.world.wanted)))
            options = BruteForce(self.world.case).on(root, source, self.world.wanted)
            self._options[root, ""] = _distinct(options)
        return self._options[root, ""]

    def fits_empty(self, root: int) -> bool:
        """Return whether the request fits on a root if nothing is used anywhere."""
        unused = [replace(state, used={}) for state in self.states]
        world = replace(self.world, case=replace(self.world.case, states=unused))
        return BruteRoom(world).fits(root, (), is_moved=False)

    def fewest(self, root: int, *, is_moved: bool = True) -> int | None:
        """Return the smallest number of consumers that must leave a root, None if all are too few.

        Consumers with allocations in several trees stay.
        """
        tree, force = self.tree(root), BruteForce(self.world.case)
        movable = [
            uuid
            for uuid, held in self.consumers.items()
            if not tree.isdisjoint(held) and force.source(held) is not None
        ]
        if not self.fits(root, movable, is_moved=False):
            return None  # nor does it after fewer have left
        for size in range(len(movable) + 1):
            for leaving in combinations(movable, size):
                if self.fits(root, leaving, is_moved=False) and (
                    not is_moved or self.fits(root, leaving, is_moved=True)
                ):
                    return size
        return None


def _amounts(allocations: Allocations) -> Amounts:
    return {(at, name): n for at, amounts in allocations.items() for name, n in amounts.items()}


def _distinct(options: Iterable[Allocations]) -> Sequence[Amounts]:
    return [dict(each) for each in sorted({tuple(sorted(_amounts(o).items())) for o in options})]


def _sums(
    taken: frozenset[tuple[tuple[int, str], int]],
    options: Iterable[Amounts],
    limits: Mapping[tuple[int, str], int],
) -> Iterator[frozenset[tuple[tuple[int, str], int]]]:
    """Yield what is taken with each of the options that is within the limits."""
    before = Counter(dict(taken))
    for amounts in options:
        after = before + Counter(amounts)
        if all(after[key] <= limits.get(key, 1) for key in amounts):
            yield frozenset(after.items())
