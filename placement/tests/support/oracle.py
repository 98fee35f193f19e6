"""A brute-force search for candidates: it tries every combination, and keeps the valid ones.

It follows the sentences of the API reference, and shares only the classes of values with the
search. Its cost is exponential: for small worlds only.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import product

from placement.core.model import SHARING_TRAIT, ProviderState
from placement.core.request import CandidateRequest, ProviderFilter, RequestGroup
from placement.tests.support.requests import parts, root_traits

Found = frozenset[tuple[frozenset[tuple[str, str, int]], frozenset[tuple[str, frozenset[str]]]]]
Option = tuple[tuple[str, dict[str, int]], ...]  # providers with what they give to the group


class Oracle:
    """Answers requests about one world."""

    def __init__(self, states: Iterable[ProviderState]) -> None:
        self.states = {state.provider.uuid: state for state in states}

    def candidates(self, request: CandidateRequest, anchors: Iterable[str] | None = None) -> Found:
        """Return all candidates, or those around some roots: allocations and mappings."""
        candidates = set()
        for anchor in self.states if anchors is None else anchors:
            if self.root(anchor) == anchor and self.root_suits(anchor, request):
                options = [list(self.options(group, anchor)) for group in request.groups]
                for choice in product(*options):
                    if self.combines(choice, request):
                        candidates.add(candidate(request.groups, choice))
        return frozenset(candidates)

    def providers(self, criteria: ProviderFilter) -> list[str]:
        """Return the UUIDs that GET /resource_providers lists, sorted."""
        return sorted(
            uuid
            for uuid, state in self.states.items()
            if (not criteria.name or criteria.name == state.provider.name)
            and criteria.uuid in (None, uuid)
            and self.serves(uuid, criteria.group)
        )

    def ancestors(self, uuid: str) -> list[str]:
        parent = self.states[uuid].provider.parent_uuid
        return [uuid] if parent is None else [uuid, *self.ancestors(parent)]

    def root(self, uuid: str) -> str:
        return self.ancestors(uuid)[-1]

    def usable(self, uuid: str, anchor: str) -> bool:
        state = self.states[uuid]
        if self.root(uuid) == anchor:
            return True
        return SHARING_TRAIT in state.traits and any(
            self.root(other) == anchor and state.aggregates & self.states[other].aggregates
            for other in self.states
        )

    def fits(self, uuid: str, name: str, amount: int) -> bool:
        inventory = self.states[uuid].inventories.get(name)
        return (
            inventory is not None
            and self.holds(uuid, name, amount)
            and amount >= inventory.min_unit
            and amount % inventory.step_size == 0
        )

    def holds(self, uuid: str, name: str, amount: int) -> bool:
        state = self.states[uuid]
        inventory = state.inventories[name]
        most = (inventory.total - inventory.reserved) * inventory.allocation_ratio
        return state.used.get(name, 0) + amount <= most and amount <= inventory.max_unit

    def in_all(self, uuid: str, group: RequestGroup) -> bool:
        return all(self.states[uuid].aggregates & any_of for any_of in parts(group).member_of)

    def serves(self, uuid: str, group: RequestGroup) -> bool:
        """A suffixed group, or a filter: everything holds of the provider itself."""
        state, kinds = self.states[uuid], parts(group)
        return (
            all(self.fits(uuid, name, amount) for name, amount in group.resources.items())
            and (kinds.in_tree is None or self.root(uuid) == self.tree(kinds.in_tree))
            and self.in_all(uuid, group)
            and not state.aggregates & kinds.not_member_of
            and all(state.traits & any_of for any_of in kinds.required)
            and not state.traits & kinds.forbidden
        )

    def tree(self, uuid: str) -> str | None:
        return self.root(uuid) if uuid in self.states else None

    def options(self, group: RequestGroup, anchor: str) -> Iterator[Option]:
        if group.suffix:
            for uuid in self.states:
                if self.usable(uuid, anchor) and self.serves(uuid, group):
                    yield ((uuid, dict(group.resources)),)
            return
        able = [
            [
                (uuid, {name: amount})
                for uuid in self.states
                if self.gives(uuid, anchor, name, group)
            ]
            for name, amount in group.resources.items()
        ]
        kinds = parts(group)
        for option in product(*able):
            traits = frozenset().union(*(self.states[uuid].traits for uuid, _ in option))
            if not traits & kinds.forbidden and all(traits & any_of for any_of in kinds.required):
                yield option

    def gives(self, uuid: str, anchor: str, name: str, group: RequestGroup) -> bool:
        """One class of the unsuffixed group."""
        is_local, kinds = self.root(uuid) == anchor, parts(group)
        either_place = self.states[uuid].aggregates | self.states[anchor].aggregates
        return (
            self.fits(uuid, name, group.resources[name])
            and self.usable(uuid, anchor)
            and (kinds.in_tree is None or (is_local and anchor == self.tree(kinds.in_tree)))
            and (self.in_all(uuid, group) or (is_local and self.in_all(anchor, group)))
            and not either_place & kinds.not_member_of
        )

    def root_suits(self, anchor: str, request: CandidateRequest) -> bool:
        traits = self.states[anchor].traits
        required, forbidden = root_traits(request)
        return traits >= required and not traits & forbidden

    def combines(self, choice: tuple[Option, ...], request: CandidateRequest) -> bool:
        chosen = {
            group.suffix: option[0][0]
            for group, option in zip(request.groups, choice, strict=True)
            if group.suffix
        }
        if request.isolate and len(set(chosen.values())) < len(chosen):
            return False
        for suffixes in request.same_subtree:
            members = {chosen[suffix] for suffix in suffixes}
            if not any(all(top in self.ancestors(uuid) for uuid in members) for top in members):
                return False
        amounts = sums(choice)
        users = {uuid for uuid, _ in amounts}
        if not request.nested and len({self.root(uuid) for uuid in users}) < len(users):
            return False
        return all(self.holds(uuid, name, amount) for (uuid, name), amount in amounts.items())


def sums(choice: Iterable[Option]) -> Counter[tuple[str, str]]:
    amounts: Counter[tuple[str, str]] = Counter()
    for option in choice:
        for uuid, resources in option:
            for name, amount in resources.items():
                amounts[uuid, name] += amount
    return amounts


def candidate(groups: Iterable[RequestGroup], choice: tuple[Option, ...]) -> object:
    allocations = frozenset((uuid, name, n) for (uuid, name), n in sums(choice).items())
    mappings = frozenset(
        (group.suffix, frozenset(uuid for uuid, _ in option))
        for group, option in zip(groups, choice, strict=True)
    )
    return allocations, mappings
