"""Compression of streamed responses.

Measured with 10,000 hosts of 1.3 kB each: the fastest level makes 0.66 MB of 13 MB in 25 ms, so
the response arrives earlier on any network below 4 Gbit/s. Higher levels save a tenth more and
take three times as long.

Responses that depend only on the snapshot: an ``ETag`` from the clocks, and 304.

The clocks advance with every committed write, whichever process makes it, so the tag is the same
in every process and changes when the response may. It is weak: two responses with one tag mean the
same, but may differ in the time at which they were written.
"""

import hashlib
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping

import webob

from placement.engine.engine import View
from placement.http.request import Request, json_response, no_content

_LEVEL = 1
_GZIP_FORMAT = 31


def compressed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the pieces in the format of gzip; never more than one of them is in memory."""
    deflate = zlib.compressobj(_LEVEL, wbits=_GZIP_FORMAT)
    for piece in pieces:
        if part := deflate.compress(piece):
            yield part
    yield deflate.flush()


def from_snapshot(request: Request, write: Callable[[View], bytes]) -> webob.Response:
    """Return the document that ``write`` makes of the current snapshot, or 304 without making it.

    Cost of 304: that of reading the clocks.
    """
    view = request.services.engine.view()
    tag = etag(view.clocks, str(request.version))
    if is_current(request, tag):
        return tagged(no_content(request, status=304), tag)
    return tagged(json_response(request, write(view)), tag)


def etag(clocks: Mapping[int, int], *representation: str) -> str:
    """Return the tag of what is read at these clocks, in one representation of it.

    ``representation`` is what a response depends on besides the URL and the clocks: the
    microversion, the media type.

    >>> etag({1: 7, 0: 2}, "1.39") == etag({0: 2, 1: 7}, "1.39") != etag({0: 2, 1: 8}, "1.39")
    True
    """
    text = ",".join(f"{clock}:{value}" for clock, value in sorted(clocks.items()))
    digest = hashlib.sha256("|".join((text, *representation)).encode()).hexdigest()
    return f'W/"{digest[:32]}"'


def is_current(request: Request, tag: str) -> bool:
    """Return whether the caller has the response of this tag (RFC 9110, If-None-Match)."""
    header = request.environ.get("HTTP_IF_NONE_MATCH", "")
    opaque = tag.removeprefix("W/")
    sent = (each.strip().removeprefix("W/") for each in header.split(","))
    return any(each in {"*", opaque} for each in sent)


def tagged(response: webob.Response, tag: str) -> webob.Response:
    """Return the response with its tag."""
    response.headers["etag"] = tag
    return response
