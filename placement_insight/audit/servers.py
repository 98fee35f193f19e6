"""Findings about consumers: orphans, and servers whose allocations are not only on their hosts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

from placement.core.claims import Amounts
from placement.core.text import timestamp
from placement_insight.audit.consumers.model import ListedConsumer
from placement_insight.audit.finding import Claim, Commands, Finding, InLivePlan, Named
from placement_insight.audit.model import AuditedProviders, LiveConsumers, listed_hypervisors

Trees = Mapping[str, Mapping[str, Mapping[str, int]]]
"""Allocations by the UUIDs of the root and of the provider."""


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


class OrphanedConsumer(OfConsumer, InLivePlan, code="orphaned_consumer"):
    """A consumer that the list of live consumers lacks."""

    cause: str = "the list of live consumers does not have it"
    repair: str = "remove its allocations, and the consumer"


class DoubledConsumer(OfConsumer, InLivePlan, code="doubled_consumer"):
    """A server with allocations on ``others``, whose ``providers`` have them, beside its host."""

    host: Named
    others: Sequence[Named]
    providers: Sequence[str]


class OfServer(InLivePlan):
    """A server without a claim on its host; a ``migration`` that is over may have this claim.

    ``host_alone`` is whether the server needs nothing but amounts of its host, None if this is not
    known: of other servers, nova-manage refuses to create the allocations, or forgets those of
    devices and shared storage.
    """

    taken_over: ClassVar[str] = "move the allocations of the migration to the server"
    show: ClassVar[str] = "server show"
    option: ClassVar[str] = ""

    consumer: str
    host: Named
    host_alone: bool | None
    migration: Claim | None = None

    def taking_over(self, migration: ListedConsumer) -> Self:
        """Return the finding whose repair moves the claim of the migration to the server."""
        claim = Claim(migration.uuid, migration.generation, migration.allocations)
        cause = f"{self.cause}; the migration {migration.uuid} has a claim there"
        return replace(self, migration=claim, cause=cause, repair=self.taken_over)

    def first_command(self, commands: Commands) -> str:
        """Return the command with which the repair begins."""
        if self.migration:
            return super().first_command(commands)
        if self.host_alone is False:
            return commands.of_openstack(self.show, self.consumer)
        option = f"{self.option}{' --dry-run' if self.host_alone is None else ''}"
        return f"nova-manage placement heal_allocations --instance {self.consumer}{option}"


class AllocationsOnOtherHost(OfConsumer, OfServer, code="allocations_on_other_host"):
    """A server with allocations, but none on its host."""

    taken_over = f"{OfServer.taken_over}, and release its other allocations"
    show = "resource provider allocation show"
    option = " --force"


class ServerWithoutAllocations(OfServer, code="server_without_allocations"):
    """A server with a host and without allocations."""


def on_other_hosts(
    consumer: ListedConsumer,
    host: str,
    trees: Trees,
    live: LiveConsumers,
    providers: AuditedProviders,
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

    names = providers.names
    classes = {name for amounts in trees[host].values() for name in amounts}
    others = [
        root
        for root, tree in trees.items()
        if root != host
        and root not in providers.lost
        and (root in providers.hosts or any(classes & amounts.keys() for amounts in tree.values()))
    ]
    sources = live.evacuated.get(consumer.uuid.lower(), ())
    down_hosts = {each.name for each in listed_hypervisors(live).values() if each.is_down}
    down = {root for root in others if names[root] in down_hosts.intersection(sources)}
    hosts = {*providers.hosts, *listed_hypervisors(live)}
    shared = [root for root in others if down and root not in hosts]
    if left := [root for root in others if root not in {*down, *shared}]:
        cause = f"the instance is on {names[host]}; an evacuation or a migration left the rest"
        cause += live.unsure
        yield doubled(left, cause=cause, repair=f"remove its allocations outside of {names[host]}")
    for root in sorted(down):
        cause = f"the instance was evacuated to {names[host]}, and {names[root]} is down"
        storage = "".join(f"; audit again then for {names[each]}" for each in shared)
        repair = f"none: nova removes the allocations when {names[root]} returns{storage}"
        yield doubled([root, *shared], cause=cause, repair=repair, ends=True)
        shared = []
