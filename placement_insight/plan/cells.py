"""Cells of Nova: a server never leaves its cell, and cannot move while its database is down.

A host that is down is no target; its servers are evacuated.

Nova's API does not report the cell of a host. ``nova-manage cell_v2 list_hosts`` does, with the
names of the hosts of nova-compute; they are compared with the names of roots, letter case and
domains apart.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from placement.core.snapshot.rows import Mask, mask_of, numbers
from placement.core.snapshot.snapshot import Snapshot
from placement.core.text import canonical, first
from placement.exception import BadRequest
from placement_insight.names import short_name

_UNKNOWN: Final = "the cell of its host is not known: cells does not name the host"
_DOWN: Final = "the database of the cell of its host is down: Nova cannot move it"
NOT_KNOWN: Final = (
    "The cells of Nova are not known, and Nova moves no server to another cell. Give cells, from "
    "the output of nova-manage cell_v2 list_hosts."
)


@dataclass(frozen=True, slots=True)
class InCell:
    """A target is one of ``members``: the hosts of the cell that a consumer must not leave.

    ``problem`` is why there are none; the name is empty if cells are not known.
    """

    name: str
    members: Mask = field(compare=False, repr=False)
    problem: str = ""

    def providers(self, _snapshot: Snapshot) -> Mask:
        """Return the members."""
        return self.members


@dataclass(frozen=True, eq=False)
class Cells:
    """What the cells of roots require, by row; ``others`` is for the roots without an entry.

    ``assumes`` are the sentences about what is known; ``down`` are hosts that are down.
    """

    of_root: Mapping[int, InCell] = field(default_factory=dict)
    others: InCell | None = None
    assumes: Sequence[str] = (NOT_KNOWN,)
    down: Collection[int] = ()


NO_CELLS: Final = Cells()


def cells_of(
    snapshot: Snapshot,
    hosts: Mapping[str, Sequence[str]],
    unreachable: Sequence[str],
    down: Sequence[str] = (),
) -> Cells:
    """Return the cells with these hosts; Nova has no data of the unreachable hosts.

    Raises: BadRequest.
    """
    if not (hosts or unreachable or down):
        return NO_CELLS
    row_of = _RowOf(snapshot)
    lost, failed = ({row for host in each for row in row_of(host)} for each in (unreachable, down))
    no_targets = mask_of(numbers(lost | failed), snapshot.size)
    no_members = np.zeros(snapshot.size, dtype=np.bool_)
    of_lost = dict.fromkeys(lost, InCell("", no_members, _DOWN))
    if not hosts:
        others = InCell("", ~no_targets) if lost | failed else None
        return Cells(of_lost, others, down=failed)
    of_root: dict[int, InCell] = {}
    for cell, names in hosts.items():
        rows = [row for name in names for row in row_of(name)]
        if twice := [row for row in rows if row in of_root]:
            name = snapshot.entries.state(twice[0]).provider.name
            raise BadRequest(
                f"cells has {name} in {of_root[twice[0]].name} and in {cell}. A host is in one "
                "cell: remove it from the other."
            )
        members = mask_of(numbers(rows), snapshot.size) & ~no_targets
        of_root |= dict.fromkeys(rows, InCell(cell, members))
    listed = [name for names in hosts.values() for name in names]
    if not of_root:
        raise BadRequest(
            f"No host in cells is a root provider: {first(listed)}. Give the names of hosts that "
            "GET /resource_providers lists."
        )
    assumes = "A consumer stays in the cell of its host."
    if unmatched := [name for name in listed if not row_of(name)]:
        assumes += f" These hosts of cells are no root providers: {first(unmatched)}."
    return Cells(of_root | of_lost, InCell("", no_members, _UNKNOWN), (assumes,), failed)


class _RowOf:
    """The rows of roots by their UUIDs and names, or by short names if only one has it."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._rows: defaultdict[str, set[int]] = defaultdict(set)
        self._short: defaultdict[str, set[int]] = defaultdict(set)
        for row in np.flatnonzero(snapshot.forest.is_root).tolist():
            provider = snapshot.entries.state(row).provider
            for name in (provider.uuid, provider.name):
                self._rows[name].add(row)
            self._short[short_name(provider.name)].add(row)

    def __call__(self, host: str) -> Iterable[int]:
        """Return the row of a host, or nothing."""
        if rows := self._rows.get(host) or self._rows.get(canonical(host)):
            return rows
        short = self._short.get(short_name(host), ())
        return short if len(short) == 1 else ()
