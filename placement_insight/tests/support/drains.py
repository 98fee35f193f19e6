"""Random small clouds with consumers, drained providers, and all plans by brute force.

The brute force shares the capacity rules and the classes of values with the service, and nothing
else: needs, targets and assignments are written again by the sentences of the documentation.
"""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations, product

from placement.core.capacity import integer_capacity, is_valid_amount
from placement.core.claims import AllocationState, ProviderUsage, plan_claims
from placement.core.model import SHARING_TRAIT, ConsumerClaim, Inventory, Provider, ProviderState
from placement.core.search.deadline import Deadline
from placement.core.snapshot.rows import mask_of, numbers
from placement.core.snapshot.snapshot import Snapshot
from placement.tests.support.provider_tables import snapshot_of_states
from placement.tests.support.worlds import aggregate_uuid, provider_uuid
from placement_insight.plan.cells import cells_of
from placement_insight.plan.drain import Drain, drain
from placement_insight.plan.model import Holder, Keep, Scene
from placement_insight.plan.server_groups import ServerGroup, ServerGroups

CLASSES = ("VCPU", "MEMORY_MB", "VGPU", "DISK_GB")
DISABLED = "COMPUTE_STATUS_DISABLED"
AGGREGATES = tuple(aggregate_uuid(name) for name in "xy")
Allocations = dict[int, dict[str, int]]
"""Amounts by the number of the provider, which is its index in the states, and by class."""


Key = tuple[tuple[int, str, int], ...]


@dataclass(frozen=True)
class Case:
    states: list[ProviderState]
    consumers: dict[str, Allocations]
    drained: frozenset[int]
    prefixes: tuple[str, ...]
    keeps_aggregates: bool
    groups: tuple[ServerGroup, ...] = ()
    staying: Mapping[str, int] = field(default_factory=dict)
    """The numbers of the roots of members of groups that are no consumers of drained providers."""
    cells: Mapping[int, str] = field(default_factory=dict)
    """The cell of the number of each root; "" is unreachable."""
    located: frozenset[str] = frozenset()
    """The members of groups with allocations."""


def random_case(rng: random.Random) -> Case:
    """Return a cloud of up to six trees and a sharing provider, with up to four movers."""
    states: list[ProviderState] = []
    kinds = rng.choice([["flat"], ["flat", "numa"], ["gpu"], ["flat", "gpu", "numa"]])
    has_disks = rng.choice((0.0, 0.3, 1.0))
    for number in range(rng.randint(2, 6)):
        _add_tree(rng, states, f"host{number}", rng.choice(kinds), has_disks)
    if rng.random() < 0.5:
        _add(rng, states, "storage", None, {"DISK_GB"}, {SHARING_TRAIT})
    roots = [at for at, state in enumerate(states) if state.provider.parent_uuid is None]
    hosts = [at for at in roots if SHARING_TRAIT not in states[at].traits]
    gone = rng.choice(hosts)
    tree = [at for at in range(len(states)) if root_of(states, at) == gone]
    drained = frozenset(tree)
    if rng.random() < 0.2:
        drained = frozenset({rng.choice([*tree, len(states) - 1])})
        drained |= {
            at for at in tree if states[at].provider.parent_uuid in _uuids(states, drained)
        }
    elif rng.random() < 0.1:
        drained |= {len(states) - 1}
    consumers = {}
    for number in range(rng.randint(1, 7)):
        allocations = allocated(rng, states, tree if rng.random() < 0.9 else None)
        if not drained.isdisjoint(allocations):
            consumers[f"consumer{number}"] = allocations
    states = _with_usage(rng, states, consumers)
    prefixes = rng.choice([(), (), ("CUSTOM_AZ_",)])
    return Case(states, consumers, drained, prefixes, rng.random() < 0.4)


def with_groups(rng: random.Random, case: Case) -> Case:
    """Return a cloud with up to two server groups, some of whose members stay."""
    uuids = list(case.consumers)
    others = [f"other{number}" for number in range(2)]
    groups = tuple(
        ServerGroup(
            frozenset(each for each in (*uuids, *others) if rng.random() < 0.5),
            rng.random() < 0.4,
            rng.choice((1, 1, 2)),
        )
        for _ in range(rng.choice((1, 1, 2)))
    )
    roots = [at for at, state in enumerate(case.states) if state.provider.parent_uuid is None]
    staying = {other: rng.choice(roots) for other in others if rng.random() < 0.4}
    located = frozenset((*uuids, *staying))
    return replace(case, groups=groups, staying=staying, located=located)


def with_cells(rng: random.Random, case: Case) -> Case:
    """Return a cloud with two cells; some hosts are unreachable, or in no cell that is known."""
    roots = [at for at, state in enumerate(case.states) if state.provider.parent_uuid is None]
    cells = {root: rng.choice(("", "a", "a", "a", "a", "b", "b")) for root in roots}
    return replace(case, cells={root: cells[root] for root in roots if rng.random() < 0.95})


def keep_of(case: Case, snapshot: Snapshot) -> Keep:
    """Return what a target must have."""
    hosts: dict[str, list[str]] = {}
    for root, cell in case.cells.items():
        hosts.setdefault(cell, []).append(case.states[root].provider.name)
    unreachable = hosts.pop("", [])
    cells = cells_of(snapshot, hosts, unreachable)
    return Keep(aggregates=case.keeps_aggregates, trait_prefixes=case.prefixes, cells=cells)


def keeps(
    group: ServerGroup, moved: Mapping[str, int], staying: Mapping[str, int], case: Case
) -> bool:
    """Return whether Nova moves servers to these roots one by one, by the rule of a group."""
    moved_to = [root for uuid, root in moved.items() if uuid in group.members]
    stay_on = [root for uuid, root in staying.items() if uuid in group.members]
    if group.has_affinity:
        return not moved_to or len(group.members & case.located) < 2
    return all((*moved_to, *stay_on).count(root) <= group.most for root in moved_to)


def _uuids(states: list[ProviderState], numbers: frozenset[int]) -> set[str]:
    return {states[number].provider.uuid for number in numbers}


def root_of(states: list[ProviderState], at: int) -> int:
    uuid = states[at].provider.root_uuid
    return next(n for n, state in enumerate(states) if state.provider.uuid == uuid)


def _add_tree(
    rng: random.Random, states: list[ProviderState], name: str, kind: str, has_disks: float
) -> None:
    extra = {"DISK_GB"} if rng.random() < has_disks else set()
    traits = {f"CUSTOM_AZ_{rng.choice('AAAB')}"} if rng.random() < 0.9 else set()
    traits |= {DISABLED} if rng.random() < 0.1 else set()
    own = {"flat": {"VCPU", "MEMORY_MB"}, "gpu": {"VCPU", "MEMORY_MB"}, "numa": set()}[kind]
    root = _add(rng, states, name, None, own | extra, traits)
    for child in range({"flat": 0, "gpu": rng.randint(2, 3), "numa": 2}[kind]):
        classes = {"VGPU"} if kind == "gpu" else {"VCPU", "MEMORY_MB"}
        _add(rng, states, f"{name}-{child}", root, classes, set())


def _add(  # noqa: PLR0917 - the parts of a provider
    rng: random.Random,
    states: list[ProviderState],
    name: str,
    parent: Provider | None,
    classes: set[str],
    traits: set[str],
) -> Provider:
    uuid = provider_uuid(name)
    provider = Provider(
        id=len(states) + 1,
        uuid=uuid,
        name=name,
        generation=0,
        parent_uuid=parent.uuid if parent else None,
        root_uuid=parent.root_uuid if parent else uuid,
    )
    aggregates = {each for each in AGGREGATES if rng.random() < (0.6 if parent is None else 0.05)}
    inventories = {
        each: Inventory(
            total=rng.randint(3, 15),
            reserved=rng.choice((0, 0, 0, 1)),
            min_unit=rng.choice((1, 1, 1, 1, 1, 1, 2)),
            max_unit=rng.choice((15, 15, 15, 15, 15, 4)),
            step_size=rng.choice((1, 1, 1, 1, 1, 1, 1, 2)),
            allocation_ratio=rng.choice((1.0, 1.0, 1.0, 1.5)),
        )
        for each in sorted(classes)
    }
    states.append(
        ProviderState(provider, inventories, {}, frozenset(traits), frozenset(aggregates))
    )
    return provider


def allocated(
    rng: random.Random, states: list[ProviderState], tree: list[int] | None
) -> Allocations:
    """Return allocations on some providers of a tree, and perhaps on a sharing provider."""
    if tree is None:
        root = root_of(states, rng.randrange(len(states)))
        tree = [at for at in range(len(states)) if root_of(states, at) == root]
    places = [at for at in tree if states[at].inventories and rng.random() < 0.6]
    sharing = [at for at, state in enumerate(states) if SHARING_TRAIT in state.traits]
    places += [at for at in sharing if at not in places and rng.random() < 0.4]
    return {
        at: {
            name: rng.choice((1, 2, 2, 3, 3, 4))
            for name in states[at].inventories
            if rng.random() < 0.8
        }
        or {next(iter(states[at].inventories)): 1}
        for at in places
    }


def _with_usage(
    rng: random.Random, states: list[ProviderState], consumers: dict[str, Allocations]
) -> list[ProviderState]:
    used = [Counter[str]() for _ in states]
    is_tight = rng.random() < 0.5
    for at, state in enumerate(states):
        for name, inventory in state.inventories.items():
            left = max(integer_capacity(inventory) - rng.randint(2, 7), 0)
            used[at][name] = left if is_tight else rng.choice((0, 0, 0, 1, 2, 4) * 5 + (16,))
    for allocations in consumers.values():
        for at, amounts in allocations.items():
            used[at].update(amounts)
    return [
        replace(state, used={name: amount for name, amount in used[at].items() if amount})
        for at, state in enumerate(states)
    ]


# --- all plans ------------------------------------------------------------------------------


class BruteForce:
    """All states in which each consumer has found other providers."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.states = case.states
        self.free = {
            (at, name): max(integer_capacity(inventory) - state.used.get(name, 0), 0)
            for at, state in enumerate(case.states)
            for name, inventory in state.inventories.items()
            if at not in case.drained
        }
        for allocations in case.consumers.values():
            for at, amounts in allocations.items():
                for name, amount in amounts.items():
                    if (at, name) in self.free:
                        self.free[at, name] += amount

    def is_possible(self) -> bool:
        """Return whether all consumers can have other providers, if all are released first."""
        return self._fits([self.choices(uuid) for uuid in self.case.consumers], Counter(), {})

    def fits_alone(self, uuid: str, name: str = "") -> bool:
        """Return whether a consumer can have other providers, if all are released first.

        With a name, only its amounts of this class are counted.
        """
        if not name:
            return self._fits([self.choices(uuid)], Counter(), {})
        held = self.case.consumers[uuid]
        root = self.source(held)
        assert root is not None
        reduced = {at: {name: amounts[name]} for at, amounts in held.items() if name in amounts}
        force = replace(self.case, consumers={uuid: {root: {}, **reduced}})
        alone = BruteForce(force)
        alone.free = self.free
        return alone.fits_alone(uuid)

    def choices(self, uuid: str) -> Sequence[tuple[str, int, Key]]:
        """Return the targets of a consumer, with the allocations that it may have there."""
        options = self._options_by_target(self.case.consumers[uuid])
        is_member = any(uuid in group.members for group in self.case.groups)
        choices = {(target if is_member else 0, _key(option)) for target, option in options}
        return [(uuid, *choice) for choice in sorted(choices)]

    def _fits(
        self,
        choices: Sequence[Sequence[tuple[str, int, Key]]],
        taken: Counter[tuple[int, str]],
        moved: Mapping[str, int],
        seen: set[object] | None = None,
    ) -> bool:
        seen = set() if seen is None else seen
        state = (len(choices), frozenset(taken.items()), frozenset(moved.items()))
        if not choices or state in seen:
            return not choices
        seen.add(state)
        for uuid, target, option in choices[0]:
            after = taken + Counter({(at, name): amount for at, name, amount in option})
            roots = {**moved, uuid: target}
            if (
                all(after[at, name] <= self.free[at, name] for at, name, _ in option)
                and all(
                    keeps(each, roots, self.case.staying, self.case) for each in self.case.groups
                )
                and self._fits(choices[1:], after, roots, seen)
            ):
                return True
        return False

    def options(self, allocations: Allocations) -> Iterator[Allocations]:
        """Yield all allocations that a consumer may have afterwards, whatever is free."""
        for _, option in self._options_by_target(allocations):
            yield option

    def _options_by_target(self, allocations: Allocations) -> Iterator[tuple[int, Allocations]]:
        root = self.source(allocations)
        assert root is not None
        for target in range(len(self.states)):
            if self.is_target(target, root):
                for option in self.on(target, root, allocations):
                    yield target, option

    def source(self, allocations: Allocations) -> int | None:
        """Return the root of the tree of a consumer, None if there are several."""
        states = self.states
        local = [at for at in allocations if SHARING_TRAIT not in states[at].traits]
        roots = {root_of(states, at) for at in local or allocations}
        return roots.pop() if len(roots) == 1 else None

    def is_target(self, at: int, source: int) -> bool:
        state, left, case = self.states[at], self.states[source], self.case
        prefixed = {name for name in left.traits if name.startswith(case.prefixes)}
        return (
            state.provider.parent_uuid is None
            and at not in case.drained
            and at != source  # nova moves no server within its host
            and DISABLED not in state.traits
            and (not case.keeps_aggregates or left.aggregates <= state.aggregates)
            and (not case.prefixes or prefixed <= state.traits)
            and self._is_in_cell(at, source)
        )

    def _is_in_cell(self, at: int, source: int) -> bool:
        cells = self.case.cells
        if not cells:
            return True
        if not any(cells.values()):  # only unreachable hosts are known
            return "" not in (cells.get(at), cells.get(source))
        return bool(cells.get(at)) and cells.get(at) == cells.get(source)

    def shares_with(self, at: int, target: int) -> bool:
        states = self.states
        tree = [each for each in range(len(states)) if root_of(states, each) == target]
        return (
            at not in tree
            and SHARING_TRAIT in states[at].traits
            and any(states[at].aggregates & states[each].aggregates for each in tree)
        )

    def on(self, target: int, source: int, allocations: Allocations) -> Iterator[Allocations]:
        kept: Allocations = {}
        unsuffixed, others = Counter[str](), []
        for at, amounts in allocations.items():
            if at != source and root_of(self.states, at) == source:
                others.append(amounts)
            elif at != source and self._may_stay(at, target, amounts):
                kept[at] = amounts
            else:
                unsuffixed.update(amounts)
        usable = [
            at
            for at in range(len(self.states))
            if at not in self.case.drained
            and (root_of(self.states, at) == target or self.shares_with(at, target))
        ]
        singles = product(usable, repeat=len(unsuffixed))
        for choice in product(singles, permutations(usable, len(others))):
            parts = [
                *zip(choice[0], ({name: n} for name, n in unsuffixed.items()), strict=True),
                *zip(choice[1], others, strict=True),
            ]
            option = _merged([*parts, *kept.items()])
            if all(self._valid(at, amounts) for at, amounts in (*parts, *option.items())):
                yield option

    def _may_stay(self, at: int, target: int, amounts: dict[str, int]) -> bool:
        is_drained = at in self.case.drained
        return not is_drained and self.shares_with(at, target) and self._valid(at, amounts)

    def _valid(self, at: int, amounts: dict[str, int]) -> bool:
        inventories = self.states[at].inventories
        return all(
            name in inventories and is_valid_amount(inventories[name], amount)
            for name, amount in amounts.items()
        )


def _merged(parts: Iterable[tuple[int, dict[str, int]]]) -> Allocations:
    merged: dict[int, Counter[str]] = {}
    for at, amounts in parts:
        merged.setdefault(at, Counter()).update(amounts)
    return {at: dict(amounts) for at, amounts in merged.items()}


def _key(allocations: Allocations) -> Key:
    return tuple(
        sorted((at, name, n) for at, amounts in allocations.items() for name, n in amounts.items())
    )


def planned(case: Case) -> tuple[Scene, Drain, Callable[[int], int]]:
    """Return the scene, the drain, and a function from rows to numbers of providers."""
    snapshot = snapshot_of_states(case.states)
    row_of = [snapshot.forest.row_of[state.provider.uuid] for state in case.states]
    holders = [
        Holder(uuid, "INSTANCE", "project", by_row(allocations, row_of))
        for uuid, allocations in case.consumers.items()
    ]
    drained = mask_of(numbers(row_of[at] for at in case.drained), snapshot.size)
    keep = keep_of(case, snapshot)
    roots = located(case, row_of)
    groups = ServerGroups(case.groups, roots)
    scene = Scene.of(snapshot, drained, holders, keep, groups)
    return scene, drain(scene, Deadline(20, time.monotonic)), row_of.index


def located(case: Case, row_of: Sequence[int]) -> Mapping[str, int]:
    """Return the row of a root of each consumer, and of each other member of a group."""
    of_consumers = {
        uuid: root_of(case.states, next(iter(held))) for uuid, held in case.consumers.items()
    }
    return {uuid: row_of[root] for uuid, root in {**of_consumers, **case.staying}.items()}


def by_row(allocations: Allocations, row_of: Sequence[int]) -> Mapping[tuple[str, int], int]:
    """Return amounts by class and row."""
    return {
        (name, row_of[at]): amount
        for at, amounts in allocations.items()
        for name, amount in amounts.items()
    }


def by_number(
    amounts: Mapping[tuple[str, int], int], number_of: Callable[[int], int]
) -> Allocations:
    """Return allocations as in a case."""
    return _merged((number_of(row), {name: amount}) for (name, row), amount in amounts.items())


def claim_in_order(case: Case, moves: list[tuple[str, Allocations]]) -> None:
    """Make the moves as claims, one after the other.  Raises: NotAllocatable."""
    used = [dict(state.used) for state in case.states]
    current = dict(case.consumers)
    for consumer, allocations in moves:
        states = case.states
        state = AllocationState(
            generations={consumer: 1},
            allocations={consumer: _by_uuid(states, current[consumer])},
            providers={
                each.provider.uuid: ProviderUsage(each.provider.id, each.inventories, used[at])
                for at, each in enumerate(states)
            },
            class_ids=dict.fromkeys(CLASSES, 1),
        )
        plan_claims(
            state,
            [ConsumerClaim(consumer, _by_uuid(states, allocations), "p", "u", generation=1)],
        )
        for at, amounts in current[consumer].items():
            for name, amount in amounts.items():
                used[at][name] -= amount
        for at, amounts in allocations.items():
            for name, amount in amounts.items():
                used[at][name] = used[at].get(name, 0) + amount
        current[consumer] = allocations


def _by_uuid(states: list[ProviderState], allocations: Allocations) -> dict[str, dict[str, int]]:
    return {states[at].provider.uuid: amounts for at, amounts in allocations.items()}
