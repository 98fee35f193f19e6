"""Files that are on the disk after a crash.

Folders such as ``/tmp`` belong to all users: no file is written through a symbolic link, other
users cannot read the written files, and files of other users are not read.
"""

import errno
import os
import stat
import tempfile
from pathlib import Path


def replace_durably(path: Path, text: str) -> None:
    """Write a file, or replace the file with this name.  Raises: OSError, and nothing remains."""
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:  # with the name that the operator gave
        raise OSError(error.errno, error.strerror, str(path)) from None
    draft = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def open_own(path: str, flags: int) -> int:
    """Open a file of this user or root that no other user can write, by its group either.

    Only this user can read a file that is created. Raises: OSError for other files, for symbolic
    links, and at once for pipes without a writer.
    """
    try:
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    except OSError as error:
        if error.errno == errno.ELOOP:
            error.strerror = "This is a symbolic link; name the file itself"
        raise
    if problem := _problem(os.fstat(descriptor)):
        os.close(descriptor)
        raise PermissionError(errno.EPERM, problem, path)
    return descriptor


def _problem(status: os.stat_result) -> str:
    if not stat.S_ISREG(status.st_mode):
        return "This is not a regular file. Name a file that `--plan` or `--apply` has written"
    if status.st_uid not in {0, os.geteuid()}:
        return "Another user owns this file. Read a copy of your own, then use the copy"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        mode = f"{stat.S_IMODE(status.st_mode):o}"
        return (
            f"Other users can write this file (mode {mode}). Run `chmod go-w`, and check its lines"
        )
    return ""


def sync_folder(folder: Path) -> None:
    """Force the names of files in a folder to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
