"""Merges the metrics files of exited processes.

Each process has one file per type of metric, which remains when the process exits, so that
counters never decrease. Without merging, a server that replaces its workers would accumulate
files.

prometheus_client has no public interface for this: ``mmap_dict`` is internal, hence the upper
bound on its version in the extra ``metrics``.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

_LOCK = "lock"
_EXITED = "ended"  # in place of a process id


@contextmanager
def merged_files(folder: Path, library: ModuleType) -> Iterator[None]:
    """Lock the directory, with the files of all exited processes merged into one per type."""
    with (folder / _LOCK).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for path in folder.glob("*.db"):
            if _has_exited(path):
                _merge(path, library)
        yield


def _has_exited(path: Path) -> bool:
    pid = path.stem.rpartition("_")[2]
    if pid == _EXITED:
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass  # the process exists and belongs to another user
    return False


def _merge(path: Path, library: ModuleType) -> None:
    """Add the values of a file to the file of exited processes, and remove it."""
    mmaped_dict = library.mmap_dict.MmapedDict
    merged = mmaped_dict(str(path.with_stem(f"{path.stem.partition('_')[0]}_{_EXITED}")))
    for key, value, timestamp, _position in mmaped_dict.read_all_values_from_file(str(path)):
        previous, _ = merged.read_value(key)
        merged.write_value(key, previous + value, timestamp)
    merged.close()
    path.unlink()
