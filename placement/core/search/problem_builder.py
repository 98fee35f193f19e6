"""Builds the problem of each anchor, and finds anchors that pose the same problem."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from placement.core.search.filters import Domain, having_trait
from placement.core.search.plan import SearchPlan
from placement.core.search.problem import Options, Problem
from placement.core.snapshot.forest import SINGLE_PARENTS, Tree
from placement.core.snapshot.rows import Numbers
from placement.core.snapshot.snapshot import Snapshot


@dataclass(slots=True)
class _ProblemFamily:
    """Problems that differ only in the allocatable amounts within the anchor's own tree."""

    base: Problem
    by_allocatable: dict[tuple[int, ...], Problem] = field(default_factory=dict)
    contended: list[tuple[str, int]] | None = None

    def contended_in_tree(self, plan: SearchPlan) -> list[tuple[str, int]]:
        """Return each contended class with each position of the own tree that is an option."""
        if self.contended is None:
            self.contended = [
                (name, option)
                for name, allocatable in zip(plan.contended, self.base.allocatable, strict=True)
                for option in allocatable
                if option >= 0
            ]
        return self.contended


class ProblemBuilder:
    """Builds the problem of each anchor; equal problems are built once.

    Each row has a code of a few bytes: a bit for each need that the provider
    satisfies at its own root, and one for each of the plan's ``any_of`` lists of which
    it has a trait. The codes of a tree's members, its shape and the sharing providers
    at its root determine the problem except for allocatable amounts. These are compared
    after they are clipped to what the slots request together: a host with 100
    allocatable VCPUs and one with 90 are alike for a request of 8.
    """

    def __init__(self, snapshot: Snapshot, plan: SearchPlan, domains: Sequence[Domain]) -> None:
        self._snapshot = snapshot
        self._plan = plan
        self._domains = domains
        self._is_anything_shared = any(domain.shared for domain in domains)
        roots = snapshot.forest.root[snapshot.sharing.numbers]
        self._roots_that_share = frozenset(roots.tolist())
        self._families: dict[tuple[bytes, tuple[int, ...], int], _ProblemFamily] = {}
        self._requested = {name: sum(amounts.values()) for name, amounts in plan.contended.items()}

    @cached_property
    def _allocatable(self) -> Mapping[str, Numbers]:
        """The allocatable amount of each contended class, by row."""
        columns, size = self._snapshot.columns, self._snapshot.size
        return {
            name: columns[name].allocatable_by_row(size)
            for name in self._plan.contended
            if name in columns
        }

    @cached_property
    def _codes(self) -> tuple[bytes, int]:
        """The codes of all rows, and the bytes of each; standalone anchors never need them."""
        bits = [domain.local for domain in self._domains]
        bits += [having_trait(self._snapshot, any_of) for any_of in self._plan.any_of]
        codes = np.packbits(np.stack(bits, axis=1), axis=1, bitorder="little")
        return codes.tobytes(), codes.shape[1]

    def problem(self, anchor: int) -> Problem:
        """Return the problem of an anchor."""
        tree = self._snapshot.forest.nested_trees.get(anchor) or Tree(
            (anchor,), SINGLE_PARENTS, is_contiguous=True
        )
        parents = tree.parents if self._plan.subtrees else ()
        key = (self._codes_of(tree), parents, self._sharing_key(anchor))
        family = self._families.get(key)
        if family is None:
            family = self._families[key] = _ProblemFamily(self._base(anchor, key[0], parents))
        if not self._plan.contended:
            return family.base
        allocatable = self._allocatable_in_tree(family, tree.members)
        problem = family.by_allocatable.get(allocatable)
        if problem is None:
            problem = family.by_allocatable[allocatable] = self._with_allocatable(
                family, allocatable
            )
        return problem

    def has_sharing_provider(self, anchor: int) -> bool:
        """Return whether a provider of the anchor's own tree is a sharing provider."""
        return anchor in self._roots_that_share

    def _codes_of(self, tree: Tree) -> bytes:
        codes, width = self._codes
        if tree.is_contiguous:
            first = tree.members[0] * width
            return codes[first : first + len(tree.members) * width]
        return b"".join([codes[row * width : (row + 1) * width] for row in tree.members])

    def _sharing_key(self, anchor: int) -> int:
        """Return a number that determines which sharing providers the anchor can use.

        It is the number of the tree's aggregates. A tree that has a sharing provider
        of its own gets a number of its own: to itself this provider is not shared.
        """
        if not self._is_anything_shared:
            return 0
        if self.has_sharing_provider(anchor):
            return ~anchor
        return self._snapshot.tree_aggregates.number.item(anchor)

    def _base(self, anchor: int, codes: bytes, parents: tuple[int, ...]) -> Problem:
        """Return the problem of an anchor, without the allocatable amounts of its own tree."""
        _, width = self._codes
        bits = [
            int.from_bytes(codes[start : start + width], "little")
            for start in range(0, len(codes), width)
        ]
        options = tuple(
            self._options_in_tree(need, bits) + self._options_shared(need, anchor)
            for need in range(len(self._domains))
        )
        return Problem(
            options,
            allocatable=tuple(
                self._allocatable_shared(name, options) for name in self._plan.contended
            ),
            any_of_bits=dict(self._any_of_bits(options, bits)) if self._plan.any_of else {},
            parents=parents,
            ancestors=dict(self._ancestors(options)) if self._plan.subtrees else {},
            tree_of={} if self._plan.request.nested else dict(self._tree_of(options)),
        )

    def _options_in_tree(self, need: int, bits: Sequence[int]) -> Options:
        return tuple(position for position, code in enumerate(bits) if code >> need & 1)

    def _options_shared(self, need: int, anchor: int) -> Options:
        by_aggregate = self._domains[need].shared_by_aggregate
        if not by_aggregate:
            return ()
        number = self._snapshot.tree_aggregates.number.item(anchor)
        aggregates = self._snapshot.tree_aggregates.aggregates[number]
        rows = {row for uuid in aggregates for row in by_aggregate.get(uuid, ())}
        root = self._snapshot.forest.root
        return tuple(~row for row in sorted(rows) if root.item(row) != anchor)

    def _any_of_bits(
        self, options: Sequence[Options], bits: Sequence[int]
    ) -> Iterator[tuple[int, int]]:
        """Yield the trait lists that each option of the unsuffixed slots satisfies."""
        for option in _union(options, self._needs_of(self._plan.unsuffixed)):
            code = bits[option] if option >= 0 else self._code(~option)
            yield option, code >> len(self._domains)

    def _code(self, row: int) -> int:
        codes, width = self._codes
        return int.from_bytes(codes[row * width : (row + 1) * width], "little")

    def _ancestors(self, options: Sequence[Options]) -> Iterator[tuple[int, frozenset[int]]]:
        """Yield the ancestors of options in other trees."""
        slots = [slot for slots in self._plan.subtrees for slot in slots]
        for option in _union(options, self._needs_of(slots)):
            if option < 0:
                rows = self._snapshot.forest.ancestors(~option)
                yield option, frozenset(~row for row in rows)

    def _tree_of(self, options: Sequence[Options]) -> Iterator[tuple[int, int]]:
        for option in _union(options, range(len(options))):
            yield option, 0 if option >= 0 else ~self._snapshot.forest.root.item(~option)

    def _allocatable_shared(self, name: str, options: Sequence[Options]) -> Mapping[int, int]:
        """Return the amounts of a class in other trees; -1, for now, in the own tree."""
        candidates = _union(options, self._needs_of(self._plan.contended[name]))
        return {
            option: self._clipped_allocatable(name, ~option) if option < 0 else -1
            for option in candidates
        }

    def _clipped_allocatable(self, name: str, row: int) -> int:
        """Return the allocatable amount, clipped to the sum of the requested amounts."""
        return min(self._allocatable[name].item(row), self._requested[name])

    def _allocatable_in_tree(
        self, family: _ProblemFamily, members: Sequence[int]
    ) -> tuple[int, ...]:
        clipped = self._clipped_allocatable
        return tuple(
            [clipped(name, members[at]) for name, at in family.contended_in_tree(self._plan)]
        )

    def _with_allocatable(self, family: _ProblemFamily, allocatable: tuple[int, ...]) -> Problem:
        base = family.base
        by_class = {
            name: dict(base.allocatable[at]) for at, name in enumerate(self._plan.contended)
        }
        for (name, option), left in zip(
            family.contended_in_tree(self._plan), allocatable, strict=True
        ):
            by_class[name][option] = left
        return replace(base, allocatable=tuple(by_class.values()))

    def _needs_of(self, slots: Iterable[int]) -> list[int]:
        return sorted({self._plan.slots[slot].need for slot in slots})


def _union(options: Sequence[Options], needs: Iterable[int]) -> list[int]:
    return list(dict.fromkeys(option for need in needs for option in options[need]))
