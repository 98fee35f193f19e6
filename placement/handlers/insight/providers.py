"""``GET /insight/providers``: all providers, or those that changed, in one streamed response."""

from collections.abc import Callable, Iterator

import webob
from webob.acceptparse import create_accept_encoding_header, create_accept_header

from placement import exception
from placement.engine.engine import View
from placement.handlers.insight import conditional
from placement.handlers.insight.compression import compressed
from placement.insight import provider_feed
from placement.insight.provider_feed import Feed
from placement.parse.insight_providers import ProvidersQuery, providers_query
from placement.policies import insight as policies
from placement.render import insight_providers as render
from placement.wsgi_wrapper import JSON, Request, no_content

LINES = "application/x-ndjson"
GZIP = "gzip"


def list_providers(request: Request) -> webob.Response:
    """Return every provider that matches, with all that it has, or what changed since a token."""
    media_type = _media_type(request)
    request.context.can(policies.PROVIDERS)
    query = providers_query(request.query_pairs, request.version, render.FIELDS)
    view = request.services.engine.view()
    tag = conditional.etag(view.clocks, str(request.version), media_type)
    if conditional.is_current(request, tag):
        return conditional.tagged(no_content(request, status=304), tag)
    feed = _feed(request, view, query)
    response = _streamed(request, lambda: _written(feed, query, media_type), media_type)
    return conditional.tagged(response, tag)


def _media_type(request: Request) -> str:
    """Return the best media type that the caller accepts.  Raises: NotAcceptable."""
    accept = create_accept_header(request.environ.get("HTTP_ACCEPT", JSON))
    offers = accept.acceptable_offers([JSON, LINES])
    if not offers:
        raise exception.NotAcceptable
    return str(offers[0][0])


def _feed(request: Request, view: View, query: ProvidersQuery) -> Feed:
    if query.changed_since is None:
        return provider_feed.everything(view.snapshot, view.clocks, query.criteria)
    return provider_feed.changed_since(
        request.services.store, view.snapshot, view.clocks, query.criteria, query.changed_since
    )


def _written(feed: Feed, query: ProvidersQuery, media_type: str) -> Iterator[bytes]:
    write = render.as_lines if media_type == LINES else render.as_json
    return write(
        feed.states,
        token=feed.token,
        complete=feed.is_complete,
        removed=feed.removed,
        fields=query.fields or render.FIELDS,
    )


def _streamed(
    request: Request, write: Callable[[], Iterator[bytes]], media_type: str
) -> webob.Response:
    """Return a response that sends the pieces as they are made, and says how long it is.

    The length is needed: some servers keep the connection open after a response without it,
    and send no chunks. It is found by making all pieces once more, which takes less memory than
    to keep them. Compressed, all of them are kept: a twentieth.
    """
    response = webob.Response(content_type=media_type, charset=None)
    response.headers["vary"] = "accept, accept-encoding"
    if _accepts_gzip(request):
        response.headers["content-encoding"] = GZIP
        response.body = b"".join(compressed(write()))
    else:
        length = sum(map(len, write()))
        response.app_iter = write()
        response.content_length = length
    return response


def _accepts_gzip(request: Request) -> bool:
    header = request.environ.get("HTTP_ACCEPT_ENCODING")
    if not header:
        return False
    offers = create_accept_encoding_header(header).acceptable_offers([GZIP])
    return bool(offers)
