"""Reads a list of live consumers from where the option ``--live`` says."""

import os
import stat
import sys
from collections.abc import Callable, Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from placement.core.insight.live import INSTANCE, MIGRATION, LiveConsumers
from placement.live.text import InvalidList, parse

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
        from placement.live import nova  # noqa: PLC0415 - openstacksdk is an extra

        return nova.read(connect(), listed_at=now, types=frozenset(types or (INSTANCE, MIGRATION)))
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
