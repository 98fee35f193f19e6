"""Documents of the operator surface as JSON."""

import json
from collections.abc import Mapping
from datetime import datetime

from placement.core.snapshot.snapshot import Snapshot
from placement.schemas.insight import VERSION


def overview(snapshot: Snapshot, refreshed_at: datetime, *, enabled: Mapping[str, bool]) -> bytes:
    """Return the body of what the surface offers.  Cost: one pass over the roots' mask."""
    return document(
        enabled=enabled,
        snapshot={"providers": len(snapshot), "roots": int(snapshot.forest.is_root.sum())},
        last_write_seen=time(refreshed_at),
    )


def document(**fields: object) -> bytes:
    """Return a body: the version of the surface, and these fields."""
    return json.dumps({"version": VERSION, **fields}).encode("ascii")


def time(at: datetime) -> str:
    """Return a time (UTC, aware or naive) in ISO 8601.

    >>> time(datetime(2026, 11, 21, 2, 14, 7, 999))
    '2026-11-21T02:14:07Z'
    """
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"
