"""Servers of a list whose allocations are not, or not only, on their hosts."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from placement.core.text import timestamp
from placement.insight.audit.kinds import (
    AllocationsOnOtherHost,
    DoubledConsumer,
    Named,
    ServerWithoutAllocations,
)
from placement.insight.audit.model import AuditedProviders, Finding, LiveConsumers, Skipped
from placement.insight.consumers.model import ListedConsumer

DOUBLED: Final = DoubledConsumer.code
ELSEWHERE: Final = AllocationsOnOtherHost.code
MISSING: Final = ServerWithoutAllocations.code
_MOVING: Final = "the server is being moved"
_HIDDEN: Final = "nova does not return the host of the server to this user"
_NO_PROVIDER: Final = "no provider is the host of the server"
_CHANGED: Final = "the server changed while it was compared"

Trees = Mapping[str, Mapping[str, Mapping[str, int]]]
"""Allocations by the UUIDs of the root and of the provider."""

CurrentHosts = Callable[[Collection[str]], Mapping[str, str | None]]
"""Returns the hosts of the servers that still exist, None for servers that are being moved."""


class ServerFindings(NamedTuple):
    """Findings about the allocations of servers, and the servers that were not compared."""

    findings: list[Finding]
    skipped: list[Skipped]


def is_odd(consumer: ListedConsumer, live: LiveConsumers, providers: AuditedProviders) -> bool:
    """Return whether a listed instance has allocations on several providers, or not on its host.

    Cost: a few look-ups; this is called for each consumer.
    """
    name = live.hosts.get(consumer.uuid.lower()) or live.moving.get(consumer.uuid.lower())
    if name is None or not consumer.allocations:
        return False
    (first, *others) = consumer.allocations
    return bool(others) or providers.names.get(providers.roots.get(first, "")) != name


def findings(
    located: Iterable[ListedConsumer],
    with_allocations: Collection[str],
    live: LiveConsumers,
    providers: AuditedProviders,
    current: CurrentHosts | None,
) -> ServerFindings:
    """Return the findings about servers whose hosts the list has.

    ``located`` are the odd consumers, ``with_allocations`` the UUIDs of all listed consumers with
    allocations. ``current`` is None if the list is a file, which cannot be asked again.
    """
    hosts = _hosts_by_name(live, providers)
    found = _Found()
    for consumer in located:
        _compare(found, consumer, live, hosts, providers)
    for uuid in sorted(live.hosts.keys() - with_allocations):
        name = live.hosts[uuid]
        if name is not None and _is_unknown(name, live, hosts):
            found.skipped[MISSING, _NO_PROVIDER] += 1
        elif name is not None:
            found.suspects[uuid] = _missing(uuid, name, hosts.get(name), providers.names)
        elif uuid in live.moving:
            found.skipped[MISSING, _MOVING] += 1
        elif uuid in live.hidden:
            found.skipped[MISSING, _HIDDEN] += 1
    confirmed = _confirmed(found.suspects, live, current)
    for uuid in found.suspects.keys() - confirmed:
        found.skipped[found.suspects[uuid].code, _CHANGED] += 1
    suspects = (finding for uuid, finding in sorted(found.suspects.items()) if uuid in confirmed)
    skipped = sorted(found.skipped.items())
    return ServerFindings(
        [*found.doubled, *suspects],
        [Skipped(code, count, reason) for (code, reason), count in skipped if count],
    )


@dataclass(slots=True)
class _Found:
    """The findings so far; ``suspects``, by server, are confirmed in the end."""

    doubled: list[Finding] = field(default_factory=list)
    suspects: dict[str, Finding] = field(default_factory=dict)
    skipped: Counter[tuple[str, str]] = field(default_factory=Counter)


def _compare(
    found: _Found,
    consumer: ListedConsumer,
    live: LiveConsumers,
    hosts: Mapping[str, str],
    providers: AuditedProviders,
) -> None:
    """Add the findings about a consumer that is a server with a host."""
    uuid = consumer.uuid.lower()
    settled = live.hosts[uuid]
    name = settled or live.moving[uuid]
    host = hosts.get(name)
    trees = _trees(consumer, providers)
    root = host if host is None or host in trees else providers.roots.get(host)
    if root is not None and root in trees:
        doubled = list(_on_other_hosts(consumer, root, trees, live, providers.names))
        found.doubled += doubled if settled else []
        found.skipped[DOUBLED, _MOVING] += bool(doubled and not settled)
    elif not settled:
        found.skipped[ELSEWHERE, _MOVING] += 1
    elif _is_unknown(name, live, hosts):
        found.skipped[ELSEWHERE, _NO_PROVIDER] += 1
    else:
        found.suspects[uuid] = _elsewhere(consumer, name, host, trees, providers.names)


def _is_unknown(name: str, live: LiveConsumers, hosts: Mapping[str, str]) -> bool:
    """Return whether neither a provider nor a hypervisor has the name of a host."""
    return name not in hosts and name not in (live.hypervisors or {}).values()


def _confirmed(
    suspects: Mapping[str, Finding], live: LiveConsumers, current: CurrentHosts | None
) -> set[str]:
    """Return the servers that still are on the same host: consumers were read after the list."""
    if current is None:
        return {*suspects}
    now = current(sorted(suspects))
    return {uuid for uuid in suspects if now.get(uuid) == live.hosts[uuid]}


def _hosts_by_name(live: LiveConsumers, providers: AuditedProviders) -> Mapping[str, str]:
    """Return the UUIDs of providers by the name that nova has: a provider may be renamed."""
    by_name = {name: uuid for uuid, name in providers.names.items()}
    hypervisors = {name: uuid for uuid, name in (live.hypervisors or {}).items()}
    return by_name | {name: uuid for name, uuid in hypervisors.items() if uuid in providers.names}


def _trees(consumer: ListedConsumer, providers: AuditedProviders) -> Trees:
    trees: dict[str, dict[str, Mapping[str, int]]] = defaultdict(dict)
    for provider, amounts in consumer.allocations.items():
        if provider in providers.roots:
            trees[providers.roots[provider]][provider] = amounts
    return trees


def _on_other_hosts(
    consumer: ListedConsumer,
    host: str,
    trees: Trees,
    live: LiveConsumers,
    names: Mapping[str, str],
) -> Iterator[Finding]:
    """Yield the allocations of the same class in the trees of other hosts.

    An evacuation leaves allocations on the source, which nova removes when the source returns.
    """
    classes = {name for amounts in trees[host].values() for name in amounts}
    others = [
        root
        for root, tree in trees.items()
        if root != host and any(classes & amounts.keys() for amounts in tree.values())
    ]
    sources = live.evacuated.get(consumer.uuid.lower(), ())
    down = {root for root in others if names[root] in sources and names[root] in live.down}
    left = [root for root in others if root not in down]
    if left:
        cause = f"the instance runs on {names[host]}; an evacuation or a migration left the rest"
        repair = f"remove its allocations outside of {names[host]}"
        yield Finding(_doubled(consumer, host, left, trees, names), cause, repair)
    for root in sorted(down):
        cause = f"the instance was evacuated to {names[host]}, and {names[root]} is down"
        repair = f"none: nova removes the allocations when {names[root]} returns"
        yield Finding(_doubled(consumer, host, [root], trees, names), cause, repair, ends=True)


def _doubled(
    consumer: ListedConsumer,
    host: str,
    others: Collection[str],
    trees: Trees,
    names: Mapping[str, str],
) -> DoubledConsumer:
    return DoubledConsumer(
        **values_of(consumer),
        host=Named(host, names[host]),
        others=[Named(root, names[root]) for root in others],
        providers=sorted(uuid for root in others for uuid in trees[root]),
    )


def _elsewhere(
    consumer: ListedConsumer,
    name: str,
    host: str | None,
    trees: Trees,
    names: Mapping[str, str],
) -> Finding:
    kind = AllocationsOnOtherHost(**values_of(consumer), host=Named(host, name))
    listed = ", ".join(names[root] for root in trees)
    cause = f"nova says that the server is on {name}; its allocations are on {listed}"
    return Finding(kind, cause, f"replace its allocations by those on {name}")


def _missing(uuid: str, name: str, host: str | None, names: Mapping[str, str]) -> Finding:
    kind = ServerWithoutAllocations(uuid, Named(host, names.get(host or "", name)))
    cause = f"the server is on {name}, whose capacity can be claimed a second time"
    return Finding(kind, cause, "create its allocations from its flavor")


def values_of(consumer: ListedConsumer) -> dict[str, Any]:
    """Return the fields of a finding that describe a consumer."""
    return {
        "consumer": consumer.uuid,
        "type": consumer.type,
        "project_id": consumer.project_id,
        "user_id": consumer.user_id,
        "generation": consumer.generation,
        "written_at": timestamp(consumer.written_at),
        "allocations": consumer.allocations,
    }
