"""Random worlds and requests: small, but with all features that interact."""

from dataclasses import replace
from typing import NamedTuple

from hypothesis import strategies as st

from placement.core.model import SHARING_TRAIT, Inventory, Provider, ProviderState
from placement.core.request import CandidateRequest, ProviderFilter, RequestGroup
from placement.tests.support.requests import candidate_request_of, group_of, parts
from placement.tests.support.worlds import aggregate_uuid, provider_uuid

CLASSES = ("VCPU", "DISK_GB", "CUSTOM_DEVICE")
TRAITS = ("CUSTOM_A", "CUSTOM_B", SHARING_TRAIT)
AGGREGATES = tuple(aggregate_uuid(name) for name in "xyz")
PROVIDERS = tuple(provider_uuid(f"p{number}") for number in range(9))


def inventories_of(total: int) -> st.SearchStrategy[Inventory]:
    """Inventories of a total, of which little or everything is reserved."""
    return st.builds(
        Inventory,
        total=st.just(total),
        reserved=st.sampled_from((0, 0, 0, 0, 0, 0, 0, 1, total)),
        min_unit=st.sampled_from((1, 1, 1, 1, 2)),
        max_unit=st.sampled_from((8, 8, 8, 3)),
        step_size=st.sampled_from((1, 1, 1, 1, 2)),
        allocation_ratio=st.sampled_from((1.0, 1.0, 1.15, 2.0)),
    )


inventories = st.integers(1, 8).flatmap(inventories_of)


def some(values: tuple[str, ...], most: int) -> st.SearchStrategy[frozenset[str]]:
    return st.frozensets(st.sampled_from(values), max_size=most)


@st.composite
def states(draw: st.DrawFn, number: int = 0, parent: Provider | None = None) -> ProviderState:
    name = f"p{number}"
    uuid = provider_uuid(name)
    held = draw(st.dictionaries(st.sampled_from(CLASSES), inventories, max_size=3))
    return ProviderState(
        provider=Provider(
            id=number + 1,
            uuid=uuid,
            name=name,
            generation=0,
            parent_uuid=parent.uuid if parent else None,
            root_uuid=parent.root_uuid if parent else uuid,
        ),
        inventories=held,
        used={
            name: amount
            for name in held
            if (amount := draw(st.sampled_from((0, 0, 0, 0, 1, 2, 9))))
        },
        traits=draw(some(TRAITS, 2)),
        aggregates=draw(some(AGGREGATES, 2)),
    )


@st.composite
def worlds(draw: st.DrawFn) -> list[ProviderState]:
    """Up to eight providers in trees of depth four at most."""
    providers: list[ProviderState] = []
    depth: list[int] = []
    for number in range(draw(st.integers(2, 8))):
        open_ = [index for index in range(number) if depth[index] < 3]
        above = draw(st.sampled_from([None, *open_]))
        depth.append(0 if above is None else depth[above] + 1)
        providers.append(
            draw(states(number, None if above is None else providers[above].provider))
        )
    return providers


def with_free_host(world: list[ProviderState]) -> list[ProviderState]:
    """Return the world with a host that has everything free: most requests fit on it.

    In a random world, about one of ten random requests has a candidate.
    """
    uuid = provider_uuid("free")
    host = ProviderState(
        Provider(len(world) + 1, uuid, "free", 0, None, uuid),
        inventories={name: Inventory(8) for name in CLASSES},
        used={},
        traits=frozenset(TRAITS[:2]),
        aggregates=frozenset(AGGREGATES[:2]),
    )
    return [*world, host]


# --- worlds that change ------------------------------------------------------------------


class Step(NamedTuple):
    """A world after some requests: the UUIDs of what they changed, the ids that they removed."""

    world: list[ProviderState]
    changed: frozenset[str]
    removed: frozenset[int]


class _ChangingWorld:
    """Creates, moves and removes providers, as the service does: links are by id."""

    def __init__(self, draw: st.DrawFn, *, reuses_ids: bool) -> None:
        self._draw = draw
        self._reuses_ids = reuses_ids  # as SQLite does with the largest one
        self._last = 0
        self._states: dict[str, ProviderState] = {}
        self._changed: set[str] = set()
        self._removed: set[int] = set()

    def step(self) -> Step:
        """Return what happened since the last step."""
        changed = frozenset(self._changed & self._states.keys())
        step = Step(
            [self._in_tree(state) for state in self._states.values()],
            changed,
            frozenset(self._removed),
        )
        self._changed.clear()
        self._removed.clear()
        return step

    def _in_tree(self, state: ProviderState) -> ProviderState:
        root = state.provider
        while root.parent_uuid:
            root = self._states[root.parent_uuid].provider
        return replace(state, provider=replace(state.provider, root_uuid=root.uuid))

    def run_any(self) -> None:
        """Run one request, or several that belong together."""
        operations = [self.create, self.create, self.move, self.change, self.remove, self.recreate]
        self._draw(st.sampled_from(operations))()

    def create(self, uuid: str | None = None, parent: str | None = None) -> None:
        """Create a provider, possibly with the UUID of one that was removed."""
        missing = [each for each in PROVIDERS if each not in self._states]
        if uuid is None and missing:
            uuid = self._draw(st.sampled_from(missing))
            parent = self._draw(st.sampled_from([None, *self._states]))
        if uuid is None:
            return
        existing = [state.provider.id for state in self._states.values()]
        self._last = max(existing, default=0) if self._reuses_ids else self._last
        self._last += 1
        state = self._draw(states())
        provider = Provider(self._last, uuid, uuid, 0, parent, uuid)
        self._write(replace(state, provider=provider))

    def move(self) -> None:
        """Move a provider to another parent, or make it a root."""
        uuid = self._any()
        below = self._subtree(uuid)
        self._set_parent(uuid, self._draw(st.sampled_from([None, *(self._states.keys() - below)])))

    def change(self) -> None:
        """Change what a provider has."""
        uuid = self._any()
        self._write(replace(self._draw(states()), provider=self._states[uuid].provider))

    def remove(self) -> None:
        """Remove a provider; its children become roots before."""
        self._remove(self._any())

    def recreate(self) -> None:
        """Remove a provider and create it with the same UUID; its children return, or some do."""
        uuid = self._any()
        parent = self._states[uuid].provider.parent_uuid
        children = self._remove(uuid)
        if self._draw(st.booleans()):
            self.create()  # this one may get the id
        if uuid in self._states:
            return
        self.create(uuid, parent if parent in self._states else None)
        for child in children:
            if self._draw(mostly) and uuid not in self._subtree(child):
                self._set_parent(child, uuid)

    def _any(self) -> str:
        if not self._states:
            self.create()
        return self._draw(st.sampled_from(list(self._states)))

    def _remove(self, uuid: str) -> list[str]:
        children = [each for each in self._states if self._parent_of(each) == uuid]
        for child in children:
            self._set_parent(child, None)
        self._removed.add(self._states.pop(uuid).provider.id)
        return children

    def _parent_of(self, uuid: str) -> str | None:
        return self._states[uuid].provider.parent_uuid

    def _set_parent(self, uuid: str, parent: str | None) -> None:
        state = self._states[uuid]
        self._write(replace(state, provider=replace(state.provider, parent_uuid=parent)))
        self._changed |= self._subtree(uuid)  # their roots may be other ones

    def _subtree(self, uuid: str) -> set[str]:
        below = {uuid}
        for _ in self._states:
            below |= {each for each in self._states if self._parent_of(each) in below}
        return below

    def _write(self, state: ProviderState) -> None:
        self._states[state.provider.uuid] = state
        self._changed.add(state.provider.uuid)


@st.composite
def histories(draw: st.DrawFn) -> list[Step]:
    """A world, and what becomes of it; several requests are between two steps."""
    world = _ChangingWorld(draw, reuses_ids=draw(st.booleans()))
    steps = []
    for most in (8, *[6] * draw(st.integers(1, 3))):
        for _ in range(draw(st.integers(1, most))):
            world.run_any()
        steps.append(world.step())
    return steps


any_of = st.lists(
    st.frozensets(st.sampled_from(TRAITS), min_size=1, max_size=2), min_size=1, max_size=2
)
wanted_aggregates = st.lists(
    st.frozensets(st.sampled_from(AGGREGATES), min_size=1, max_size=2), min_size=1, max_size=2
)
amounts = st.sampled_from((1, 1, 1, 1, 2, 2, 2, 3, 4, 9))
one_trait = st.frozensets(st.sampled_from(TRAITS), min_size=1, max_size=1)
rarely = st.sampled_from((False, False, False, True))
seldom = st.sampled_from((False,) * 9 + (True,))
mostly = st.sampled_from((True, True, True, False))


@st.composite
def groups(draw: st.DrawFn, suffix: str = "", *, resourceless: bool = False) -> RequestGroup:
    """A group; a query has one without resources by its requirements only."""
    resources = (
        {}
        if resourceless
        else draw(
            st.dictionaries(
                st.sampled_from(CLASSES), amounts, min_size=1, max_size=3 if not suffix else 2
            )
        )
    )
    return group_of(
        suffix=suffix,
        resources=resources,
        required=tuple(draw(any_of)) if resourceless or draw(rarely) else (),
        forbidden=draw(some(TRAITS, 1)) if draw(seldom) else frozenset(),
        member_of=tuple(draw(wanted_aggregates)) if draw(rarely) else (),
        not_member_of=draw(some(AGGREGATES, 1)) if draw(seldom) else frozenset(),
        in_tree=draw(st.sampled_from(PROVIDERS[:4])) if draw(seldom) else None,
    )


@st.composite
def requests(draw: st.DrawFn) -> CandidateRequest:
    """Up to five groups; resourceless ones are in some same_subtree, as the parser requires."""
    suffixes = [f"_{letter}" for letter in "ABCD"[: draw(st.integers(0, 4))]]
    nested = not draw(rarely)
    bare = {suffix for suffix in suffixes if nested and draw(rarely)}
    drawn = [draw(groups(suffix, resourceless=suffix in bare)) for suffix in suffixes]
    if draw(st.booleans()) or not any(group.resources for group in drawn):
        drawn.insert(draw(st.integers(0, len(drawn))), draw(groups()))
    subtrees = draw(
        st.lists(st.frozensets(st.sampled_from(suffixes), min_size=1), max_size=2)
        if suffixes and nested
        else st.just([])
    )
    if bare - frozenset().union(*subtrees):
        subtrees.append(frozenset(bare))
    return candidate_request_of(
        groups=tuple(drawn),
        isolate=draw(st.booleans()),
        root_required=draw(one_trait) if draw(rarely) else frozenset(),
        root_forbidden=draw(one_trait) if draw(rarely) else frozenset(),
        same_subtree=tuple(subtrees),
        nested=nested,
    )


several_requests = st.lists(requests(), min_size=8, max_size=8)
"""Requests for one world: their search takes less time than the generation of a world."""

filters = st.builds(
    ProviderFilter,
    name=st.sampled_from((None, None, None, "", "p0")),
    uuid=st.sampled_from((None, None, None, PROVIDERS[1])),
    group=groups().map(lambda group: replace(group, suffix="")),
)


# --- hosts that are not alike ------------------------------------------------------------

DEVICE_TRAITS = ("CUSTOM_A", "CUSTOM_B")
one_device_trait = st.frozensets(st.sampled_from(DEVICE_TRAITS), min_size=1, max_size=1)


@st.composite
def device_worlds(draw: st.DrawFn) -> list[ProviderState]:
    """Hosts with NUMA nodes and devices, with different free devices; possibly a shared disk.

    Providers of every level may be in an aggregate, and share their class with it.
    """
    providers: list[ProviderState] = []

    def add(
        parent: Provider | None, name: str, traits: tuple[str, ...], free: bool, total: int = 1
    ) -> Provider:
        number = len(providers)
        uuid = provider_uuid(f"d{number}")
        provider = Provider(
            id=number + 1,
            uuid=uuid,
            name=f"d{number}",
            generation=0,
            parent_uuid=parent.uuid if parent else None,
            root_uuid=parent.root_uuid if parent else uuid,
        )
        used = {} if free else {name: total}
        in_aggregate = draw(rarely if parent is None else seldom)
        aggregates = frozenset(AGGREGATES[:1]) if in_aggregate else frozenset()
        traits = (*traits, SHARING_TRAIT) if draw(seldom) else traits
        providers.append(
            ProviderState(provider, {name: Inventory(total)}, used, frozenset(traits), aggregates)
        )
        return provider

    for _ in range(draw(st.integers(1, 3))):
        host = add(None, "DISK_GB", tuple(draw(some(DEVICE_TRAITS, 1))), draw(mostly), 4)
        for _ in range(draw(st.integers(1, 2))):
            traits = tuple(draw(some(DEVICE_TRAITS, 1)))
            numa = add(host, "VCPU", traits, draw(mostly), draw(st.integers(1, 3)))
            for _ in range(draw(st.integers(0, 4))):
                traits = (draw(st.sampled_from(DEVICE_TRAITS)),)
                add(numa, "CUSTOM_DEVICE", traits, draw(st.booleans()), draw(st.integers(1, 2)))
    if draw(rarely):
        shared = add(None, draw(st.sampled_from(CLASSES)), (SHARING_TRAIT,), free=True, total=2)
        providers[-1] = replace(providers[-1], aggregates=frozenset(AGGREGATES[:1]))
        assert providers[-1].provider is shared
    return providers


@st.composite
def restricted(draw: st.DrawFn, group: RequestGroup) -> RequestGroup:
    """The group, seldom with a forbidden trait, with conditions on aggregates, or in a tree."""
    return group_of(
        group.suffix,
        group.resources,
        parts(group).required,
        forbidden=draw(some(DEVICE_TRAITS, 1)) if draw(seldom) else frozenset(),
        member_of=(frozenset(AGGREGATES[:1]),) if draw(seldom) else (),
        not_member_of=frozenset(AGGREGATES[:1]) if draw(seldom) else frozenset(),
        in_tree=provider_uuid("d0") if draw(seldom) else None,
    )


@st.composite
def device_requests(draw: st.DrawFn) -> CandidateRequest:
    """A host, possibly a NUMA node, and devices: isolated or not, of one subtree or not.

    A group without resources may be in the subtree.
    """
    drawn = []
    if draw(st.booleans()):
        resources = {"DISK_GB": 1, "VCPU": 1} if draw(rarely) else {"DISK_GB": 1}
        drawn.append(group_of("", resources, tuple(draw(any_of)) if draw(rarely) else ()))
    if draw(st.booleans()):
        drawn.append(group_of("_N", {"VCPU": draw(st.integers(1, 2))}))
    for letter in "ABC"[: draw(st.integers(1, 3))]:
        required = (frozenset({draw(st.sampled_from(DEVICE_TRAITS))}),) if draw(rarely) else ()
        drawn.append(group_of(f"_{letter}", {"CUSTOM_DEVICE": 1}, required))
    drawn = [draw(restricted(group)) for group in drawn]
    suffixes = [group.suffix for group in drawn if group.suffix]
    subtrees = draw(
        st.one_of(
            st.just([]),
            st.just([frozenset(suffixes)]),
            st.lists(st.frozensets(st.sampled_from(suffixes), min_size=2), max_size=2)
            if len(suffixes) > 1
            else st.just([]),
        )
    )
    if subtrees and draw(rarely):
        drawn.append(group_of("_Z", required=tuple(draw(any_of))))
        subtrees = [subtrees[0] | {"_Z"}, *subtrees[1:]]
    return candidate_request_of(
        groups=tuple(drawn),
        isolate=draw(st.booleans()),
        root_required=draw(one_device_trait) if draw(seldom) else frozenset(),
        root_forbidden=draw(one_device_trait) if draw(seldom) else frozenset(),
        same_subtree=tuple(subtrees),
        nested=not (draw(rarely) and not subtrees),
    )
