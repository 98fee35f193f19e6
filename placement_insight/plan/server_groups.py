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
    """Server groups by server, and the current ``roots`` of their members.

    ``bound`` are members of groups with affinity of which another member has allocations, too.
    """

    def __init__(self, groups: Sequence[ServerGroup], roots: Mapping[str, int]) -> None:
        self.roots = roots
        self.apart = [group for group in groups if not group.has_affinity]
        self.of_server: defaultdict[str, list[ServerGroup]] = defaultdict(list)
        self.bound = set[str]()
        for group in groups:
            located = group.members & roots.keys()
            for member in group.members:
                self.of_server[member].append(group)
                if group.has_affinity and located - {member}:
                    self.bound.add(member)

    def allowed(self, server: str, targets: Mask, roots: Mapping[str, int]) -> Mask:
        """Return the targets that the groups of a server allow; ``roots`` are of members."""
        if server in self.bound:
            return np.zeros_like(targets)
        for group in self.of_server.get(server, ()):
            if not group.has_affinity:
                counts = group.others(server, roots)
                full = [root for root, count in counts.items() if count >= group.most]
                targets = targets & ~np.isin(np.arange(len(targets)), full)
        return targets


NO_GROUPS: Final = ServerGroups((), {})
"""The server groups are not known."""
