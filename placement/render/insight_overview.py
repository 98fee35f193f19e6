"""What the operator surface offers, as JSON."""

from collections.abc import Mapping
from datetime import datetime

from placement.core.insight.document import document
from placement.core.snapshot.snapshot import Snapshot
from placement.core.timestamps import timestamp


def overview(snapshot: Snapshot, refreshed_at: datetime, *, enabled: Mapping[str, bool]) -> bytes:
    """Return the body of what the surface offers.  Cost: one pass over the roots' mask."""
    return document(
        enabled=enabled,
        snapshot={"providers": len(snapshot), "roots": int(snapshot.forest.is_root.sum())},
        last_write_seen=timestamp(refreshed_at),
    )
