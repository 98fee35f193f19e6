"""The files in which processes keep what they count for Prometheus.

Each process has one for each kind of figure, and leaves them behind when it ends: what it counted
stays counted. A server that replaces its workers would leave more and more of them to be read.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

_LOCK = "lock"
_ENDED = "ended"  # in place of the number of a process


@contextmanager
def gathered(folder: Path, library: ModuleType) -> Iterator[None]:
    """Have the folder to oneself, with one file of each kind for all processes that have ended."""
    with (folder / _LOCK).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for path in folder.glob("*.db"):
            if _has_ended(path):
                _gather(path, library)
        yield


def _has_ended(path: Path) -> bool:
    pid = path.stem.rpartition("_")[2]
    if pid == _ENDED:
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass  # it is there, and somebody else's
    return False


def _gather(path: Path, library: ModuleType) -> None:
    """Add what is in the file to what is kept of processes that have ended."""
    new = library.mmap_dict.MmapedDict
    kept = new(str(path.with_stem(f"{path.stem.partition('_')[0]}_{_ENDED}")))
    for key, value, timestamp, _position in new.read_all_values_from_file(str(path)):
        before, _ = kept.read_value(key)
        kept.write_value(key, before + value, timestamp)
    kept.close()
    path.unlink()
