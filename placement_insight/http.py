"""Entity tags for responses that depend only on the snapshot.

An entity tag is computed from the clocks. The clocks advance with every committed write of any
process. The tag is therefore the same in every process, and changes whenever the response may
change. The tag is weak: two responses with the same tag have the same meaning, but may differ in
the time at which they were written.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping

import webob

from placement.engine.engine import View
from placement.engine.shared import ShortRequests
from placement.http.request import Request
from placement.http.response import json_response, no_content
from placement_insight.documents import Json

Write = Callable[[View], Json]
"""Returns the document of a snapshot."""


def from_snapshot(request: Request, write: Callable[[View], Json | bytes]) -> webob.Response:
    """Return the document that ``write`` returns for the current snapshot, or 304.

    Cost of 304: reading the clocks. ``write`` is not called.
    """
    view = request.services.engine.view()
    tag = etag(view.clocks, str(request.version))
    if is_current(request, tag):
        return tagged(no_content(request, status=304), tag)
    return tagged(json_response(request, write(view)), tag)


def computed(request: Request, write: Write) -> webob.Response:
    """Return a slow document of the current snapshot: see ``from_snapshot``.

    A process computes one at a time; concurrent equal requests share it.

    Raises: TooManySlowRequests.
    """
    return from_snapshot(request, lambda view: _shared(request, view, request.query_string, write))


def computed_of_body(request: Request, body: object, write: Write) -> webob.Response:
    """Return a slow document of the current snapshot and of the body: see ``computed``."""
    view = request.services.engine.view()
    text = json.dumps(body, sort_keys=True)
    return json_response(request, _shared(request, view, text, write))


def _shared(request: Request, view: View, asked: str, write: Write) -> bytes:
    key = (request.path, asked, etag(view.clocks, str(request.version)))
    shared = request.services.shared
    return shared.result_for_few(key, lambda: _in_pieces(write(view), shared.short_requests))


def _in_pieces(document: Json, short: ShortRequests) -> bytes:
    """Return the text of a document: other threads can run after each item of its lists."""
    members = (
        f'"{name}": [{", ".join(map(json.dumps, short.paced(value)))}]'
        if isinstance(value, list | tuple | Iterator)
        else f'"{name}": {json.dumps(value)}'
        for name, value in document.items()
    )
    return f"{{{', '.join(members)}}}".encode("ascii")


def etag(clocks: Mapping[int, int], *representation: str) -> str:
    """Return the tag of a response at these clocks.

    ``representation`` has the other properties that the response depends on, besides the URL: the
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
    sent_tags = (text.strip().removeprefix("W/") for text in header.split(","))
    return any(sent_tag in {"*", opaque} for sent_tag in sent_tags)


def tagged(response: webob.Response, tag: str) -> webob.Response:
    """Return the response with its tag."""
    response.headers["etag"] = tag
    return response
