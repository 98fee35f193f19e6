"""The undo file: it is created atomically; before each commit a line is forced to the disk.

A killed program leaves at most one incomplete line, whose action was not committed. The next run
removes the line and continues. One program at a time writes to the file.
"""

import fcntl
import os
from pathlib import Path
from typing import IO, Self

from placement.cmd.errors import CommandError
from placement.insight.repair.action import InvalidRepairFile
from placement.insight.repair.durable_file import open_own, sync_folder, write_draft
from placement.insight.repair.plan_file import (
    END,
    UNDO,
    Entry,
    Header,
    latest_entries,
    line,
    read_document,
)


class Journal:
    """An undo file, opened for a plan; a context that closes it."""

    def __init__(self, path: Path, header: Header) -> None:
        if not os.path.lexists(path):
            _create(path, header.line())
        self.path = path
        self._file: IO[bytes] = os.fdopen(open_own(str(path), os.O_RDWR), "r+b")
        try:
            _lock(self._file, path)
            text = self._file.read().decode()
            self.recorded = _recorded(text, path, header)
            self._end = _complete_bytes(text)
            self._file.truncate(self._end)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._file.close()

    def record(self, entry: Entry) -> None:
        """Append an entry, and force it to the disk.  Raises: OSError, and nothing remains."""
        self._append(entry.line())

    def end(self) -> None:
        """Append the last line, which states that each action was tried."""
        self._append(line(END))

    def _append(self, text: str) -> None:
        encoded = text.encode()
        try:
            self._file.seek(self._end)
            self._file.write(encoded)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError:
            os.ftruncate(self._file.fileno(), self._end)
            raise
        self._end += len(encoded)


def _create(path: Path, text: str) -> None:
    """Create a file that either does not exist or has the text, even after a crash."""
    draft = write_draft(path, text)
    try:
        os.link(draft, path)  # unlike a rename, it does not replace a file of another program
    except FileExistsError:
        pass
    finally:
        draft.unlink()
    sync_folder(path.parent)


def _lock(file: IO[bytes], path: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise CommandError(
            f"Another program writes to {path}. Wait until it has exited, then try again."
        ) from None


def _recorded(text: str, path: Path, header: Header) -> dict[str, Entry]:
    """Return the last entry of each action, by the line of the action."""
    try:
        document = read_document(text)
        if (document.header.kind, document.header.plan) != (UNDO, header.plan):
            raise CommandError(
                f"{path} is not the undo file of this plan. Name another file by --undo, or move "
                "it."
            )
        return latest_entries(document)
    except InvalidRepairFile as error:
        raise CommandError(f"{path}: {error}") from error


def _complete_bytes(text: str) -> int:
    """Return the length of the lines that are complete."""
    return len(text[: text.rfind("\n") + 1].encode())
