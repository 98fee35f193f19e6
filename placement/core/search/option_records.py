"""What a problem depends on, as a record of a few bytes for each option.

The records of the options of a part, concatenated, are the key of its problem: parts with equal
records pose the same problem. All records of a block of anchors are computed by arrays.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from placement.core.search.filters import Domain, having_trait
from placement.core.search.parts import PartIndex
from placement.core.search.plan import SearchPlan
from placement.core.search.problem import Options
from placement.core.snapshot.rows import Indices, Mask, Numbers
from placement.core.snapshot.snapshot import Snapshot

_MAX_SORTED_BITS = 40


class OwnTree(NamedTuple):
    """The options of one part in the anchor's own tree, decoded from their records.

    An option is its position among the options of the part. ``options`` are those of each need,
    in the order of ``OptionRecords.of_slot``. By option: ``any_of`` has the bits, ``parents`` the
    parent, and ``allocatable`` the amounts of each contended class. ``top`` is -1 if the part has
    none.
    """

    options: Sequence[Options]
    any_of: Sequence[int]
    parents: tuple[int, ...]
    allocatable: Sequence[Sequence[int]]
    top: int


class OptionRecords:
    """What is recorded of each option: bits, the parent, and clipped allocatable amounts.

    There is a bit for each need, or two if slots inside and outside of the split same_subtree
    have it; one for the top of a split; and one for each ``any_of`` list of the plan.

    A record has ``record_size`` bytes: the bits, then an int32 for the parent, if the plan has
    subtrees, and one for each contended class. ``of_slot`` is the number of the bit by slot.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        plan: SearchPlan,
        domains: Sequence[Domain],
        split: int | None,
    ) -> None:
        inside = frozenset(() if split is None else plan.subtrees[split])
        columns: dict[tuple[int, bool], int] = {}
        self.of_slot = [
            columns.setdefault((slot.need, number in inside), len(columns))
            for number, slot in enumerate(plan.slots)
        ]
        self._snapshot = snapshot
        self._plan = plan
        self._is_split = split is not None
        self._masks = [(domains[need].local, is_inside) for need, is_inside in columns]
        bits = len(columns) + self._is_split + len(plan.any_of)
        self._width = -(-bits // 8)
        self._words = (1 if plan.subtrees else 0) + len(plan.contended)
        self.record_size = self._width + 4 * self._words
        self._requested = {name: sum(amounts.values()) for name, amounts in plan.contended.items()}

    @cached_property
    def _any_of(self) -> list[Mask]:
        return [having_trait(self._snapshot, any_of) for any_of in self._plan.any_of]

    @cached_property
    def _allocatable(self) -> Mapping[str, Numbers]:
        """The allocatable amount of each contended class, by row."""
        columns, size = self._snapshot.columns, self._snapshot.size
        return {
            name: columns[name].allocatable_by_row(size)
            if name in columns
            else np.full(size, -1, dtype=np.int32)
            for name in self._plan.contended
        }

    def clipped_allocatable(self, name: str, row: int) -> int:
        """Return the allocatable amount, clipped to the sum of the requested amounts."""
        return min(self._allocatable[name].item(row), self._requested[name])

    def any_of(self, row: int) -> int:
        """Return the trait lists that a provider satisfies, as bits."""
        return sum(mask.item(row) << number for number, mask in enumerate(self._any_of))

    def of_parts(self, index: PartIndex) -> tuple[bytes, NDArray[np.int64], Numbers]:
        """Return the records of all options, how many each part has, and their rows."""
        rows = index.rows
        bits = [
            mask[rows] & index.is_inside if is_inside else mask[rows]
            for mask, is_inside in self._masks
        ]
        kept = np.logical_or.reduce(bits)
        if self._is_split:
            bits.append(index.is_top)
        bits += [mask[rows] for mask in self._any_of]
        chosen = np.stack(bits)[:, kept]
        kept_rows, part = rows[kept], index.part[kept]
        words = [index.nearest(kept)] if self._plan.subtrees else []
        if not self._plan.subtrees and len(bits) <= _MAX_SORTED_BITS:
            order = _by_bits(chosen, part)
            chosen, kept_rows = chosen[:, order], kept_rows[order]
        words += [
            self._relevant(number, chosen, kept_rows)
            for number in range(len(self._plan.contended))
        ]
        packed = np.packbits(chosen, axis=0, bitorder="little").T
        records = np.concatenate([packed, *(_as_bytes(word) for word in words)], axis=1)
        counts = np.bincount(part, minlength=len(index.roots))
        return records.tobytes(), counts, kept_rows

    def _relevant(self, number: int, bits: NDArray[np.bool_], rows: Numbers) -> Numbers:
        """Return the clipped amounts of a class at options of its slots, -1 elsewhere."""
        name = list(self._plan.contended)[number]
        columns = sorted({self.of_slot[slot] for slot in self._plan.contended[name]})
        is_option = np.logical_or.reduce(bits[columns])
        most = min(self._requested[name], 2**31 - 1)
        clipped = np.minimum(self._allocatable[name][rows], np.int32(most))
        amounts: Numbers = np.where(is_option, clipped, np.int32(-1))
        return amounts

    def decoded(self, records: bytes) -> OwnTree:
        """Return the contents of the records of one part."""
        count = len(records) // self.record_size
        table = np.frombuffer(records, dtype=np.uint8).reshape(count, self.record_size)
        codes = [int.from_bytes(row.tobytes(), "little") for row in table[:, : self._width]]
        words = table[:, self._width :].copy().view("<i4").T.tolist() if self._words else []
        columns = len(self._masks)
        return OwnTree(
            options=[
                tuple([at for at, code in enumerate(codes) if code >> column & 1])
                for column in range(columns)
            ],
            any_of=[code >> (columns + self._is_split) for code in codes],
            parents=tuple(words[0]) if self._plan.subtrees else (),
            allocatable=words[1:] if self._plan.subtrees else words,
            top=next((at for at, code in enumerate(codes) if code >> columns & 1), -1),
        )


def _by_bits(bits: NDArray[np.bool_], part: NDArray[np.intp]) -> Indices:
    """Return the order of the options by part, then by the number of bits (the most first).

    Of as many bits by their pattern; options with equal bits stay in their order.
    Every option has a bit, so fewer than all are missing.
    """
    weights = 1 << np.arange(len(bits), dtype=np.int64)
    missing = (~bits).sum(axis=0, dtype=np.int64)
    rank = part.astype(np.int64) * len(bits) + missing
    return np.argsort((rank << len(bits)) + weights @ bits, kind="stable")


def _as_bytes(word: Numbers) -> NDArray[np.uint8]:
    return np.ascontiguousarray(word, dtype="<i4").view(np.uint8).reshape(len(word), 4)
