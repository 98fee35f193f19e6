"""A list of live consumers as text: a UUID a line, and optionally the name of its provider.

``openstack server list --all-projects -f value -c ID -c "Hypervisor Hostname"`` writes such lines.
Blank lines, and lines that begin with ``#``, do not count.

Reads a list of live consumers from where the option ``--live`` says.

Lists servers and migrations of nova, through openstacksdk.

A list with a gap would make live consumers orphans, so nothing less than a complete list is
returned. Servers of cells that are down are listed since microversion 2.69, and migrations have a
UUID since 2.59. Lists do not have servers that are soft-deleted, and nova may leave out servers of
cells that are down, so what a list lacks is asked for one by one (:class:`Confirmation`).

Judges the orphans of an audit before anything is planned: are they plausible, and confirmed?
"""

import os
import stat
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple
from uuid import UUID

from keystoneauth1.exceptions import ClientException
from openstack import exceptions

from placement.insight.audit.findings import ORPHANED
from placement.insight.audit.model import INSTANCE, MIGRATION, Finding, LiveConsumers
from placement.insight.consumers.model import UNKNOWN_TYPE

_NO_HOST = frozenset({"", "None", "-"})


class InvalidList(Exception):  # noqa: N818
    """The list cannot be used: a part of it could be missing."""


def parse(lines: Iterable[str], *, listed_at: datetime, types: frozenset[str]) -> LiveConsumers:
    """Return the consumers in the lines.

    Raises: InvalidList for a line that has no UUID, and for an instance with two hosts.
    """
    hosts: dict[str, str | None] = {}
    for number, text in enumerate(lines, start=1):
        words = text.strip().lstrip("\ufeff").replace(",", " ").replace('"', " ").split()
        if not words or words[0].startswith("#"):
            continue
        uuid, host = _uuid_of_line(words[0], number), " ".join(words[1:])
        named = None if host in _NO_HOST else host
        if hosts.get(uuid) and named and hosts[uuid] != named:
            raise InvalidList(
                f"Line {number}: {uuid} is also on {hosts[uuid]}, line {number} has {named}."
            )
        hosts[uuid] = named or hosts.get(uuid)
    return LiveConsumers(hosts, listed_at, types)


def _uuid_of_line(text: str, number: int) -> str:
    try:
        return str(UUID(text))
    except ValueError:
        raise InvalidList(
            f"Line {number} has {text[:80]!r} where a UUID is expected. The list is not used: "
            "what it lacks would count as orphaned."
        ) from None


NOVA: Final = "nova"
STDIN: Final = "-"
FEW: Final = 10

OPTIONS: Final = (
    (
        "--live",
        {
            "metavar": "<source>",
            "help": "Also report consumers that a list of live consumers lacks: nova (servers and "
            "migrations of all projects), a file with a UUID and optionally a host a line, or - "
            "for standard input.",
        },
    ),
    (
        "--type",
        {
            "action": "append",
            "default": [],
            "metavar": "<type>",
            "help": "The list has all live consumers of this type; unknown are those without a "
            "type. Can be repeated. Default: INSTANCE, and MIGRATION if nova is the source.",
        },
    ),
    (
        "--allow-many-orphans",
        {
            "action": "store_true",
            "help": "Accept a list that is empty, or lacks more than half of the consumers.",
        },
    ),
)
"""The options, for parsers of several programs: name and arguments of ``add_argument``."""


def add_arguments(parser: Any) -> None:
    """Add the options to a parser."""
    for name, arguments in OPTIONS:
        parser.add_argument(name, **arguments)


def read(
    source: str, types: Collection[str], connect: Callable[[], Any], *, accept_empty: bool
) -> LiveConsumers:
    """Return the list.

    ``connect`` returns a connection of openstacksdk; it is called for the source ``nova``.
    Raises: InvalidList if the list cannot be used, OSError if the file cannot be read.
    """
    live = _read(source, types, connect)
    if not len(live) and not accept_empty:
        raise InvalidList(
            "The list of live consumers is empty: all consumers would count as orphaned. Check "
            "the source, or add --allow-many-orphans."
        )
    return live


def _read(source: str, types: Collection[str], connect: Callable[[], Any]) -> LiveConsumers:
    now = datetime.now(UTC).replace(tzinfo=None)
    if source == NOVA:
        return read_nova(connect(), listed_at=now, types=frozenset(types or (INSTANCE, MIGRATION)))
    complete = frozenset(types or (INSTANCE,))
    try:
        if source == STDIN:
            written_at, lines = _stdin_written_at() or now, sys.stdin.read().splitlines()
        else:
            path = Path(source)
            written_at = _written_at(path.stat())
            lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise InvalidList(f"{source} is not a list of UUIDs: it is not UTF-8.") from error
    return parse(lines, listed_at=min(now, written_at), types=complete)


def _stdin_written_at() -> datetime | None:
    """Return when a file that is the standard input was written, None if it is no file."""
    try:
        status = os.fstat(sys.stdin.fileno())
    except (OSError, ValueError):
        return None
    return _written_at(status) if stat.S_ISREG(status.st_mode) else None


def _written_at(status: os.stat_result) -> datetime:
    return datetime.fromtimestamp(status.st_mtime, UTC).replace(tzinfo=None)


def check_plausible(orphans: int, compared: int, *, accept_many: bool) -> None:
    """Return unless most consumers would be orphaned: then the list is probably another one's.

    Raises: InvalidList.
    """
    if orphans > FEW and 2 * orphans > compared and not accept_many:
        raise InvalidList(
            f"The list of live consumers lacks {orphans} of {compared} consumers, more than half. "
            "Check that it is of this region and complete, or add --allow-many-orphans."
        )


SERVERS_VERSION: Final = "2.69"
MIGRATIONS_VERSION: Final = "2.59"
PAGE: Final = 1000

_ENDED: Final = frozenset({"cancelled", "completed", "confirmed", "done", "reverted"})
"""The states of a migration that has neither claim nor trouble; error and failed may have both."""

CELL_DOWN: Final = "UNKNOWN"

_MOVING: Final = frozenset(
    {"MIGRATING", "REBUILD", "RESIZE", "REVERT_RESIZE", CELL_DOWN, "VERIFY_RESIZE"}
)
"""The states of a server whose claims are about to change, or not known."""

Json = dict[str, Any]


def read_nova(connection: Any, *, listed_at: datetime, types: frozenset[str]) -> LiveConsumers:
    """Return the servers and migrations of all projects.  Raises: InvalidList."""
    with _translated():
        compute = connection.compute
        migrations = list(_pages(compute, _MIGRATIONS, {}))
        servers = list(_pages(compute, _SERVERS, {"all_tenants": "1"}))
        # again: a cell that was down for a moment had no migrations in the first list
        migrations.extend(_pages(compute, _MIGRATIONS, {}))
    if any(each.get("status") == CELL_DOWN for each in servers):
        types -= {MIGRATION, UNKNOWN_TYPE}  # nova leaves out the migrations of such a cell
    current = [each for each in migrations if each.get("status") not in _ENDED]
    moving = {each.get("instance_uuid") for each in current}
    hosts = {
        _uuid_of_row(each, "id"): None if each["id"] in moving else _host(each) for each in servers
    }
    return LiveConsumers(hosts, listed_at, types, {_uuid_of_row(each, "uuid") for each in current})


def _host(server: Json) -> str | None:
    """Return the name of the provider that a server runs on, None if it moves or is not known."""
    if server.get("status") in _MOVING or server.get("OS-EXT-STS:task_state"):
        return None
    name: str | None = server.get("OS-EXT-SRV-ATTR:hypervisor_hostname")
    return name


def _uuid_of_row(row: Json, name: str) -> str:
    try:
        return str(UUID(row[name]))
    except (KeyError, TypeError, ValueError):
        raise InvalidList(
            f"nova listed an entry whose {name} is not a UUID: {row!r:.200}."
        ) from None


class _List(NamedTuple):
    """A list of nova's API: its path, its key in the document, and the name of the marker."""

    path: str
    key: str
    marker: str
    version: str


_SERVERS = _List("/servers/detail", "servers", "id", SERVERS_VERSION)
_MIGRATIONS = _List("/os-migrations", "migrations", "uuid", MIGRATIONS_VERSION)


def _pages(compute: Any, listed: _List, query: dict[str, str]) -> Iterator[Json]:
    """Yield the rows of all pages.  Raises: InvalidList for a page that is not one."""
    marker: str | None = None
    while True:
        paged = {**query, "limit": str(PAGE), **({"marker": marker} if marker else {})}
        response = compute.get(
            listed.path, params=paged, microversion=listed.version, skip_cache=True
        )
        exceptions.raise_from_response(response)
        rows = _rows(response, listed)
        yield from rows
        # A server can have a lower limit of its own: only an empty page is the last one for sure.
        if not rows:
            return
        last = rows[-1].get(listed.marker)
        if last == marker or not isinstance(last, str):
            raise InvalidList(f"nova does not page through {listed.path}: {last!r} ends a page.")
        marker = last


def _rows(response: Any, listed: _List) -> list[Json]:
    path = listed.path
    try:
        rows = response.json()[listed.key]
    except (ValueError, KeyError, TypeError):
        raise InvalidList(
            f"nova returned a page of {path} that is cut off or no list: {response.text[-80:]!r}."
        ) from None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InvalidList(f"nova returned a page of {path} whose {listed.key} are no list.")
    return rows


@dataclass(frozen=True, slots=True)
class Confirmation:
    """Asks nova for single servers: only the answer "not found" means that one does not exist."""

    connection: Any

    def missing(
        self, uuids: Iterable[str], report: Callable[[int], object] = lambda _count: None
    ) -> set[str]:
        """Return those that nova does not know.  Raises: InvalidList for any other answer."""
        missing = set()
        with _translated():
            for count, uuid in enumerate(uuids, start=1):
                response = self.connection.compute.get(
                    f"/servers/{uuid}", microversion=SERVERS_VERSION, skip_cache=True
                )
                if response.status_code == 404 and _is_of_nova(response):
                    missing.add(uuid)
                else:
                    exceptions.raise_from_response(response)
                report(count)
        return missing


def _is_of_nova(response: Any) -> bool:
    """Return whether a 404 is nova's: a proxy returns one for a path that it does not know."""
    try:
        return "itemNotFound" in response.json()
    except (ValueError, TypeError):
        return False


@contextmanager
def _translated() -> Iterator[None]:
    """Translate errors of the SDK.  Raises: InvalidList."""
    try:
        yield
    except (exceptions.SDKException, ClientException) as error:
        text = str(error).partition("\n")[0].rstrip(".")
        raise InvalidList(
            f"The servers and migrations of nova could not be listed: {text}. Nothing was "
            "planned: what a partial list lacks would count as orphaned."
        ) from error


def connection_to(cloud: str | None) -> Callable[[], Any]:
    """Return a function that returns a connection of openstacksdk.

    ``cloud`` is its name in clouds.yaml; None uses the variables ``OS_*``.
    """

    def connect() -> Any:
        try:
            import openstack  # noqa: PLC0415 - an extra
            from keystoneauth1.exceptions import ClientException  # noqa: PLC0415
            from openstack.exceptions import SDKException  # noqa: PLC0415
        except ImportError as error:
            raise InvalidList(
                "The source nova needs openstacksdk, which is not installed: install the extra "
                "cli of openplacement, or name a file."
            ) from error
        try:
            return openstack.connect(cloud=cloud)
        except (SDKException, ClientException) as error:
            raise InvalidList(f"There is no connection to nova: {error}") from error

    return connect


def checked(findings: Sequence[Finding], compared: int, *, accept_many: bool) -> Sequence[Finding]:
    """Return the findings if their number is plausible.  Raises: InvalidList."""
    count = sum(finding.code == ORPHANED for finding in findings)
    check_plausible(count, compared, accept_many=accept_many)
    return findings


def confirmed(findings: Sequence[Finding], connect: Callable[[], Any]) -> Sequence[Finding]:
    """Return the findings without the orphans that nova knows when asked for each of them.

    Nova has no request for a single migration by its UUID: these are not confirmed.
    Raises: InvalidList.
    """
    suspects = [
        str(finding.rows["consumer"])
        for finding in findings
        if finding.code == ORPHANED and finding.rows["type"] != MIGRATION
    ]
    alive = set(suspects) - Confirmation(connect()).missing(suspects) if suspects else set()
    return [
        finding
        for finding in findings
        if finding.code != ORPHANED or finding.rows["consumer"] not in alive
    ]
