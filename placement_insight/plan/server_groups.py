"""Server groups of Nova: which targets the other members of its groups leave to a server.

Nova moves servers one by one, and checks the rule at each move. It therefore moves no member of a
group with affinity: the others are on the host that the member would leave.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from placement.core.snapshot.rows import Mask


@dataclass(frozen=True, slots=True)
class ServerGroup:
    """Servers on one root (affinity), or else at most ``most`` of them on each root."""

    members: frozenset[str]
    has_affinity: bool
    most: int = 1

    def others(self, server: str, roots: Mapping[str, int]) -> Counter[int]:
        """Return the number of other members on each root; ``roots`` are of members."""
        return Counter(roots[each] for each in self.members - {server} if each in roots)


class ServerGroups:
    """Server groups, and the current ``roots`` of their members."""

    def __init__(self, groups: Sequence[ServerGroup], roots: Mapping[str, int]) -> None:
        self.roots = roots
        self._groups: defaultdict[str, list[ServerGroup]] = defaultdict(list)
        self.apart = [group for group in groups if not group.has_affinity]
        for group in groups:
            for member in group.members:
                self._groups[member].append(group)

    def __contains__(self, server: str) -> bool:
        return server in self._groups

    @property
    def without_allocations(self) -> Sequence[str]:
        """The members that have no root."""
        return sorted(self._groups.keys() - self.roots.keys())

    def is_bound(self, server: str) -> bool:
        """Return whether another member of a group with affinity has allocations as well."""
        groups = (group for group in self._groups.get(server, ()) if group.has_affinity)
        return any(not self.roots.keys().isdisjoint(each.members - {server}) for each in groups)

    def allowed(self, server: str, targets: Mask, roots: Mapping[str, int]) -> Mask:
        """Return the targets that the groups of a server allow; ``roots`` are of members."""
        if self.is_bound(server):
            return np.zeros_like(targets)
        for group in self._groups.get(server, ()):
            if not group.has_affinity:
                counts = group.others(server, roots)
                full = [root for root, count in counts.items() if count >= group.most]
                targets = targets & ~np.isin(np.arange(len(targets)), full)
        return targets


NO_GROUPS: Final = ServerGroups((), {})
"""The server groups are not known."""
