"""A list of live consumers as text: a UUID a line, and optionally the name of its provider.

``openstack server list --all-projects -f value -c ID -c "Hypervisor Hostname"`` writes such lines.
Blank lines, and lines that begin with ``#``, do not count.
"""

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from placement.core.insight.live import LiveConsumers

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
        uuid, host = _uuid(words[0], number), " ".join(words[1:])
        named = None if host in _NO_HOST else host
        if hosts.get(uuid) and named and hosts[uuid] != named:
            raise InvalidList(
                f"Line {number}: {uuid} is also on {hosts[uuid]}, line {number} has {named}."
            )
        hosts[uuid] = named or hosts.get(uuid)
    return LiveConsumers(hosts, listed_at, types)


def _uuid(text: str, number: int) -> str:
    try:
        return str(UUID(text))
    except ValueError:
        raise InvalidList(
            f"Line {number} has {text[:80]!r} where a UUID is expected. The list is not used: "
            "what it lacks would count as orphaned."
        ) from None
