"""Lists servers, migrations and hypervisors of nova, through openstacksdk.

Live consumers that a list lacks would count as orphans, so only a complete list is returned.
Servers of cells that are down are listed since microversion 2.69; migrations have a UUID since
2.59, and hypervisors since 2.53. Lists do not have servers that are soft-deleted, and nova may
leave out servers of cells that are down, so servers that a list lacks are requested one by one
(``current_places``).
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Final
from uuid import UUID

from keystoneauth1.exceptions import ClientException
from openstack import exceptions
from openstack.connection import Connection
from openstack.proxy import Proxy

from placement_insight.audit.model import (
    ENDED_MIGRATIONS,
    FailedMigration,
    Hidden,
    Hypervisor,
    InvalidList,
    ListOfNova,
    Moves,
    NoHost,
    NovaAggregate,
    Offloaded,
    Place,
    RunsOn,
    Unread,
)
from placement_insight.documents import Response
from placement_insight.hosts import SERVER_CLASSES
from placement_insight.nova_lists import CELL_DOWN, MIGRATIONS, InvalidPage, NovaList, rows_of

_SERVERS = NovaList("/servers/detail", "servers", "id", "2.69")
_HYPERVISORS = NovaList("/os-hypervisors", "hypervisors", "id", "2.53")

_FAILED: Final = frozenset({"error", "failed"})
"""The states of a migration that ended and may have a claim."""

_MOVING: Final = frozenset({"BUILD", "MIGRATING", "REBUILD", "RESIZE", "REVERT_RESIZE", CELL_DOWN})
"""The states of a server whose claims are about to change, or are unknown."""

_DELETED: Final = frozenset({"DELETED", "SOFT_DELETED"})
_DEVICES: Final = frozenset({"accel:device_profile", "hw:mem_encryption", "pci_passthrough:alias"})
_PLAIN: Final = frozenset(f"resources:{name}" for name in SERVER_CLASSES)
_HOST: Final = "OS-EXT-SRV-ATTR:hypervisor_hostname"
_HOSTS: Final = (_HOST, "source_node", "dest_node")
_HIDDEN: Final = "nova does not return the host of the server to this user"
_CELL_DOWN: Final = "the cell of the server is down"


def _place(row: Response, *, is_moving: bool = False) -> Place:
    """Return the place of the server in a row."""
    status, host = row.get("status"), row.get(_HOST)
    if _HOST not in row:
        return Hidden(_CELL_DOWN if status == CELL_DOWN else _HIDDEN)
    has_task = is_moving or row.get("OS-EXT-STS:task_state")
    if status == "SHELVED_OFFLOADED" and not has_task:
        return Offloaded()
    if not host or status in _DELETED:
        return NoHost()
    if has_task or status in _MOVING:
        return Moves(host)
    return RunsOn(host, _has_devices(row.get("flavor")), is_resized=status == "VERIFY_RESIZE")


def _has_devices(flavor: object) -> bool | None:
    """Return whether a flavor requests more than a host has itself; None if it is unknown."""
    specs = flavor.get("extra_specs") if isinstance(flavor, dict) else None
    if not isinstance(specs, dict):
        return None
    return any(name in _DEVICES or name.startswith("resources") for name in specs.keys() - _PLAIN)


def read_nova(
    connection: Connection, *, listed_at: datetime, types: frozenset[str], covers_untyped: bool
) -> ListOfNova:
    """Return servers and migrations of all projects, and hypervisors.  Raises: InvalidList."""
    with _translated():
        compute = connection.compute
        before = list(rows_of(compute, MIGRATIONS, {}))
        listed = list(rows_of(compute, _SERVERS, {"all_tenants": "1"}))
        # Listed twice: the first list lacks the migrations of a cell that was down at that moment.
        after = list(rows_of(compute, MIGRATIONS, {}))
        hypervisors = _hypervisors(compute)
        aggregates = _aggregates(connection)
    migrations = [*before, *after]
    return ListOfNova(
        _places(before, listed, after),
        listed_at,
        types,
        hypervisors,
        servers_of={
            _uuid_of_row(row, "uuid"): str(row.get("instance_uuid")) for row in migrations
        },
        evacuated=_evacuated(migrations),
        covers_untyped=covers_untyped,
        aggregates=aggregates,
        cell_is_down=isinstance(hypervisors, Unread)
        or any(row.get("status") == CELL_DOWN for row in listed),
        answering={
            str(row[name]) for row in (*listed, *migrations) for name in _HOSTS if row.get(name)
        },
        current_places=partial(current_places, connection),
        service_of=partial(service_of, connection),
    )


def _places(
    before: Iterable[Response], listed: Iterable[Response], after: Iterable[Response]
) -> Mapping[str, Place]:
    """Return the places of the servers, and of the migrations listed before and after them.

    If nova-compute stops during a move, the migration can stay in progress for ever. A server
    that had no task between both lists stays on its host.
    """
    places: dict[str, Place] = {
        _uuid_of_row(row, "uuid"): FailedMigration()
        for row in (*before, *after)
        if row.get("status") in _FAILED
    }
    first, second = (
        {
            _uuid_of_row(row, "uuid"): row.get("instance_uuid")
            for row in rows
            if row.get("status") not in ENDED_MIGRATIONS | _FAILED
        }
        for rows in (before, after)
    )
    lasting = first.keys() & second.keys()
    moving = {server for uuid, server in (first | second).items() if uuid not in lasting}
    for row in listed:
        uuid = _uuid_of_row(row, "id")
        places[uuid] = _place(row, is_moving=uuid in moving)
    for uuid, server in (first | second).items():
        place = places.get(server or "")
        if uuid not in lasting or isinstance(place, Moves | Hidden):
            places.setdefault(uuid, NoHost())
        elif place:  # without server, the claim of the migration is an orphan
            places[uuid] = FailedMigration()
    return places


def _evacuated(migrations: Iterable[Response]) -> Mapping[str, Collection[str]]:
    """Return the hosts that servers were evacuated from and that have not cleaned up.

    Nova-compute does when it starts on the source again, and sets the status "completed".
    """
    sources: dict[str, set[str]] = defaultdict(set)
    for row in migrations:
        if (row.get("migration_type"), row.get("status")) == ("evacuation", "done"):
            sources[str(row.get("instance_uuid"))].add(str(row.get("source_node")))
    return sources


def _hypervisors(compute: Proxy) -> Mapping[str, Hypervisor] | Unread:
    """Return the hypervisors by UUID; nova lists none while a cell is down."""
    try:
        return {
            _uuid_of_row(row, "id"): Hypervisor(
                str(row.get("hypervisor_hostname")),
                row.get("state") == "down",
                row.get("status") == "disabled",
            )
            for row in rows_of(compute, _HYPERVISORS, {})
        }
    except exceptions.HttpException as error:
        if (error.status_code or 0) < 500:
            raise
        return Unread(f"nova returned {error.status_code} for its hypervisors")


def _aggregates(connection: Connection) -> Mapping[str, NovaAggregate] | Unread:
    """Return the aggregates of nova by UUID."""
    response = connection.compute.get("/os-aggregates", microversion="2.41", skip_cache=True)
    try:
        exceptions.raise_from_response(response)
        return {
            row["uuid"]: NovaAggregate(row["name"], frozenset(row["hosts"]))
            for row in response.json()["aggregates"]
        }
    except (exceptions.HttpException, KeyError, TypeError, ValueError):
        return Unread(f"nova returned {response.status_code} for its aggregates")


def _uuid_of_row(row: Response, name: str) -> str:
    try:
        return str(UUID(row[name]))
    except (KeyError, TypeError, ValueError):
        raise InvalidList(
            f"nova listed an entry whose {name} is not a UUID: {row!r:.200}."
        ) from None


def current_places(connection: Connection, uuids: Iterable[str]) -> Mapping[str, Place]:
    """Return the places of the servers that exist.

    Each server is requested. Only "not found" from nova shows that a server does not exist: a
    proxy returns 404 for an unknown path. Raises: InvalidList for errors of nova.
    """
    places: dict[str, Place] = {}
    with _translated():
        for uuid in uuids:
            response = connection.compute.get(
                f"/servers/{uuid}", microversion=_SERVERS.version, skip_cache=True
            )
            try:
                document = response.json()
                is_missing = response.status_code == 404 and "itemNotFound" in document
                server = document.get("server")
            except (AttributeError, TypeError, ValueError):
                is_missing, server = False, None
            if not is_missing:
                exceptions.raise_from_response(response)
                places[uuid] = _place(server) if isinstance(server, dict) else NoHost()
    return places


def service_of(connection: Connection, hypervisor: str) -> str | None:
    """Return the compute service of a hypervisor, None if nova does not return it."""
    path = f"/os-hypervisors/{hypervisor}"
    try:
        response = connection.compute.get(path, microversion=_HYPERVISORS.version)
        return str(response.json()["hypervisor"]["service"]["host"])
    except (exceptions.SDKException, ClientException, KeyError, TypeError, ValueError):
        return None


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
