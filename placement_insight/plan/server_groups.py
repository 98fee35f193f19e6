"""Server groups of Nova: which targets the other members of its groups leave to a server."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from placement.core.snapshot.rows import Mask


@dataclass(frozen=True, slots=True)
class ServerGroup:
    """Servers on one root (affinity), or else at most ``most`` of them on each root."""

    members: frozenset[str]
    has_affinity: bool
    most: int = 1


class ServerGroups:
    """Server groups, and the current ``roots`` of their members."""

    def __init__(self, groups: Sequence[ServerGroup], roots: Mapping[str, int]) -> None:
        self.roots = roots
        self._groups: defaultdict[str, list[ServerGroup]] = defaultdict(list)
        for group in groups:
            for member in group.members:
                self._groups[member].append(group)

    def __contains__(self, server: str) -> bool:
        return server in self._groups

    def __bool__(self) -> bool:
        return bool(self._groups)

    @property
    def without_allocations(self) -> Sequence[str]:
        """The members that have no root."""
        return sorted(self._groups.keys() - self.roots.keys())

    def allowed(self, server: str, targets: Mask, roots: Mapping[str, int]) -> Mask:
        """Return the targets that the groups of a server allow; ``roots`` are of members."""
        for group in self._groups.get(server, ()):
            others = (roots.get(each) for each in group.members - {server})
            counts = Counter(root for root in others if root is not None)
            if group.has_affinity and counts:
                targets = targets & np.isin(np.arange(len(targets)), list(counts))
            elif not group.has_affinity:
                full = [root for root, count in counts.items() if count >= group.most]
                targets = targets & ~np.isin(np.arange(len(targets)), full)
        return targets

    def together(self, server: str, roots: Mapping[str, int]) -> frozenset[str]:
        """Return the members of its groups with affinity that have no root yet, and the server."""
        groups = (group.members for group in self._groups.get(server, ()) if group.has_affinity)
        return frozenset[str]().union(*groups) - roots.keys() | {server}


NO_GROUPS = ServerGroups((), {})
