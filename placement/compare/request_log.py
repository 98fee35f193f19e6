"""Reads GET requests from the logs of openstack-placement, this service, uWSGI and web servers.

Formats, of which a file may contain any mixture:

* the request log of openstack-placement and of this service, as text or JSON:
  ``... 127.0.0.1 "GET /placement/usages?project_id=p" status: 200 len: 2 microversion: 1.9``
* uWSGI: ``... GET /placement/traits => generated 99 bytes in 3 msecs (HTTP/1.1 200) ...``
* common and combined log format of Apache and nginx:
  ``... "GET /placement/traits HTTP/1.1" 200 99 ...``

Only the first one contains microversions.
"""

import re
from collections.abc import Iterable, Iterator

from placement.compare.model import Microversion, Read

_REQUEST_LOG = re.compile(
    r'\\?"GET (?P<uri>[^\s"\\]+)\\?" status: \d+ len: \S+ microversion: (?P<version>[\d.]*)'
)
_UWSGI = re.compile(r"\bGET (?P<uri>\S+) => generated \d+ bytes")
_COMMON = re.compile(r'"GET (?P<uri>[^\s"]+) HTTP/[\d.]+" \d{3} ')
_VERSION = re.compile(r"1\.(\d{1,3})")
# The path below the prefix at which the service is mounted.
_ROUTE = re.compile(
    r"/(?:resource_providers|resource_classes|traits|allocations|allocation_candidates|usages)"
    r"(?:[/?].*)?$"
)


def read_log(lines: Iterable[str], default: Microversion) -> Iterator[Read]:
    """Yield the GET requests of a log, in order, with repetitions.

    Lines that are not requests, other methods, and paths that are not routes of the Placement API
    are skipped. ``default`` is the microversion of requests whose log has none.
    """
    for line in lines:
        match = _REQUEST_LOG.search(line) or _UWSGI.search(line) or _COMMON.search(line)
        route = match and _ROUTE.search(match["uri"])
        if match and route:
            yield Read(route[0], _microversion(match.groupdict().get("version"), default))


def _microversion(text: str | None, default: Microversion) -> Microversion:
    """Return a logged microversion; ``-`` is logged for requests that failed before."""
    match = _VERSION.fullmatch(text or "")
    return (1, int(match[1])) if match else default
