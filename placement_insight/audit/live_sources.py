"""Reads a list of live consumers from the source in the option ``--live``.

A text has a UUID per line, and optionally the name of its provider:
``openstack server list --all-projects -f value -c ID -c Host`` writes such lines.
Blank lines, and lines that begin with ``#``, are ignored. With ``nova`` the command lists the
servers itself.
"""

import os
import stat
import sys
from collections.abc import Callable, Collection, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import UUID

from placement_insight.audit.model import (
    Hidden,
    InvalidList,
    ListOfFile,
    LiveConsumers,
    NoHost,
    Place,
    RunsOn,
)
from placement_insight.hosts import INSTANCE, MIGRATION

if TYPE_CHECKING:  # an extra
    from openstack.connection import Connection

Connect = Callable[[], "Connection"]
"""Returns a connection of openstacksdk."""

_NO_HOST = frozenset({"", "None", "-"})
_WITHOUT_HOSTS: Final = Hidden("the list has no hosts")

NOVA: Final = "nova"
STDIN: Final = "-"


def parse(lines: Iterable[str], *, listed_at: datetime, types: frozenset[str]) -> ListOfFile:
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
    without: Place = NoHost() if any(hosts.values()) else _WITHOUT_HOSTS
    places = {uuid: RunsOn(host) if host else without for uuid, host in hosts.items()}
    return ListOfFile(places, listed_at, types)


def _uuid_of_line(text: str, number: int) -> str:
    try:
        return str(UUID(text))
    except ValueError:
        raise InvalidList(
            f"Line {number} has {text[:80]!r} where a UUID is expected. The list is not used, "
            "because consumers that are not in it would be reported as orphaned."
        ) from None


def read(source: str, types: Collection[str], connect: Connect) -> LiveConsumers:
    """Return the list.

    ``connect`` is called for the source ``nova``.
    Raises: InvalidList if the list cannot be used, OSError if the file cannot be read.
    """
    now = datetime.now(UTC).replace(tzinfo=None)
    if source == NOVA:
        from placement_insight.audit.nova import read_nova  # noqa: PLC0415  an extra

        listed_types = frozenset(types or (INSTANCE, MIGRATION))
        return read_nova(connect(), listed_at=now, types=listed_types, covers_untyped=not types)
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


def connect(cloud: str | None) -> "Connection":
    """Return a connection of openstacksdk.  Raises: InvalidList.

    ``cloud`` is the name of a cloud in clouds.yaml; None uses the variables ``OS_*``.
    """
    try:
        import openstack  # noqa: PLC0415 - an extra
        from keystoneauth1.exceptions import ClientException  # noqa: PLC0415
        from openstack.exceptions import SDKException  # noqa: PLC0415
    except ImportError as error:
        raise InvalidList(
            "The source nova needs openstacksdk, which is not installed: install the extra cli of "
            "openplacement, or name a file."
        ) from error
    try:
        return openstack.connect(cloud=cloud)
    except (SDKException, ClientException) as error:
        raise InvalidList(
            f"There is no connection to nova: {str(error).rstrip('.')}. Name a cloud of "
            "clouds.yaml by --os-cloud or OS_CLOUD, or set the variables OS_*."
        ) from error
