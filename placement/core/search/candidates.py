"""The candidates that a search returns, and the providers to describe with them.

A candidate is a shape, which depends only on the request and on which options are equal, and the
rows of its providers. ``CandidateShapes`` makes shapes from the assignments of a problem.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from placement.core.search.slots import Assignment, Options, SlottedRequest
from placement.core.snapshot.entries import ProviderEntry
from placement.core.snapshot.rows import Numbers
from placement.core.snapshot.snapshot import Snapshot


@dataclass(frozen=True, slots=True, eq=False)
class CandidateShape:
    """The common part of candidates that differ only in the providers that they name.

    Providers are numbered by their index in the rows; the first
    ``len(allocations)`` have an allocation, the following providers serve
    resourceless groups only. A search has few shapes; they are compared by identity, so that
    a renderer can prepare one template for each.
    """

    allocations: tuple[Mapping[str, int], ...]
    mappings: Mapping[str, tuple[int, ...]]


Candidate = tuple[CandidateShape, tuple[int, ...]]
"""One way to satisfy a request: a shape, and the rows of its providers."""


class WholeTrees(Iterable[ProviderEntry]):
    """All providers of some trees, in tree order; their text is cached by tree."""

    def __init__(self, snapshot: Snapshot, roots: Numbers) -> None:
        self._snapshot = snapshot
        self._roots = roots

    def __iter__(self) -> Iterator[ProviderEntry]:
        rows = self._snapshot.forest.members_of_all(self._roots)
        return iter(self._snapshot.entries.take(rows.tolist()))

    def texts(self, render: Callable[[Iterable[ProviderEntry]], bytes]) -> Iterator[bytes]:
        """Yield the texts of the trees; ``render`` is called once for each tree.

        Two threads may both call it; the results are equal.
        """
        forest, entries = self._snapshot.forest, self._snapshot.entries
        roots = self._roots.tolist()
        for row, root in zip(roots, entries.take(roots), strict=True):
            if root.tree_text is None:
                root.tree_text = render(entries.take(forest.members(row)))
            yield root.tree_text


@dataclass(frozen=True, slots=True)
class Candidates:
    """The result for one request.

    ``uuids`` has the UUIDs by row.
    ``summaries`` are the providers to describe, in tree order or a rotation of it: from 1.29 all
    of every tree that a candidate allocates from, below 1.29 exactly the providers that
    a candidate allocates from. ``left_out`` is the number of roots that may have candidates
    and have none in the result, because the limit was reached before; it is exact for trees of
    one provider.
    """

    candidates: Sequence[Candidate]
    summaries: Iterable[ProviderEntry]
    uuids: Sequence[str]
    left_out: int = 0


class Solution(NamedTuple):
    """A shape, and the options of a problem that are its providers."""

    shape: CandidateShape
    options: Options
    is_in_other_trees: bool


class CandidateShapes:
    """The shapes of the candidates of one request; a shape is created once."""

    def __init__(self, slotted: SlottedRequest) -> None:
        self._slotted = slotted
        self._shapes: dict[tuple[int, ...], CandidateShape] = {}
        resourceless = [number for number, slot in enumerate(slotted.slots) if not slot.resources]
        resourced = [number for number, slot in enumerate(slotted.slots) if slot.resources]
        self._slots = (*resourced, *resourceless)

    def solution(self, assignment: Assignment) -> Solution:
        """Return an assignment as a shape and its options, without repetition."""
        number_of: dict[int, int] = {}
        pattern = tuple(
            [number_of.setdefault(assignment[slot], len(number_of)) for slot in self._slots]
        )
        shape = self._shapes.get(pattern)
        if shape is None:
            shape = self._shapes[pattern] = self._shape(pattern)
        options = tuple(number_of)
        return Solution(shape, options, max(options) < 0)

    def _shape(self, pattern: tuple[int, ...]) -> CandidateShape:
        number_of = dict(zip(self._slots, pattern, strict=True))
        allocations: dict[int, dict[str, int]] = {}
        mappings: dict[str, dict[int, None]] = {}
        for number, slot in enumerate(self._slotted.slots):
            provider = number_of[number]
            mappings.setdefault(slot.suffix, {})[provider] = None
            for name, amount in slot.resources:
                amounts = allocations.setdefault(provider, {})
                amounts[name] = amounts.get(name, 0) + amount
        return CandidateShape(
            allocations=tuple(allocations[number] for number in sorted(allocations)),
            mappings={suffix: tuple(numbers) for suffix, numbers in mappings.items()},
        )
