"""Sends requests to both services, and compares the responses."""

import re
import shlex
from collections.abc import Iterable, Iterator
from urllib.parse import parse_qsl, urlencode, urlsplit

from placement.compare.canonical import canonical
from placement.compare.client import Service
from placement.compare.differences import differences
from placement.compare.model import Read, Response, Result


def compare(old: Service, new: Service, reads: Iterable[Read]) -> Iterator[Result]:
    """Yield the result of each request. Sends each to both services, in alternating order."""
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

    Clients have chosen the path: a shell does not expand it, and curl neither (``-g``).
    """
    url = shlex.quote(service_url + read.encoded_path)
    return (
        f"curl -gsS -H 'X-Auth-Token: '\"$OS_TOKEN\" "
        f"-H 'OpenStack-API-Version: placement {read.version}' {url}"
    )
