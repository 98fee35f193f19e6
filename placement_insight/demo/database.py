"""Writes a cloud into a database, as services would have written it; and requests that fail."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any, Final
from wsgiref.types import WSGIApplication

import sqlalchemy as sa
import webob

from placement.core.model import CUSTOM_PREFIX, Provider, ProviderState
from placement.core.search.candidate_streams import batches
from placement.db import clocks, tables
from placement.db.maintenance.reconcile import advance_sequences
from placement.db.store import Store
from placement.objects import resource_class, trait
from placement_insight.demo.cloud import UNTIL, Cloud, CloudConsumer, cloud
from placement_insight.hosts import DISABLED

USER = "nova"
Ids = Mapping[str, int]
_PROVIDERS = tables.resource_providers
_allocation = tables.allocations.c
_QUERIES: Final = (
    "resources=VCPU:16,MEMORY_MB:32768,CUSTOM_GPU:3&required=CUSTOM_GPU_HOST",
    "resources=VCPU:4,MEMORY_MB:8192,DISK_GB:200000",
    "resources=VCPU:8,MEMORY_MB:16384&required=CUSTOM_NVIDIA_H100",
    "resources1=VGPU:4&resources2=VGPU:4&resources3=VGPU:4&group_policy=isolate",
    "resources=PCPU:32&required=HW_CPU_X86_AVX512F&root_required=!COMPUTE_STATUS_DISABLED",
)
_HEADERS: Final = {
    "X-Auth-Token": "admin",
    "OpenStack-API-Version": "placement latest",
    "User-Agent": "nova-scheduler demo",
}


def fill(store: Store, application: WSGIApplication, hosts: int) -> bool:
    """Write the cloud, and send changes and requests that fail; return False if it has providers.

    The application accepts any token.
    """
    with store.read() as tx:
        if tx.connection.scalar(sa.select(tables.resource_providers.c.id).limit(1)) is not None:
            return False
    built = cloud(hosts)
    load(store, built)
    for request in (*_changes(built), *_refused(built)):
        _ = request.get_response(application).body  # requests are recorded after the response
    return True


def _changes(built: Cloud) -> Iterator[webob.Request]:
    """Yield requests that enable a host, and disable it again."""
    for state in [each for each in built.states if DISABLED in each.traits][:1]:
        for later, traits in enumerate((state.traits - {DISABLED}, state.traits)):
            generation = state.provider.generation + later
            yield _put(
                f"/resource_providers/{state.provider.uuid}/traits",
                {"resource_provider_generation": generation, "traits": sorted(traits)},
            )


def _put(path: str, body: Mapping[str, Any]) -> webob.Request:
    headers = {**_HEADERS, "Content-Type": "application/json"}
    return webob.Request.blank(path, method="PUT", headers=headers, json=body)


def _refused(built: Cloud) -> Iterator[webob.Request]:
    """Yield searches, and claims of servers for all memory of hosts, which is partly reserved."""
    for query in _QUERIES:
        yield webob.Request.blank(f"/allocation_candidates?{query}", headers=_HEADERS)
    inventories = {state.provider.uuid: state.inventories for state in built.states}
    of_servers = (each for each in built.consumers if each.type == "INSTANCE")
    firsts = ((each, *next(iter(each.allocations.items()))) for each in of_servers)
    servers = [(each, host) for each, host, amounts in firsts if "MEMORY_MB" in amounts]
    for consumer, host in servers[:: len(servers) // 3 + 1]:
        memory = inventories[host]["MEMORY_MB"].max_unit
        claim: Mapping[str, Any] = {
            "allocations": {host: {"resources": {"MEMORY_MB": memory}}},
            "project_id": consumer.project,
            "user_id": USER,
            "consumer_generation": 1,
            "consumer_type": "INSTANCE",
        }
        yield _put(f"/allocations/{consumer.uuid}", claim)


def load(store: Store, cloud: Cloud) -> None:
    """Write a cloud into a store without providers, as services would have written it."""
    for name in sorted({name for state in cloud.states for name in state.inventories}):
        if name.startswith(CUSTOM_PREFIX):
            resource_class.ensure(store, name)
    for name in sorted({name for state in cloud.states for name in state.traits}):
        trait.ensure(store, name)
    store.write(lambda tx: _load(tx.connection, cloud))


def _load(connection: sa.Connection, cloud: Cloud) -> None:
    write(connection, cloud)
    count_usage(connection)
    advance_sequences(connection)
    clocks.start_epoch(connection)  # running services load the cloud


def count_usage(connection: sa.Connection) -> None:
    """Set all usage counters at once; ``db sync`` does it in batches, which takes minutes."""
    allocated = sa.select(sa.func.coalesce(sa.func.sum(_allocation.used), 0)).where(
        _allocation.resource_provider_id == tables.inventories.c.resource_provider_id,
        _allocation.resource_class_id == tables.inventories.c.resource_class_id,
    )
    connection.execute(tables.inventories.update().values(used=allocated.scalar_subquery()))
    connection.execute(_PROVIDERS.update().values(counted_generation=_PROVIDERS.c.generation))


def write(connection: sa.Connection, cloud: Cloud) -> None:
    """Write the rows of a cloud into a database without providers; classes and traits exist.

    Only tables and columns that the database of openstack-placement also has are written.
    """
    providers = {state.provider.uuid: state.provider.id for state in cloud.states}
    classes = _ids(connection, tables.resource_classes.c.name)
    _insert(
        connection, _PROVIDERS, (_provider(state.provider, providers) for state in cloud.states)
    )
    _insert(
        connection,
        tables.inventories,
        (row for state in cloud.states for row in _inventories(state, classes)),
    )
    _write_traits_and_aggregates(connection, cloud)
    _write_consumers(connection, cloud.consumers, providers, classes)


def _insert(connection: sa.Connection, table: sa.Table, rows: Iterable[Mapping[str, Any]]) -> None:
    for some in batches({"created_at": UNTIL, **row} for row in rows):
        connection.execute(table.insert(), some)


def _ids(connection: sa.Connection, name: sa.Column[Any]) -> Ids:
    """Return the ids of the rows of a table by their name."""
    return dict(connection.execute(sa.select(name, name.table.c.id)).all())


def _provider(provider: Provider, ids: Ids) -> Mapping[str, Any]:
    return {
        "id": provider.id,
        "uuid": provider.uuid,
        "name": provider.name,
        "generation": provider.generation,
        "parent_provider_id": provider.parent_uuid and ids[provider.parent_uuid],
        "root_provider_id": ids[provider.root_uuid],
    }


def _inventories(state: ProviderState, classes: Ids) -> Iterable[Mapping[str, Any]]:
    for name, inventory in state.inventories.items():
        yield {
            "resource_provider_id": state.provider.id,
            "resource_class_id": classes[name],
            **asdict(inventory),
        }


def _write_traits_and_aggregates(connection: sa.Connection, cloud: Cloud) -> None:
    uuids = frozenset().union(*(state.aggregates for state in cloud.states))
    _insert(connection, tables.placement_aggregates, ({"uuid": uuid} for uuid in sorted(uuids)))
    aggregates = _ids(connection, tables.placement_aggregates.c.uuid)
    traits = _ids(connection, tables.traits.c.name)
    _insert(
        connection,
        tables.resource_provider_aggregates,
        (
            {"resource_provider_id": state.provider.id, "aggregate_id": aggregates[uuid]}
            for state in cloud.states
            for uuid in state.aggregates
        ),
    )
    _insert(
        connection,
        tables.resource_provider_traits,
        (
            {"resource_provider_id": state.provider.id, "trait_id": traits[name]}
            for state in cloud.states
            for name in state.traits
        ),
    )


def _write_consumers(
    connection: sa.Connection,
    consumers: Collection[CloudConsumer],
    providers: Ids,
    classes: Ids,
) -> None:
    projects = sorted({consumer.project for consumer in consumers})
    types = sorted({consumer.type for consumer in consumers if consumer.type})
    _insert(connection, tables.projects, ({"external_id": project} for project in projects))
    _insert(connection, tables.users, [{"external_id": USER}])
    _insert(connection, tables.consumer_types, ({"name": name} for name in types))
    project_ids = _ids(connection, tables.projects.c.external_id)
    type_ids = _ids(connection, tables.consumer_types.c.name)
    user_id = _ids(connection, tables.users.c.external_id)[USER]
    _insert(
        connection,
        tables.consumers,
        (
            {
                "created_at": consumer.created_at,
                "uuid": consumer.uuid,
                "project_id": project_ids[consumer.project],
                "user_id": user_id,
                "generation": 1,
                "consumer_type_id": consumer.type and type_ids[consumer.type],
            }
            for consumer in consumers
        ),
    )
    _insert(
        connection,
        tables.allocations,
        (
            {
                "created_at": consumer.created_at,
                "consumer_id": consumer.uuid,
                "resource_provider_id": providers[provider],
                "resource_class_id": classes[name],
                "used": amount,
            }
            for consumer in consumers
            for provider, amounts in consumer.allocations.items()
            for name, amount in amounts.items()
        ),
    )
