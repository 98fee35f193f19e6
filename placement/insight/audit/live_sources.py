"""Reads a list of live consumers from the source in the option ``--live``.

A text has a UUID per line, and optionally the name of its provider:
``openstack server list --all-projects -f value -c ID -c Host`` writes such lines.
Blank lines, and lines that begin with ``#``, are ignored. With ``nova`` the command lists the
servers itself.

Before orphans are repaired, ``checked`` refuses an implausible number of orphans. ``confirmed``
requests the orphans from nova one by one, and removes the orphans that nova has.
"""

import os
import stat
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from placement.insight.audit.findings import ORPHANED
from placement.insight.audit.model import INSTANCE, MIGRATION, Finding, InvalidList, LiveConsumers

_NO_HOST = frozenset({"", "None", "-"})

NOVA: Final = "nova"
STDIN: Final = "-"
FEW: Final = 10

OPTIONS: Final = (
    (
        "--live",
        {
            "metavar": "<source>",
            "help": "Also report consumers that are not in a list of live consumers: nova "
            "(servers and migrations of all projects), a file with a UUID and optionally a host "
            "per line, or - for standard input.",
        },
    ),
    (
        "--type",
        {
            "action": "append",
            "default": [],
            "metavar": "<type>",
            "help": "State that the list contains all live consumers of this type; unknown stands "
            "for consumers without a type. Can be repeated. Default: INSTANCE, and MIGRATION if "
            "nova is the source.",
        },
    ),
    (
        "--allow-many-orphans",
        {
            "action": "store_true",
            "help": "Accept a list that is empty, or does not contain more than half of the "
            "consumers.",
        },
    ),
)
"""The options, for parsers of several programs: name and arguments of ``add_argument``."""


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
            f"Line {number} has {text[:80]!r} where a UUID is expected. The list is not used, "
            "because consumers that are not in it would be reported as orphaned."
        ) from None


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
            "The list of live consumers is empty: all consumers would be reported as orphaned. "
            "Check the source, or add --allow-many-orphans."
        )
    return live


def _read(source: str, types: Collection[str], connect: Callable[[], Any]) -> LiveConsumers:
    now = datetime.now(UTC).replace(tzinfo=None)
    if source == NOVA:
        from placement.insight.audit.nova import read_nova  # noqa: PLC0415  an extra

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
    """Return when the file at standard input was written, None if it is not a file."""
    try:
        status = os.fstat(sys.stdin.fileno())
    except (OSError, ValueError):
        return None
    return _written_at(status) if stat.S_ISREG(status.st_mode) else None


def _written_at(status: os.stat_result) -> datetime:
    return datetime.fromtimestamp(status.st_mtime, UTC).replace(tzinfo=None)


def check_plausible(orphans: int, compared: int, *, accept_many: bool) -> None:
    """Check that a list does not make most consumers orphans.

    Such a list is probably incomplete, or of another region. Raises: InvalidList.
    """
    if orphans > FEW and 2 * orphans > compared and not accept_many:
        raise InvalidList(
            f"{orphans} of {compared} consumers, more than half, are not in the list of live "
            "consumers. Check that the list is complete and of this region, or add "
            "--allow-many-orphans."
        )


def connection_to(cloud: str | None) -> Callable[[], Any]:
    """Return a function that returns a connection of openstacksdk.

    ``cloud`` is the name of a cloud in clouds.yaml; None uses the variables ``OS_*``.
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
    """Return the findings without the orphans that exist in nova.

    Requests the servers one by one. Migrations are not confirmed, because nova has no request for
    a single migration by its UUID.
    Raises: InvalidList.
    """
    suspects = [
        str(finding.rows["consumer"])
        for finding in findings
        if finding.code == ORPHANED and finding.rows["type"] != MIGRATION
    ]
    from placement.insight.audit.nova import Confirmation  # noqa: PLC0415  an extra

    alive = set(suspects) - Confirmation(connect()).missing(suspects) if suspects else set()
    return [
        finding
        for finding in findings
        if finding.code != ORPHANED or finding.rows["consumer"] not in alive
    ]
