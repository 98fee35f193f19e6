"""Allocation candidates as JSON.

Most of the text is provider summaries. From 1.29 on they do not depend on the request: their text
is cached in the snapshot, by tree. Candidates of one search differ mostly in the providers that
they name: each shape is compiled to a template once. UUIDs and integers are inserted without
escaping; names are encoded.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from json import dumps
from json.encoder import encode_basestring_ascii as quoted
from operator import itemgetter
from typing import Any

from placement.core.capacity import integer_capacity
from placement.core.model import CUSTOM_PREFIX, ProviderState
from placement.core.request import CandidateRequest
from placement.core.search.candidate_streams import batches
from placement.core.search.candidates import Candidates, CandidateShape, WholeTrees
from placement.core.snapshot.entries import ProviderEntry
from placement.microversion import Version
from placement.render.resource_provider import parent_and_root

# Most pieces have less than 128 kB: malloc maps larger ones; page faults cost more than the text.
_PARTS_OF_PIECE = 250
_TREES_OF_PIECE = 25


def pieces(
    candidates: Candidates,
    request: CandidateRequest,
    version: Version,
    check_deadline: Callable[[], None],
) -> Iterator[bytes]:
    """Yield the body of GET /allocation_candidates in pieces.

    Cost, from 1.29 on: half a microsecond for each candidate and each tree, more for a
    tree that is rendered for the first time since one of its providers changed. There
    may be millions of candidates: ``check_deadline`` is called for each piece,
    and may raise an exception.
    """
    # the text of a candidate, and its template, have a part for each group
    count = max(_PARTS_OF_PIECE // max(len(request.groups), 1), 1)
    template = lru_cache(count)(partial(_template, version=version, uuids=candidates.uuids))
    texts = (
        ",".join([template(shape)(rows) for shape, rows in batch]).encode("ascii")
        for batch in batches(candidates.candidates, count)
    )
    summaries = _summaries(candidates.summaries, request, version)
    trees = map(b",".join, batches(summaries, _TREES_OF_PIECE))
    yield b'{"allocation_requests":['
    yield from _separated(texts, check_deadline)
    yield b'],"provider_summaries":{'
    yield from _separated(trees, check_deadline)
    yield b"}}"


def _separated(pieces: Iterable[bytes], check_deadline: Callable[[], None]) -> Iterator[bytes]:
    separator = b""
    for piece in pieces:
        check_deadline()
        yield separator + piece
        separator = b","


def _template(
    shape: CandidateShape, version: Version, uuids: Sequence[str]
) -> Callable[[tuple[int, ...]], str]:
    """Return a function from the rows of a candidate to its text.

    It takes a third of the time of ``%`` or ``format``.
    """
    pieces = re.split("<([0-9]+)>", dumps(_document(shape, version), separators=(",", ":")))
    numbers = [int(number) for number in pieces[1::2]]
    if set(numbers) == {0}:
        texts = pieces[::2]
        return lambda rows: uuids[rows[0]].join(texts)
    pick = itemgetter(*numbers)

    def join(rows: tuple[int, ...]) -> str:
        text = pieces.copy()
        text[1::2] = [uuids[row] for row in pick(rows)]
        return "".join(text)

    return join


def _document(shape: CandidateShape, version: Version) -> dict[str, Any]:
    """Return a candidate with the numbers of its providers in angle brackets.

    No suffix and no name of a class contains angle brackets.
    """
    resources = [(f"<{number}>", amounts) for number, amounts in enumerate(shape.allocations)]
    if version < (1, 12):
        listed = [
            {"resource_provider": {"uuid": uuid}, "resources": amounts}
            for uuid, amounts in resources
        ]
        return {"allocations": listed}
    document: dict[str, Any] = {
        "allocations": {uuid: {"resources": amounts} for uuid, amounts in resources}
    }
    if version >= (1, 34):
        document["mappings"] = {
            suffix: [f"<{number}>" for number in numbers]
            for suffix, numbers in shape.mappings.items()
        }
    return document


def _summaries(
    entries: Iterable[ProviderEntry], request: CandidateRequest, version: Version
) -> Iterator[bytes]:
    """Yield the text of each tree, or of each provider."""
    requested = {name for group in request.groups for name in group.resources}

    def text_of(members: Iterable[ProviderEntry]) -> bytes:
        summaries = [_summary(entry.state, requested, version) for entry in members]
        return ",".join(summaries).encode("ascii")

    if isinstance(entries, WholeTrees):
        return entries.texts(text_of)
    return (text_of([entry]) for entry in entries)


def _summary(state: ProviderState, requested: set[str], version: Version) -> str:
    """Return the summary of one provider with its key."""
    provider = state.provider
    resources = ",".join(
        f'{quoted(name)}:{{"capacity":{integer_capacity(inventory)},'
        f'"used":{state.used.get(name, 0)}}}'
        for name, inventory in state.inventories.items()
        if version >= (1, 27) or name in requested
    )
    traits = ""
    if version >= (1, 17):
        traits = f',"traits":[{",".join(map(quoted, _sorted_traits(state.traits)))}]'
    parents = f",{parent_and_root(provider)}" if version >= (1, 29) else ""
    return f'"{provider.uuid}":{{"resources":{{{resources}}}{traits}{parents}}}'


def _sorted_traits(traits: Iterable[str]) -> list[str]:
    """Return traits in the order that clients rely on: custom traits last."""
    return sorted(traits, key=lambda name: (name.startswith(CUSTOM_PREFIX), name))
