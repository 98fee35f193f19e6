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


class GroupPlaces:
    """The roots of the members of server groups that stay or have moved."""

    def __init__(self, groups: Sequence[ServerGroup], roots: Mapping[str, int]) -> None:
        self._roots = dict(roots)
        self._groups: defaultdict[str, list[ServerGroup]] = defaultdict(list)
        for group in groups:
            for member in group.members:
                self._groups[member].append(group)

    def __contains__(self, server: str) -> bool:
        return server in self._groups

    def allowed(self, server: str, targets: Mask) -> Mask:
        """Return the targets that the groups of a server allow."""
        for group in self._groups[server]:
            others = (self._roots.get(each) for each in group.members - {server})
            roots = Counter(root for root in others if root is not None)
            if group.has_affinity and roots:
                targets = targets & np.isin(np.arange(len(targets)), list(roots))
            elif not group.has_affinity:
                full = [root for root, count in roots.items() if count >= group.most]
                targets = targets & ~np.isin(np.arange(len(targets)), full)
        return targets

    def together(self, server: str) -> frozenset[str]:
        """Return the members of its groups with affinity that have no root yet, and the server."""
        groups = (group.members for group in self._groups[server] if group.has_affinity)
        members = frozenset[str]().union(*groups)
        return members - self._roots.keys() | {server}

    def move(self, server: str, root: int) -> None:
        """Note the root of a server that moved."""
        if server in self._groups:
            self._roots[server] = root
