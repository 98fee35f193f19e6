"""What a host is, and the types and classes of servers: one definition for all features.

Commands import this module, too, which must not import numpy.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from placement.core.snapshot.rows import Mask, Rows
    from placement.core.snapshot.snapshot import Snapshot

COMPUTE_NODE: Final = "COMPUTE_NODE"
"""The trait of hosts."""

DISABLED: Final = "COMPUTE_STATUS_DISABLED"
"""The trait of hosts whose compute service is disabled."""

INSTANCE: Final = "INSTANCE"
MIGRATION: Final = "MIGRATION"
NOUNS: Final = {INSTANCE: "server", MIGRATION: "migration"}
"""What the consumers of these types are called."""

NEEDS_OF_SERVERS: Final = (("VCPU", "PCPU"), ("MEMORY_MB",), ("DISK_GB",))
"""The classes that servers need, by alternatives."""

SERVER_CLASSES: Final = frozenset(chain(*NEEDS_OF_SERVERS))
"""The classes of every server; all others are of devices, or of networks (NET_*)."""


def hosts_of(snapshot: "Snapshot") -> "Mask":
    """Return the hosts: roots with the trait COMPUTE_NODE, or of which anything is in use.

    A sharing provider without children, a routed segment of Neutron and an agent without its host
    are no hosts. Cost: a few microseconds for each provider of the trees without the trait.
    """
    roots, root_of = snapshot.hosts, snapshot.forest.root
    computes = snapshot.traits.get(COMPUTE_NODE)
    is_host: Mask = roots & (computes.mask(snapshot.size) if computes else False)
    for row in (roots & ~is_host)[root_of].nonzero()[0].tolist():
        if any(snapshot.entries.state(row).used.values()):
            is_host[root_of[row]] = True
    return is_host


def hosts_by(is_host: "Mask", sets: "Mapping[str, Rows]") -> Iterator[tuple[str, Sequence[int]]]:
    """Yield each aggregate or trait of hosts, in the order of their names, with the hosts."""
    for name in sorted(sets):
        members = sets[name].numbers
        if hosts := members[is_host[members]].tolist():
            yield name, hosts
