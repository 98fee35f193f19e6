"""The query of ``GET /insight/providers``.

Providers with everything they have, as JSON text, for ``GET /insight/providers``.

The text is made in pieces of a few hundred providers, so that the response is never in
memory as a whole. Inventories, traits and aggregates that many providers have in common are
turned into text once for each response.

UUIDs of providers, class names and numbers hold nothing that JSON escapes; all else goes
through the encoder.

``GET /insight/providers``: all providers, or those that changed, in one streamed response.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from json.encoder import encode_basestring_ascii as quoted
from typing import NamedTuple

import webob
from webob.acceptparse import create_accept_encoding_header, create_accept_header

from placement import exception
from placement.core.capacity import integer_capacity
from placement.core.model import Inventory, Provider, ProviderState
from placement.core.request import ProviderFilter
from placement.engine.engine import View
from placement.http.request import JSON, Request, no_content
from placement.insight import http, schemas
from placement.insight.documents import VERSION
from placement.insight.feed import model
from placement.insight.feed.model import Feed
from placement.insight.http import compressed
from placement.microversion import Version
from placement.parse import validation
from placement.parse.resource_provider import provider_filter
from placement.policies import insight as policies

_VALIDATORS = validation.query_validators(schemas.PROVIDERS_QUERY)
_OWN = frozenset({"fields", "changed_since"})


class ProvidersQuery(NamedTuple):
    """Which providers, which of their fields (None is all), and since when."""

    criteria: ProviderFilter
    fields: tuple[str, ...] | None
    changed_since: str | None


def providers_query(
    pairs: validation.QueryPairs, version: Version, available: tuple[str, ...]
) -> ProvidersQuery:
    """Return what is asked for; ``available`` are the fields that exist.

    Any text is a token: one that leads nowhere gives everything.
    Raises: BadRequest, and what ``provider_filter`` raises.
    """
    validation.check(_VALIDATORS, pairs, version)
    own = validation.effective([pair for pair in pairs if pair[0] in _OWN])
    return ProvidersQuery(
        criteria=provider_filter([pair for pair in pairs if pair[0] not in _OWN], version),
        fields=_fields(own["fields"], available) if "fields" in own else None,
        changed_since=own.get("changed_since"),
    )


def _fields(text: str, available: tuple[str, ...]) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        if name not in available:
            raise exception.BadRequest(
                f"{validation.PREFIX}providers have no field '{name}'. "
                f"Use some of: {', '.join(available)}."
            )
    return names


BATCH = 512  # providers in one piece of the response: about 300 kB

Write = Callable[[ProviderState], str]


def _parent(provider: Provider) -> str:
    return "null" if provider.parent_uuid is None else f'"{provider.parent_uuid}"'


_OF_PROVIDER: Mapping[str, Write] = {
    "uuid": lambda state: f'"{state.provider.uuid}"',
    "name": lambda state: quoted(state.provider.name),
    "generation": lambda state: str(state.provider.generation),
    "parent_provider_uuid": lambda state: _parent(state.provider),
    "root_provider_uuid": lambda state: f'"{state.provider.root_uuid}"',
}
FIELDS = (*_OF_PROVIDER, "inventories", "traits", "aggregates")
"""The fields of a provider, in the order of the response."""


def as_json(
    states: Iterable[ProviderState],
    *,
    token: str,
    complete: bool,
    removed: Sequence[str] = (),
    fields: Sequence[str] = FIELDS,
) -> Iterator[bytes]:
    """Yield the document in pieces.  Cost: 3 to 5 microseconds a provider."""
    start = f'{{"version":{VERSION},"token":{quoted(token)},"complete":{_boolean(complete)}'
    start += ',"providers":['
    for text in _joined(states, fields, ","):
        yield (start + text).encode("ascii")
        start = ","
    end = f'],"removed":{_names(removed)}}}'
    yield (end if start == "," else start + end).encode("ascii")


def as_lines(
    states: Iterable[ProviderState],
    *,
    token: str,
    complete: bool,
    removed: Sequence[str] = (),
    fields: Sequence[str] = FIELDS,
) -> Iterator[bytes]:
    """Yield the same as newline-delimited JSON: a head, a provider a line, what was removed."""
    head = f'{{"version":{VERSION},"token":{quoted(token)},"complete":{_boolean(complete)}}}\n'
    yield head.encode("ascii")
    for text in _joined(states, fields, "\n"):
        yield f"{text}\n".encode("ascii")
    yield f'{{"removed":{_names(removed)}}}\n'.encode("ascii")


def _joined(
    states: Iterable[ProviderState], fields: Sequence[str], separator: str
) -> Iterator[str]:
    write = writer(fields)
    source = iter(states)
    while batch := list(islice(source, BATCH)):
        yield separator.join([write(state) for state in batch])


def writer(fields: Sequence[str]) -> Write:
    """Return a function from a provider to its JSON object, with exactly these fields."""
    parts = _Parts()
    if tuple(fields) == FIELDS:
        return parts.everything
    by_name: Mapping[str, Write] = {
        **_OF_PROVIDER,
        "inventories": lambda state: parts.inventories(state.inventories, state.used),
        "traits": lambda state: parts.names(state.traits),
        "aggregates": lambda state: parts.names(state.aggregates),
    }
    writers = [(f'"{name}":', by_name[name]) for name in FIELDS if name in fields]
    return lambda state: "{{{}}}".format(",".join([key + write(state) for key, write in writers]))


class _Parts:
    """Texts that providers have in common, made once for each response."""

    def __init__(self) -> None:
        self._names: dict[frozenset[str], str] = {}
        # by identity: equal inventories of a snapshot are one object, which lives as long as it
        self._starts: dict[int, tuple[Mapping[str, Inventory], list[tuple[str, str]]]] = {}

    def everything(self, state: ProviderState) -> str:
        """Return the object with all fields."""
        provider = state.provider
        return (
            f'{{"uuid":"{provider.uuid}","name":{quoted(provider.name)},'
            f'"generation":{provider.generation},"parent_provider_uuid":{_parent(provider)},'
            f'"root_provider_uuid":"{provider.root_uuid}",'
            f'"inventories":{self.inventories(state.inventories, state.used)},'
            f'"traits":{self.names(state.traits)},"aggregates":{self.names(state.aggregates)}}}'
        )

    def names(self, names: frozenset[str]) -> str:
        """Return the names as a list, sorted."""
        text = self._names.get(names)
        if text is None:
            text = self._names[names] = _names(sorted(names))
        return text

    def inventories(self, inventories: Mapping[str, Inventory], used: Mapping[str, int]) -> str:
        """Return the inventories by class, sorted, with what is used of each."""
        kept = self._starts.get(id(inventories))
        if kept is None:
            starts = [(name, _start(name, inventories[name])) for name in sorted(inventories)]
            kept = self._starts[id(inventories)] = (inventories, starts)
        return "{{{}}}".format(
            ",".join([f"{start}{used.get(name, 0)}}}" for name, start in kept[1]])
        )


def _start(name: str, inventory: Inventory) -> str:
    """Return the text of an inventory up to the used amount, which comes last."""
    return (
        f'"{name}":{{"total":{inventory.total},"reserved":{inventory.reserved},'
        f'"min_unit":{inventory.min_unit},"max_unit":{inventory.max_unit},'
        f'"step_size":{inventory.step_size},"allocation_ratio":{inventory.allocation_ratio!r},'
        f'"capacity":{integer_capacity(inventory)},"used":'
    )


def _names(names: Iterable[str]) -> str:
    return "[{}]".format(",".join(map(quoted, names)))


def _boolean(value: bool) -> str:
    return "true" if value else "false"


LINES = "application/x-ndjson"
GZIP = "gzip"


def list_providers(request: Request) -> webob.Response:
    """Return every provider that matches, with all that it has, or what changed since a token."""
    media_type = _media_type(request)
    request.context.can(policies.PROVIDERS)
    query = providers_query(request.query_pairs, request.version, FIELDS)
    view = request.services.engine.view()
    tag = http.etag(view.clocks, str(request.version), media_type)
    if http.is_current(request, tag):
        return http.tagged(no_content(request, status=304), tag)
    feed = _feed(request, view, query)
    response = _streamed(request, lambda: _written(feed, query, media_type), media_type)
    return http.tagged(response, tag)


def _media_type(request: Request) -> str:
    """Return the best media type that the caller accepts.  Raises: NotAcceptable."""
    accept = create_accept_header(request.environ.get("HTTP_ACCEPT", JSON))
    offers = accept.acceptable_offers([JSON, LINES])
    if not offers:
        raise exception.NotAcceptable
    return str(offers[0][0])


def _feed(request: Request, view: View, query: ProvidersQuery) -> Feed:
    if query.changed_since is None:
        return model.everything(view.snapshot, view.clocks, query.criteria)
    return model.changed_since(
        request.services.store, view.snapshot, view.clocks, query.criteria, query.changed_since
    )


def _written(feed: Feed, query: ProvidersQuery, media_type: str) -> Iterator[bytes]:
    write = as_lines if media_type == LINES else as_json
    return write(
        feed.states,
        token=feed.token,
        complete=feed.is_complete,
        removed=feed.removed,
        fields=query.fields or FIELDS,
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
