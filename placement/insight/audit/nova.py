"""Lists servers, migrations and hypervisors of nova, through openstacksdk.

Live consumers that a list lacks would count as orphans, so only a complete list is returned.
Servers of cells that are down are listed since microversion 2.69; migrations have a UUID since
2.59, and hypervisors since 2.53. Lists do not have servers that are soft-deleted, and nova may
leave out servers of cells that are down, so servers that a list lacks are requested one by one
(``current_hosts``).
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from keystoneauth1.exceptions import ClientException
from openstack import exceptions

from placement.insight.audit.model import MIGRATION, InvalidList, LiveConsumers, NovaAggregate
from placement.insight.consumers.model import UNKNOWN_TYPE
from placement.insight.nova_lists import InvalidPage, NovaList, pages

SERVERS_VERSION: Final = "2.69"
MIGRATIONS_VERSION: Final = "2.59"
HYPERVISORS_VERSION: Final = "2.53"
AGGREGATES_VERSION: Final = "2.41"

_ENDED: Final = frozenset({"cancelled", "completed", "confirmed", "done", "reverted"})
"""The states of a migration that ended without a claim; in error and failed it may have one."""

CELL_DOWN: Final = "UNKNOWN"

_MOVING: Final = frozenset(
    {"BUILD", "MIGRATING", "REBUILD", "RESIZE", "REVERT_RESIZE", CELL_DOWN, "VERIFY_RESIZE"}
)
"""The states of a server whose claims are about to change, or are unknown."""

_WITHOUT_CLAIM: Final = frozenset({"DELETED", "SHELVED_OFFLOADED", "SOFT_DELETED"})
_HOST: Final = "OS-EXT-SRV-ATTR:hypervisor_hostname"

Json = dict[str, Any]


def read_nova(
    connection: Any, *, listed_at: datetime, types: frozenset[str], covers_untyped: bool
) -> LiveConsumers:
    """Return servers and migrations of all projects, and hypervisors.  Raises: InvalidList."""
    with _translated():
        compute = connection.compute
        migrations = list(pages(compute, _MIGRATIONS, {}))
        servers = list(pages(compute, _SERVERS, {"all_tenants": "1"}))
        # Listed twice: the first list lacks the migrations of a cell that was down at that moment.
        migrations.extend(pages(compute, _MIGRATIONS, {}))
        listed = list(pages(compute, _HYPERVISORS, {}))
        hypervisors = {
            _uuid_of_row(row, "id"): str(row.get("hypervisor_hostname")) for row in listed
        }
        down = {
            str(row.get("hypervisor_hostname")) for row in listed if row.get("state") == "down"
        }
        aggregates = _aggregates(compute)
    is_complete = all(server.get("status") != CELL_DOWN for server in servers)
    if not is_complete:
        types -= {MIGRATION, UNKNOWN_TYPE}  # nova leaves out the migrations of such a cell
        covers_untyped = False
    current = [row for row in migrations if row.get("status") not in _ENDED]
    moving = {migration.get("instance_uuid") for migration in current}
    hosts = {
        _uuid_of_row(server, "id"): None if server["id"] in moving else _host(server)
        for server in servers
    }
    hosts |= {_uuid_of_row(migration, "uuid"): None for migration in current}
    return LiveConsumers(
        hosts,
        listed_at,
        types,
        hypervisors if is_complete else None,
        down=down,
        moving={
            str(UUID(server["id"])): str(server[_HOST])
            for server in servers
            if server.get(_HOST) and hosts[str(UUID(server["id"]))] is None
            if server.get("status") not in _WITHOUT_CLAIM
        },
        evacuated=_evacuated(migrations),
        hidden={
            str(UUID(server["id"]))
            for server in servers
            if _HOST not in server and server.get("status") != CELL_DOWN
        },
        covers_untyped=covers_untyped,
        aggregates=aggregates if is_complete else None,
    )


def _host(server: Json) -> str | None:
    """Return the name of the provider that a server runs on, None if it moves or is unknown."""
    if server.get("status") in _MOVING | _WITHOUT_CLAIM or server.get("OS-EXT-STS:task_state"):
        return None
    name: str | None = server.get(_HOST)
    return name


def _evacuated(migrations: Iterable[Json]) -> Mapping[str, Collection[str]]:
    """Return the hosts that servers were evacuated from and that have not cleaned up.

    The status is "done" until nova-compute starts on the source again, removes the server and its
    allocations, and sets "completed".
    """
    sources: dict[str, set[str]] = defaultdict(set)
    for row in migrations:
        if (row.get("migration_type"), row.get("status")) == ("evacuation", "done"):
            sources[str(row.get("instance_uuid"))].add(str(row.get("source_node")))
    return sources


def _aggregates(compute: Any) -> Mapping[str, NovaAggregate] | None:
    """Return the aggregates of nova by UUID, None if nova does not list them to this user."""
    response = compute.get("/os-aggregates", microversion=AGGREGATES_VERSION, skip_cache=True)
    if response.status_code != 200:
        return None
    try:
        return {
            row["uuid"]: NovaAggregate(row["name"], frozenset(row["hosts"]))
            for row in response.json()["aggregates"]
        }
    except (KeyError, TypeError, ValueError):
        return None


def _uuid_of_row(row: Json, name: str) -> str:
    try:
        return str(UUID(row[name]))
    except (KeyError, TypeError, ValueError):
        raise InvalidList(
            f"nova listed an entry whose {name} is not a UUID: {row!r:.200}."
        ) from None


_SERVERS = NovaList("/servers/detail", "servers", "id", SERVERS_VERSION)
_HYPERVISORS = NovaList("/os-hypervisors", "hypervisors", "id", HYPERVISORS_VERSION)
_MIGRATIONS = NovaList("/os-migrations", "migrations", "uuid", MIGRATIONS_VERSION)


def current_hosts(connection: Any, uuids: Iterable[str]) -> Mapping[str, str | None]:
    """Return the hosts of the servers that exist, by requesting each server; see ``_host``.

    Only "not found" shows that a server does not exist. Raises: InvalidList for errors of nova.
    """
    hosts: dict[str, str | None] = {}
    with _translated():
        for uuid in uuids:
            response = connection.compute.get(
                f"/servers/{uuid}", microversion=SERVERS_VERSION, skip_cache=True
            )
            if response.status_code == 404 and _is_of_nova(response):
                continue
            exceptions.raise_from_response(response)
            hosts[uuid] = _host_of(response)
    return hosts


def _host_of(response: Any) -> str | None:
    try:
        return _host(response.json()["server"])
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def _is_of_nova(response: Any) -> bool:
    """Return whether nova returned the 404: a proxy returns 404 for an unknown path."""
    try:
        return "itemNotFound" in response.json()
    except (ValueError, TypeError):
        return False


@contextmanager
def _translated() -> Iterator[None]:
    """Translate errors of the SDK.  Raises: InvalidList."""
    try:
        yield
    except InvalidPage as error:
        raise InvalidList(str(error)) from error
    except (exceptions.SDKException, ClientException) as error:
        text = str(error).partition("\n")[0].rstrip(".")
        raise InvalidList(
            f"The servers, migrations and hypervisors of nova could not be listed: {text}. No "
            "plan was written: consumers that are not in a partial list would be reported as "
            "orphaned."
        ) from error
