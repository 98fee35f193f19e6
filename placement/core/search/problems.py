"""Builds the problems of anchors, many at a time, and finds equal problems.

Different trees often pose the same problem once the differences that do not matter to
the request are removed. So the builder

- keeps only the providers that are an option of some slot: a host whose free devices
  are the third and the fifth poses the same problem as one with the first and the second;
- without same_subtree, sorts these by the slots that they can serve: the result depends
  on their number of each sort, not on their order in the tree;
- clips the allocatable amounts to what the slots request together;
- divides an anchor into *subproblems*, one for each provider that can be the highest one of
  the first same_subtree (``subproblems``): NUMA nodes that are alike pose the same
  problem, independent of the other node of the host. A very large tree is one subproblem.

All this is done by arrays, for a block of anchors at a time. ``OptionRecords`` has a row of a few
numbers for each option. The records of the options of a subproblem, concatenated, are the key of
its problem: equal keys are equal problems, and only different problems are built and solved.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, compress, count, islice, pairwise

import numpy as np
from numpy.typing import NDArray

from placement.core.requirement import having_trait
from placement.core.search.filters import Domain
from placement.core.search.slots import Options, Problem, SlottedRequest
from placement.core.search.subproblems import Feasibility, SubproblemIndex
from placement.core.snapshot.rows import Indices, Mask, Numbers, numbers
from placement.core.snapshot.snapshot import Snapshot

# Options are sorted by an int64 that has their bits, and a rank above the bits: see _by_bits.
_MAX_SORTED_BITS = 40

# The least and the largest number of anchors that are processed at a time.
_MIN_BLOCK = 16
_MAX_BLOCK = 2048

SubproblemKey = tuple[bytes, int]
"""The records of a subproblem's options, and the number that determines its sharing providers."""


class OptionRecords:
    """The record of each option, a row of int32: bits, the parent, clipped allocatable amounts.

    There is a bit for each need, or two if slots inside and outside of the split same_subtree
    have it; one for the top of a split; and one for each ``any_of`` list of the request. Then
    there is a number for the parent, if the request has subtrees, and one for each contended
    class.

    ``of_slot`` is the number of the bit by slot. A record has ``record_size`` bytes.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        slotted: SlottedRequest,
        domains: Sequence[Domain],
        split: int | None,
    ) -> None:
        inside = frozenset(() if split is None else slotted.subtrees[split])
        columns: dict[tuple[int, bool], int] = {}
        self.of_slot = [
            columns.setdefault((slot.need, number in inside), len(columns))
            for number, slot in enumerate(slotted.slots)
        ]
        self._snapshot = snapshot
        self._slotted = slotted
        self._is_split = split is not None
        self._masks = [(domains[need].local, is_inside) for need, is_inside in columns]
        bits = len(columns) + self._is_split + len(slotted.any_of)
        self.record_size = 4 * (bits + bool(slotted.subtrees) + len(slotted.contended))
        self._requested = {
            name: sum(amounts.values()) for name, amounts in slotted.contended.items()
        }

    @cached_property
    def _any_of(self) -> list[Mask]:
        return [having_trait(self._snapshot, any_of) for any_of in self._slotted.any_of]

    @cached_property
    def _allocatable(self) -> Mapping[str, Numbers]:
        """The allocatable amount of each contended class, by row."""
        snapshot = self._snapshot
        return {
            name: snapshot.column(name).allocatable_by_row(snapshot.size)
            for name in self._slotted.contended
        }

    def clipped_allocatable(self, name: str, row: int) -> int:
        """Return the allocatable amount, clipped to the sum of the requested amounts."""
        return min(self._allocatable[name].item(row), self._requested[name])

    def any_of(self, row: int) -> int:
        """Return the trait lists that a provider satisfies, as bits."""
        return _bits(mask.item(row) for mask in self._any_of)

    def of_subproblems(self, index: SubproblemIndex) -> tuple[bytes, NDArray[np.int64], Numbers]:
        """Return the records of all options, how many each subproblem has, and their rows."""
        rows = index.rows
        bits = [
            mask[rows] & index.is_inside if is_inside else mask[rows]
            for mask, is_inside in self._masks
        ]
        is_option = np.logical_or.reduce(bits)
        if self._is_split:
            bits.append(index.is_top)
        bits += [mask[rows] for mask in self._any_of]
        option_bits = np.stack(bits)[:, is_option]
        option_rows, subproblem = rows[is_option], index.subproblem[is_option]
        parents = [index.nearest(is_option)] if self._slotted.subtrees else []
        if not self._slotted.subtrees and len(bits) <= _MAX_SORTED_BITS:
            order = _by_bits(option_bits, subproblem)
            option_bits, option_rows = option_bits[:, order], option_rows[order]
        amounts = (
            self._relevant(name, option_bits, option_rows) for name in self._slotted.contended
        )
        records = np.stack([*option_bits, *parents, *amounts], axis=1, dtype=np.int32)
        counts = np.bincount(subproblem, minlength=len(index.roots))
        return records.tobytes(), counts, option_rows

    def _relevant(self, name: str, bits: NDArray[np.bool_], rows: Numbers) -> Numbers:
        """Return the clipped amounts of a class at options of its slots, -1 elsewhere."""
        columns = sorted({self.of_slot[slot] for slot in self._slotted.contended[name]})
        is_option = np.logical_or.reduce(bits[columns])
        most = min(self._requested[name], 2**31 - 1)
        clipped = np.minimum(self._allocatable[name][rows], np.int32(most))
        amounts: Numbers = np.where(is_option, clipped, np.int32(-1))
        return amounts


def _by_bits(bits: NDArray[np.bool_], subproblem: NDArray[np.intp]) -> Indices:
    """Return the order of the options by subproblem, number of set bits (descending), bit pattern.

    Equal options keep their order. Every option has a bit, so fewer than all are missing.
    """
    weights = 1 << np.arange(len(bits), dtype=np.int64)
    missing = (~bits).sum(axis=0, dtype=np.int64)
    rank = subproblem.astype(np.int64) * len(bits) + missing
    return np.argsort((rank << len(bits)) + weights @ bits, kind="stable")


@dataclass(frozen=True, slots=True)
class Block:
    """The subproblems of some anchors, in the order of the anchors. Each is a problem.

    The subproblems of anchor ``n`` have the numbers from ``first_subproblems[n]`` to
    ``first_subproblems[n + 1]``, exclusive; every anchor has at least one subproblem. Subproblems
    with equal ``keys`` are the same problem. ``rows`` has the options of all subproblems in the
    trees of their anchors: ``rows[starts[p]:starts[p + 1]]`` are the options of subproblem ``p``,
    in their order.
    """

    anchors: Sequence[int]
    first_subproblems: Sequence[int]
    keys: Sequence[SubproblemKey]
    starts: Sequence[int]
    rows: Numbers
    build: Callable[[SubproblemKey, int], Problem]

    def subproblems_of(self, number: int) -> Iterator[tuple[Problem, int]]:
        """Yield the problems and the starts of the subproblems of an anchor."""
        first, end = self.first_subproblems[number : number + 2]
        for subproblem in range(first, end):
            yield self.problem(number, subproblem), self.starts[subproblem]

    def problem(self, number: int, subproblem: int) -> Problem:
        """Return the problem of a subproblem of an anchor; equal problems are built once."""
        return self.build(self.keys[subproblem], self.anchors[number])


class ProblemBuilder:
    """Builds the problems of the anchors of one request; equal problems are built once."""

    def __init__(
        self, snapshot: Snapshot, slotted: SlottedRequest, domains: Sequence[Domain]
    ) -> None:
        self._snapshot = snapshot
        self.slotted = slotted
        self._domains = domains
        self._feasibility = Feasibility(snapshot, slotted, domains)
        self._split = self._feasibility.split
        self._records = OptionRecords(snapshot, slotted, domains, self._split)
        self._is_anything_shared = any(domain.shared for domain in domains)
        roots = snapshot.forest.root[snapshot.sharing.numbers]
        self.roots_that_share = frozenset(roots.tolist())
        """The roots of trees in which a provider is a sharing provider."""
        self._problems: dict[SubproblemKey, Problem] = {}

    def blocks(
        self, anchors: Sequence[int] | Indices, expected: int | None = None
    ) -> Iterator[Block]:
        """Yield the anchors that may have a solution, in order, many at a time.

        An assignment is a solution of at most one subproblem. ``expected`` is how many anchors
        are needed, if known.
        """
        size = min(max(expected or _MAX_BLOCK, _MIN_BLOCK), _MAX_BLOCK)
        rows = np.asarray(anchors, dtype=np.int32)
        begin = possible = 0
        while begin < len(rows):
            index = self._feasibility.subproblems(rows[begin : begin + size])
            begin += size
            if len(index.roots):
                block = self._block(index)
                possible += len(block.anchors)
                yield block
            size = _next_size(begin, possible, expected)

    def _block(self, index: SubproblemIndex) -> Block:
        records, counts, rows = self._records.of_subproblems(index)
        starts = [0, *np.cumsum(counts).tolist()]
        width = self._records.record_size
        record_ends = [width * start for start in starts]
        subproblems = [records[begin:end] for begin, end in pairwise(record_ends)]
        first_subproblems = np.flatnonzero(np.diff(index.roots, prepend=-1))
        return Block(
            anchors=index.roots[first_subproblems].tolist(),
            first_subproblems=[*first_subproblems.tolist(), len(subproblems)],
            keys=list(zip(subproblems, self._sharing_keys(index.roots), strict=True)),
            starts=starts,
            rows=rows,
            build=self._problem,
        )

    def _problem(self, key: SubproblemKey, anchor: int) -> Problem:
        problem = self._problems.get(key)
        if problem is None:
            problem = self._problems[key] = self._built(key[0], anchor)
        return problem

    def _sharing_keys(self, anchors: Numbers) -> Sequence[int]:
        """Return for each anchor a number that determines which sharing providers it can use.

        It is the number of the tree's aggregates. A tree that contains a sharing provider gets
        a unique number: a sharing provider is not shared with its tree.
        """
        if not self._is_anything_shared:
            return [0] * len(anchors)
        aggregates = self._snapshot.tree_aggregates.number[anchors]
        has_own = np.isin(anchors, numbers(self.roots_that_share))
        keys: list[int] = np.where(has_own, ~anchors, aggregates).tolist()
        return keys

    def _built(self, records: bytes, anchor: int) -> Problem:
        slotted, of_slot, size = self.slotted, self._records.of_slot, self._records.record_size
        table = np.frombuffer(records, dtype=np.int32).reshape(-1, size // 4)
        columns: Iterator[list[int]] = iter(table.T.tolist())
        local = [_set(column) for column in islice(columns, max(of_slot) + 1)]
        tops = () if self._split is None else _set(next(columns))
        any_of = list(islice(columns, len(slotted.any_of)))
        parents = tuple(next(columns)) if slotted.subtrees else ()
        shared = [self._options_shared(need, anchor) for need in range(len(self._domains))]
        options = tuple(
            local[column] + shared[slot.need]
            for column, slot in zip(of_slot, slotted.slots, strict=True)
        )
        return Problem(
            options,
            allocatable=dict(self._allocatable(options, columns)),
            any_of_bits=dict(self._any_of_bits(options, any_of)) if any_of else {},
            parents=parents,
            ancestors=dict(self._ancestors(options)) if slotted.subtrees else {},
            tree_of={} if slotted.request.nested else self._tree_of(options),
            top=(self._split, tops[0]) if self._split is not None and tops else None,
        )

    def _options_shared(self, need: int, anchor: int) -> Options:
        by_aggregate = self._domains[need].shared_by_aggregate
        if not by_aggregate:
            return ()
        number = self._snapshot.tree_aggregates.number.item(anchor)
        aggregates = self._snapshot.tree_aggregates.aggregates[number]
        rows = {row for uuid in aggregates for row in by_aggregate.get(uuid, ())}
        root = self._snapshot.forest.root
        return tuple(~row for row in sorted(rows) if root.item(row) != anchor)

    def _allocatable(
        self, options: Sequence[Options], columns: Iterable[Sequence[int]]
    ) -> Iterator[tuple[tuple[int, str], int]]:
        """Yield the amounts of the contended classes at the options of their slots."""
        for (name, slots), local in zip(self.slotted.contended.items(), columns, strict=True):
            for option in _union(options, slots):
                is_local, clipped = option >= 0, self._records.clipped_allocatable
                yield (option, name), local[option] if is_local else clipped(name, ~option)

    def _any_of_bits(
        self, options: Sequence[Options], columns: Sequence[Sequence[int]]
    ) -> Iterator[tuple[int, int]]:
        """Yield the trait lists that each option of the unsuffixed slots satisfies."""
        local = [_bits(column) for column in zip(*columns, strict=True)]
        for option in _union(options, self.slotted.unsuffixed):
            yield option, local[option] if option >= 0 else self._records.any_of(~option)

    def _ancestors(self, options: Sequence[Options]) -> Iterator[tuple[int, frozenset[int]]]:
        slots = [slot for slots in self.slotted.subtrees for slot in slots]
        for option in _union(options, slots):
            if option < 0:
                rows = self._snapshot.forest.ancestors(~option)
                yield option, frozenset(~row for row in rows)

    def _tree_of(self, options: Sequence[Options]) -> Mapping[int, int]:
        root = self._snapshot.forest.root
        trees = {
            option: 0 if option >= 0 else ~root.item(~option)
            for option in _union(options, range(len(options)))
        }
        return trees if len(set(trees.values())) < len(trees) else {}


def _next_size(examined: int, possible: int, expected: int | None) -> int:
    """Return how many anchors to process next, at most as many as before together.

    The number covers the missing anchors if the share of possible anchors stays the same.
    """
    doubled = min(max(examined, _MIN_BLOCK), _MAX_BLOCK)
    if expected is None or not 0 < possible < expected:
        return doubled
    missing = -(-(expected - possible) * examined // possible)
    return min(max(missing + missing // 8, _MIN_BLOCK), doubled)


def _bits(flags: Iterable[int]) -> int:
    return sum(flag << number for number, flag in enumerate(flags))


def _set(flags: Iterable[int]) -> Options:
    """Return the options whose flag is set."""
    return tuple(compress(count(), flags))


def _union(options: Sequence[Options], slots: Iterable[int]) -> list[int]:
    """Return the options of some slots; many slots may have the same many options."""
    lists = dict.fromkeys(options[slot] for slot in slots)
    return list(dict.fromkeys(chain.from_iterable(lists)))
