"""Pairs of a server and a migration that has the claim on the host of the server.

Nova moves the claim of a server to the migration, and claims the target for the server. If the
migration is aborted or fails, the server can stay on the source without a claim: no plan may
remove the claim of the migration, because the server runs on it. Lists of nova have the server of
a migration. For a file, it is the only server on the same host that may have it: of the same
project, and with equal amounts.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from placement_insight.audit.consumers.model import ListedConsumer
from placement_insight.audit.model import (
    AuditedProviders,
    Hidden,
    ListOfFile,
    LiveConsumers,
    Moves,
    RunsOn,
)
from placement_insight.hosts import MIGRATION

MOVING: Final = "nova is building, moving or changing the server"
NO_PROVIDER: Final = "no provider is the host of the server"
LOST: Final = "a provider of its allocations has lost its parent"
NOT_COMPARED: Final = "its server is not compared, and may run on it"
_AMBIGUOUS: Final = "a server without a claim on its host may run on it"


@dataclass(frozen=True, slots=True)
class Held:
    """A claim on which a server may run, with the reason why this is not known."""

    reason: str


class Claimants:
    """Servers without a claim on their hosts, and servers whose hosts are not known.

    ``changed`` are servers that were on another host than now when nova listed them.
    """

    def __init__(self, live: LiveConsumers, providers: AuditedProviders) -> None:
        self._live, self._roots, self._lost = live, providers.roots, providers.lost
        self._without: dict[str, dict[str, ListedConsumer | None]] = defaultdict(dict)
        self._placed, self._unplaced = set[str](), set[str]()
        self._hidden: dict[str | None, set[frozenset[str]]] = defaultdict(set)
        self.changed = set[str]()

    def add(self, server: str, host: str | None, consumer: ListedConsumer | None) -> None:
        """Add a server without a claim in the tree of its host; None has no allocations."""
        root = self._roots.get(host or "")
        if root is None:
            self._unplaced.add(server)
            self.add_hidden(consumer)
        else:
            self._placed.add(server)
            self._without[root][server] = consumer

    def add_hidden(self, consumer: ListedConsumer | None) -> None:
        """Add a server whose host is not known; None has no allocations."""
        project = consumer and consumer.project_id
        self._hidden[project].add(self._trees(consumer.allocations if consumer else ()))

    def server_of(self, claim: ListedConsumer) -> str | Held | None:
        """Return the server that runs on a claim that is not live, None if no server does."""
        trees = self._trees(claim.allocations)
        if isinstance(self._live, ListOfFile):
            return self._similar(claim, trees) if claim.type in (None, MIGRATION) else None
        return self._needing(trees, self._live.servers_of.get(claim.uuid.lower(), ""))

    def _needing(self, trees: frozenset[str], server: str) -> str | Held | None:
        """Return the server of a migration if it needs the claim of the migration."""
        is_without = any(server in self._without.get(root, ()) for root in trees)
        is_lost = server not in self._unplaced and not trees.isdisjoint(self._lost)
        match self._live.places.get(server):
            case _ if server in self.changed:
                return Held(NOT_COMPARED)
            case RunsOn(is_resized=False) if is_without:
                return server
            case RunsOn() | Moves() if is_without:
                return Held(MOVING)
            case RunsOn() | Moves() if server in (self._placed if is_lost else self._unplaced):
                return Held(LOST if is_lost else NO_PROVIDER)
            case Hidden(reason):
                return Held(reason)
            case _:
                return None

    def _similar(self, claim: ListedConsumer, trees: frozenset[str]) -> str | Held | None:
        project = claim.project_id
        possible = [
            (uuid, server)
            for root in trees
            for uuid, server in self._without.get(root, {}).items()
            if not (server and project) or server.project_id in (None, project)
        ]
        projects = {None, project} if project else {*self._hidden}
        is_hidden = any(
            not trees <= others for each in projects for others in self._hidden.get(each, ())
        )
        match possible:
            case [(uuid, server)] if server and not is_hidden and _sums(server) == _sums(claim):
                return uuid
        is_hidden |= bool(self._placed and trees & self._lost)
        return Held(_AMBIGUOUS) if possible or is_hidden else None

    def _trees(self, providers: Iterable[str]) -> frozenset[str]:
        return frozenset(self._roots[uuid] for uuid in providers if uuid in self._roots)


def _sums(consumer: ListedConsumer) -> Counter[str]:
    """Return the amounts by class."""
    amounts = Counter[str]()
    for by_class in consumer.allocations.values():
        amounts.update(by_class)
    return amounts
