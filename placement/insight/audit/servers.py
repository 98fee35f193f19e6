"""Findings about consumers: orphans, and servers whose allocations are not only on their hosts."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final, Self

from placement.core.claims import Amounts
from placement.core.text import timestamp
from placement.insight.audit.finding import PLAN_LIVE, Finding, Named
from placement.insight.audit.hosts import is_bare_metal
from placement.insight.audit.model import AuditedProviders, LiveConsumers, Skipped
from placement.insight.consumers.model import ListedConsumer

_HEAL: Final = "nova-manage placement heal_allocations --instance {consumer}"
_MOVING: Final = "the server is being moved"
_NO_PROVIDER: Final = "no provider is the host of the server"
_CHANGED: Final = "the server changed while it was compared"

Trees = Mapping[str, Mapping[str, Mapping[str, int]]]
"""Allocations by the UUIDs of the root and of the provider."""

CurrentHosts = Callable[[Collection[str]], Mapping[str, str | None]]
"""Returns the hosts of the servers that still exist, None for servers that are being moved."""


class OfConsumer(Finding):
    """A finding about a consumer, with what its repair compares."""

    consumer: str
    type: str | None
    project_id: str | None
    user_id: str | None
    generation: int
    written_at: str | None
    allocations: Amounts

    @classmethod
    def of(cls, consumer: ListedConsumer, **others: Any) -> Self:
        """Return the finding about a consumer; ``others`` are the other fields."""
        return cls(
            consumer=consumer.uuid,
            type=consumer.type,
            project_id=consumer.project_id,
            user_id=consumer.user_id,
            generation=consumer.generation,
            written_at=timestamp(consumer.written_at),
            allocations=consumer.allocations,
            **others,
        )


class OrphanedConsumer(OfConsumer, code="orphaned_consumer", command=PLAN_LIVE):
    """A consumer that the list of live consumers lacks."""

    cause: str = "the list of live consumers does not have it"
    repair: str = "remove its allocations, and the consumer"


class DoubledConsumer(OfConsumer, code="doubled_consumer", command=PLAN_LIVE):
    """A server with allocations on ``others``, whose ``providers`` have them, beside its host."""

    host: Named
    others: Sequence[Named]
    providers: Sequence[str]


class AllocationsOnOtherHost(
    OfConsumer, code="allocations_on_other_host", command=f"{_HEAL} --force"
):
    """A server with allocations, but none on its host."""

    host: Named


class ServerWithoutAllocations(Finding, code="server_without_allocations", command=_HEAL):
    """A server with a host and without allocations."""

    repair: str = "create its allocations from its flavor"
    consumer: str
    host: Named


class Servers:
    """The servers of a list, compared with consumers one by one.

    ``skipped`` are the numbers of servers that were not compared, by code and reason; the reason
    is empty if there is nothing to compare.
    """

    def __init__(self, live: LiveConsumers, providers: AuditedProviders) -> None:
        self._live = live
        self._names, self._roots = providers.names, providers.roots
        self._compute_nodes = providers.hosts
        self._hypervisors = {name: uuid for uuid, name in (live.hypervisors or {}).items()}
        # A provider may be renamed: nova has the name of its UUID.
        self._hosts = {name: uuid for uuid, name in self._names.items()}
        self._hosts |= {n: uuid for n, uuid in self._hypervisors.items() if uuid in self._names}
        self._doubled: list[Finding] = []
        self._suspects: dict[str, Finding] = {}
        self._skipped = Counter[tuple[str, str]]()

    def compare(self, consumer: ListedConsumer, too_new: str) -> None:
        """Compare the allocations of an instance with its host, if the list has its host.

        ``too_new`` is the reason why the consumer can have no finding, empty if it can.
        Cost: a few look-ups if all allocations are on the host; this is called for each consumer.
        """
        uuid = consumer.uuid.lower()
        settled = self._live.hosts.get(uuid)
        name = settled or self._live.moving.get(uuid)
        if name is None:
            for kind in (DoubledConsumer, AllocationsOnOtherHost):
                self._skipped[kind.code, self._live.hidden.get(uuid, "")] += 1
            return
        first, *others = consumer.allocations
        if not others and self._names.get(self._roots.get(first, "")) == name:
            return
        host, trees = self._hosts.get(name), self._trees(consumer)
        root = host if host is None or host in trees else self._roots.get(host)
        skipped = too_new or ("" if settled else _MOVING)
        if root is not None and root in trees:
            doubled = list(self._on_other_hosts(consumer, root, trees))
            self._doubled += [] if skipped else doubled
            self._skipped[DoubledConsumer.code, skipped] += bool(doubled)
        elif skipped:
            self._skipped[AllocationsOnOtherHost.code, skipped] += 1
        elif self._is_unknown(name):
            self._skipped[AllocationsOnOtherHost.code, _NO_PROVIDER] += 1
        else:
            listed = ", ".join(self._names[root] for root in trees)
            cause = f"nova says that the server is on {name}; its allocations are on {listed}"
            self._suspects[uuid] = AllocationsOnOtherHost.of(
                consumer,
                host=Named(host, name),
                cause=cause,
                repair=f"replace its allocations by those on {name}",
            )

    def _is_unknown(self, name: str) -> bool:
        """Return whether neither a provider nor a hypervisor has the name of a host."""
        return name not in self._hosts and name not in self._hypervisors

    def _trees(self, consumer: ListedConsumer) -> Trees:
        trees: dict[str, dict[str, Mapping[str, int]]] = defaultdict(dict)
        for provider, amounts in consumer.allocations.items():
            if provider in self._roots:
                trees[self._roots[provider]][provider] = amounts
        return trees

    def _on_other_hosts(
        self, consumer: ListedConsumer, host: str, trees: Trees
    ) -> Iterator[DoubledConsumer]:
        """Yield the allocations in the trees of other hosts, which do not share their resources.

        They have the trait of hosts, or allocations of a class that the host also has. An
        evacuation leaves allocations on the source, which nova removes when the source returns.
        """

        def doubled(others: Sequence[str], **said: str | bool) -> DoubledConsumer:
            return DoubledConsumer.of(
                consumer,
                host=Named(host, names[host]),
                others=[Named(root, names[root]) for root in others],
                providers=sorted(uuid for root in others for uuid in trees[root]),
                **said,
            )

        names, live = self._names, self._live
        classes = {name for amounts in trees[host].values() for name in amounts}
        others = [
            root
            for root, tree in trees.items()
            if root != host
            and (
                root in self._compute_nodes
                or any(classes & amounts.keys() for amounts in tree.values())
            )
        ]
        sources = live.evacuated.get(consumer.uuid.lower(), ())
        down = {root for root in others if names[root] in sources and names[root] in live.down}
        if left := [root for root in others if root not in down]:
            cause = (
                f"the instance runs on {names[host]}; an evacuation or a migration left the rest"
            )
            repair = f"remove its allocations outside of {names[host]}"
            yield doubled(left, cause=cause, repair=repair)
        for root in sorted(down):
            cause = f"the instance was evacuated to {names[host]}, and {names[root]} is down"
            repair = f"none: nova removes the allocations when {names[root]} returns"
            yield doubled([root], cause=cause, repair=repair, ends=True)

    def _compare_without(self, uuid: str) -> None:
        """Compare a server that has no allocations; nova reserves its bare metal node."""
        code, name = ServerWithoutAllocations.code, self._live.hosts[uuid]
        if name is not None and is_bare_metal(name):
            return
        if name is not None and self._is_unknown(name):
            self._skipped[code, _NO_PROVIDER] += 1
        elif name is not None:
            host = self._hosts.get(name)
            self._suspects[uuid] = ServerWithoutAllocations(
                consumer=uuid,
                host=Named(host, self._names.get(host or "", name)),
                cause=f"the server is on {name}, whose capacity can be claimed a second time",
            )
        else:
            is_moving = uuid in self._live.moving
            self._skipped[code, _MOVING if is_moving else self._live.hidden.get(uuid, "")] += 1

    def findings(
        self, with_allocations: Collection[str], current: CurrentHosts | None
    ) -> tuple[list[Finding], list[Skipped]]:
        """Return the findings about all servers, and the servers that were not compared.

        ``with_allocations`` are the UUIDs of all listed consumers with allocations. ``current`` is
        None if the list is a file. Otherwise findings are confirmed, because consumers were read
        after the list.
        """
        for uuid in sorted(self._live.hosts.keys() - with_allocations):
            self._compare_without(uuid)
        confirmed = {*self._suspects}
        if current is not None:
            now = current(sorted(self._suspects))
            confirmed = {uuid for uuid in confirmed if now.get(uuid) == self._live.hosts[uuid]}
        for uuid in self._suspects.keys() - confirmed:
            self._skipped[self._suspects[uuid].code, _CHANGED] += 1
        suspects = [self._suspects[uuid] for uuid in sorted(confirmed)]
        skipped = sorted(self._skipped.items())
        return [*self._doubled, *suspects], [
            Skipped(code, count, reason) for (code, reason), count in skipped if count and reason
        ]
