"""Sends requests to both services, compares the responses, and keeps the results in a file.

With the file an interrupted comparison can be resumed. Its first line is a JSON document with the
URLs of both services; every further line is one result. An incomplete last line of a killed
process is ignored.
"""

import json
import os
import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from placement_compare.client import Service
from placement_compare.differences import canonical, differences
from placement_compare.model import Difference, Read, Response, Result


def compare(old: Service, new: Service, reads: Iterable[Read]) -> Iterator[Result]:
    """Yield the result of each request. Sends requests to both services, in alternating order."""
    for number, read in enumerate(reads):
        if number % 2:
            from_new, from_old = new.get(read), old.get(read)
        else:
            from_old, from_new = old.get(read), new.get(read)
        yield _result(old, new, read, from_old, from_new)


def _result(
    old: Service, new: Service, read: Read, from_old: Response, from_new: Response
) -> Result:
    prefixes = old.prefix, new.prefix
    unequal = differences(from_old, from_new, prefixes)
    by_limit = bool(unequal) and is_cut(read, from_old, from_new, prefixes)
    if by_limit:
        everything = Read(without_limit(read.path), read.microversion)
        unequal = differences(old.get(everything), new.get(everything), prefixes)
    return Result(read, from_old.seconds, from_new.seconds, tuple(unequal), by_limit)


def is_cut(read: Read, old: Response, new: Response, prefixes: tuple[str, str]) -> bool:
    """Return whether the limit cut both responses: which candidates remain is not defined."""
    limit = _limit(read)
    if limit is None or {old.status, new.status} != {200}:
        return False
    bodies = canonical(old.body, prefixes[0]), canonical(new.body, prefixes[1])
    return all(len(body["allocation_requests"]) == limit for body in bodies)


def without_limit(path: str) -> str:
    """Return a path without the parameter ``limit``."""
    pairs = parse_qsl(urlsplit(path).query, keep_blank_values=True)
    parameters = [(name, value) for name, value in pairs if name != "limit"]
    return f"{path.partition('?')[0]}?{urlencode(parameters, safe='!:,')}"


def _limit(read: Read) -> int | None:
    match = re.search(r"[?&]limit=(\d+)(?:&|$)", read.path)
    return int(match[1]) if match and read.is_candidates else None


def curl(service_url: str, read: Read) -> str:
    """Return a command that repeats a request; the token is taken from the environment.

    The path is from a client: it is quoted for the shell, and ``-g`` disables globbing in curl.
    """
    url = shlex.quote(service_url + read.encoded_path)
    return (
        f"curl -gsS -H 'X-Auth-Token: '\"$OS_TOKEN\" "
        f"-H 'OpenStack-API-Version: placement {read.version}' {url}"
    )


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
    """Open a file for appending, not through a symbolic link; others cannot read a new file."""
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
