"""Responses that depend only on the snapshot: an ``ETag`` from the clocks, and 304.

The clocks advance with every committed write, whichever process makes it, so the tag is the same
in every process and changes when the response may. It is weak: two responses with one tag mean the
same, but may differ in the time at which they were written.
"""

import hashlib
from collections.abc import Callable, Mapping

import webob

from placement.engine.engine import View
from placement.wsgi_wrapper import Request, json_response, no_content


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
