"""A file with the results so far, so that an interrupted comparison can be resumed.

The first line is a JSON document with the URLs of both services, each further line one result. An
incomplete last line, of a process that was killed, is ignored.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from placement.compare.model import Difference, Read, Result


class UnusableState(Exception):  # noqa: N818  the name states the condition
    """The state file belongs to another comparison."""


class State:
    """The results in a file; without a path they are kept in memory only."""

    def __init__(self, path: Path | None, old_url: str, new_url: str) -> None:
        self.results: list[Result] = []
        self._file = None
        header = {"old": old_url, "new": new_url}
        lines = path.read_text(errors="replace").splitlines() if path and path.exists() else []
        if lines:
            if _document(lines[0]) != header:
                raise UnusableState(
                    f"{path} is not the state of a comparison of {old_url} and {new_url}; "
                    "use another file"
                )
            self.results = list(_results(lines[1:]))
        self.completed = {result.read for result in self.results}
        if path is not None:
            self._file = os.fdopen(_open_private(path), "a")
            # A new line ends the incomplete line of a process that was killed.
            self._file.write("\n" if lines else f"{json.dumps(header)}\n")

    def close(self) -> None:
        """Close the file; a later process resumes from it."""
        if self._file is not None:
            self._file.close()

    def add(self, result: Result) -> None:
        """Append a result."""
        self.results.append(result)
        self.completed.add(result.read)
        if self._file is not None:
            self._file.write(f"{json.dumps(asdict(result))}\n")
            self._file.flush()


def _open_private(path: Path) -> int:
    """Open a file to append to, not through a symbolic link; other users cannot read a new one."""
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)


def _results(lines: list[str]) -> Iterator[Result]:
    for line in lines:
        document = _document(line)
        if document is not None:
            read = document["read"]
            major, minor = read["microversion"]
            yield Result(
                Read(read["path"], (major, minor)),
                document["old_seconds"],
                document["new_seconds"],
                tuple(Difference(**difference) for difference in document["differences"]),
                document["by_limit"],
            )


def _document(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None
