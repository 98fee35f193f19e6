"""What the engine tells its observer, as values: what becomes of them is not its business."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SnapshotLoaded:
    """All providers were read, because there was no snapshot or it could not be brought on."""

    providers: int
    seconds: float


@dataclass(frozen=True, slots=True)
class SnapshotRefreshed:
    """What others had written was read."""

    changed: int
    removed: int
    seconds: float


Event = SnapshotLoaded | SnapshotRefreshed
