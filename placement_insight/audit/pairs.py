"""Pairs of a server and a migration that has the claim on the host of the server.

Nova moves the claim of a server to the migration, and claims the target for the server. If the
migration is aborted or fails, the server can stay on the source without a claim: no plan may
remove the claim of the migration, because the server runs on it. Lists of nova have the server of
a migration. For other lists, it is a server on the same host, of the same project and with equal
amounts.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from placement_insight.audit.consumers.model import ListedConsumer
from placement_insight.audit.model import (
    MIGRATION,
    AuditedProviders,
    Hidden,
    LiveConsumers,
    Moves,
    RunsOn,
)

MOVING: Final = "the server is being moved"
_AMBIGUOUS: Final = "a server without a claim on its host may run on it"

_Key = tuple[str | None, frozenset[tuple[str, int]]]
"""A project and amounts by class."""


@dataclass(frozen=True, slots=True)
class Held:
    """A claim on which a server may run, with the reason why this is not known."""

    reason: str


class Claimants:
    """Servers without a claim on their hosts, and servers whose hosts are not known."""

    def __init__(self, live: LiveConsumers, providers: AuditedProviders) -> None:
        self._live, self._roots = live, providers.roots
        self._without: dict[str, dict[str, ListedConsumer | None]] = defaultdict(dict)
        self._hidden: dict[_Key, list[frozenset[str]]] = defaultdict(list)

    def add(self, server: str, host: str | None, consumer: ListedConsumer | None) -> None:
        """Add a server without a claim in the tree of its host; None has no allocations."""
        root = self._roots.get(host or "")
        if root is not None:
            self._without[root][server] = consumer

    def add_hidden(self, consumer: ListedConsumer) -> None:
        """Add a server whose host is not known."""
        self._hidden[_key(consumer)].append(self._trees(consumer.allocations))

    def server_of(self, claim: ListedConsumer) -> str | Held | None:
        """Return the server that runs on a claim that is not live, None if no server does."""
        trees = self._trees(claim.allocations)
        if self._live.servers_of is None:
            return self._similar(claim, trees) if claim.type in (None, MIGRATION) else None
        server = self._live.servers_of.get(claim.uuid.lower(), "")
        is_without = any(server in self._without.get(root, ()) for root in trees)
        match self._live.places.get(server):
            case RunsOn() if is_without:
                return server
            case Moves() if is_without:
                return Held(MOVING)
            case Hidden(reason):
                return Held(reason)
            case _:
                return None

    def _similar(self, claim: ListedConsumer, trees: frozenset[str]) -> str | Held | None:
        possible = {
            uuid: server
            for root in trees
            for uuid, server in self._without.get(root, {}).items()
            if server is None or server.project_id == claim.project_id
        }
        equal = [
            uuid for uuid, server in possible.items() if server and _key(server) == _key(claim)
        ]
        is_hidden = any(trees.isdisjoint(others) for others in self._hidden.get(_key(claim), ()))
        if len(equal) == 1 and not is_hidden:
            return equal[0]
        return Held(_AMBIGUOUS) if possible or is_hidden else None

    def _trees(self, providers: Iterable[str]) -> frozenset[str]:
        return frozenset(self._roots[uuid] for uuid in providers if uuid in self._roots)


def _key(consumer: ListedConsumer) -> _Key:
    amounts = Counter[str]()
    for by_class in consumer.allocations.values():
        amounts.update(by_class)
    return consumer.project_id, frozenset(amounts.items())
