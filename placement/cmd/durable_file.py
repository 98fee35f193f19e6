"""Files that are complete on the disk, or do not exist, even after a crash."""

import os
from pathlib import Path


def replace_durably(path: Path, text: str) -> None:
    """Write a file, in place of one with this name.  Raises: OSError, and nothing remains."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    write_durably(draft, text)
    draft.replace(path)
    sync_folder(path.parent)


def write_durably(path: Path, text: str) -> None:
    """Write a file and force it to the disk; other users cannot read it."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        path.unlink(missing_ok=True)
        raise


def sync_folder(folder: Path) -> None:
    """Force the names of files in a folder to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
