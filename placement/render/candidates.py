"""Allocation candidates as JSON.

Most of the text is provider summaries. Since 1.27 they do not depend on the
request: their text is cached in the snapshot, from 1.29 on by tree. Candidates of one
search differ mostly in the providers that they name: each shape is compiled to a
template once. UUIDs and integers are inserted without escaping; names are encoded.

Below 1.27 everything is built from dictionaries.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import starmap
from json.encoder import encode_basestring_ascii as quoted
from operator import itemgetter
from typing import Any

from placement.core.capacity import integer_capacity
from placement.core.model import CUSTOM_PREFIX, ProviderState
from placement.core.request import CandidateRequest
from placement.core.search.candidate_streams import batches
from placement.core.search.candidates import Candidate, Candidates, CandidateShape, WholeTrees
from placement.core.snapshot.entries import ProviderEntry
from placement.microversion import Version

_PROVIDER = "\0"  # where a UUID goes; encoded text cannot contain it
_A_PROVIDER = f'"{_PROVIDER}"'


def _no_deadline() -> None:
    """Do not limit the time."""


def allocation_candidates(
    candidates: Candidates,
    request: CandidateRequest,
    version: Version,
    check_deadline: Callable[[], None] = _no_deadline,
) -> bytes:
    """Return the body of GET /allocation_candidates.

    Cost, from 1.29 on: half a microsecond for each candidate and each tree, more for a
    tree that is rendered for the first time since one of its providers changed. There
    may be millions of candidates: ``check_deadline`` is called every few thousand,
    and may raise an exception.
    """
    if version < (1, 27):
        return _legacy_body(candidates, request, version, check_deadline).encode("ascii")
    allocation_requests = _candidates(
        candidates.candidates, check_deadline, mapped=version >= (1, 34)
    )
    summaries: list[bytes] = []
    for batch in batches(_summaries(candidates.summaries, version)):
        check_deadline()
        summaries += batch
    if summaries:
        summaries[0] = summaries[0].removeprefix(b",")
    body = [b'{"allocation_requests":[', ",".join(allocation_requests).encode("ascii")]
    return b"".join([*body, b'],"provider_summaries":{', *summaries, b"}}"])


# --- from 1.27 on: templates and cached texts ---------------------------------


def _summaries(entries: Iterable[ProviderEntry], version: Version) -> Iterator[bytes]:
    """Yield the text of each tree, or of each provider, after a comma."""
    if isinstance(entries, WholeTrees):
        return entries.texts("1.29", _tree_text)
    describe = _summary_text_with_tree if version >= (1, 29) else _summary_text
    return (
        entry.text(describe.__name__, partial(_text_after_comma, describe, entry.state))
        for entry in entries
    )


def _tree_text(states: Iterable[ProviderState]) -> bytes:
    return b"".join(_text_after_comma(_summary_text_with_tree, state) for state in states)


def _text_after_comma(describe: Callable[[ProviderState], str], state: ProviderState) -> bytes:
    return f",{describe(state)}".encode("ascii")


def _candidates(
    candidates: Iterable[Candidate], check_deadline: Callable[[], None], *, mapped: bool
) -> Iterable[str]:
    templates = _Templates(mapped=mapped)
    texts: list[str] = []
    for batch in batches(candidates):
        check_deadline()
        texts += [templates[shape](providers) for shape, providers in batch]
    return texts


class _Templates(dict[CandidateShape, Callable[[tuple[str, ...]], str]]):
    """The template of each candidate shape, compiled on first use."""

    def __init__(self, *, mapped: bool) -> None:
        super().__init__()
        self._mapped = mapped

    def __missing__(self, shape: CandidateShape) -> Callable[[tuple[str, ...]], str]:
        template = self[shape] = _template(shape, mapped=self._mapped)
        return template


def _template(shape: CandidateShape, *, mapped: bool) -> Callable[[tuple[str, ...]], str]:
    """Return a function from the UUIDs of a candidate's providers to its text."""
    numbers = list(range(len(shape.allocations)))
    text = f'{{"allocations":{{{",".join(map(_resources, shape.allocations))}}}'
    if mapped:
        numbers += (
            number for group_numbers in shape.mappings.values() for number in group_numbers
        )
        text += f',"mappings":{{{",".join(starmap(_mapping, shape.mappings.items()))}}}'
    return _joiner(f"{text}}}".split(_PROVIDER), numbers)


def _joiner(pieces: list[str], numbers: list[int]) -> Callable[[tuple[str, ...]], str]:
    """Return a function that joins the pieces with the providers of these numbers.

    It takes a third of the time of ``%`` or ``format``.
    """
    if len(set(numbers)) == 1:
        number = numbers[0]
        return lambda providers: providers[number].join(pieces)
    spaced = [""] * (2 * len(pieces) - 1)
    spaced[::2] = pieces
    pick = itemgetter(*numbers)

    def join(providers: tuple[str, ...]) -> str:
        text = spaced.copy()
        text[1::2] = pick(providers)
        return "".join(text)

    return join


def _resources(amounts: Mapping[str, int]) -> str:
    resources = ",".join(f"{quoted(name)}:{amount}" for name, amount in amounts.items())
    return f'"{_PROVIDER}":{{"resources":{{{resources}}}}}'


def _mapping(suffix: str, numbers: Sequence[int]) -> str:
    return f"{quoted(suffix)}:[{','.join([_A_PROVIDER] * len(numbers))}]"


def _summary_text(state: ProviderState) -> str:
    """Return the summary of one provider with its key, since 1.27."""
    return f"{_summary_start(state)}}}"


def _summary_text_with_tree(state: ProviderState) -> str:
    """Return the summary of one provider with its key, since 1.29."""
    provider = state.provider
    parent = "null" if provider.parent_uuid is None else f'"{provider.parent_uuid}"'
    return (
        f'{_summary_start(state)},"parent_provider_uuid":{parent},'
        f'"root_provider_uuid":"{provider.root_uuid}"}}'
    )


def _summary_start(state: ProviderState) -> str:
    resources = ",".join(
        f'{quoted(name)}:{{"capacity":{integer_capacity(inventory)},'
        f'"used":{state.used.get(name, 0)}}}'
        for name, inventory in state.inventories.items()
    )
    traits = ",".join(map(quoted, _sorted_traits(state.traits)))
    return f'"{state.provider.uuid}":{{"resources":{{{resources}}},"traits":[{traits}]'


def _sorted_traits(traits: Iterable[str]) -> list[str]:
    """Return traits in the order that clients rely on: custom traits last."""
    return sorted(traits, key=lambda name: (name.startswith(CUSTOM_PREFIX), name))


# --- below 1.27 ----------------------------------------------------------------


def _legacy_body(
    candidates: Candidates,
    request: CandidateRequest,
    version: Version,
    check_deadline: Callable[[], None],
) -> str:
    render = _keyed if version >= (1, 12) else _listed
    requested = {name for group in request.groups for name in group.resources}
    allocation_requests = []
    for batch in batches(candidates.candidates):
        check_deadline()
        part = [{"allocations": render(candidate.allocations)} for candidate in batch]
        allocation_requests.append(json.dumps(part)[1:-1])
    summaries = {
        entry.state.provider.uuid: _summary(entry.state, requested, version)
        for entry in candidates.summaries
    }
    return (
        f'{{"allocation_requests": [{", ".join(allocation_requests)}], '
        f'"provider_summaries": {json.dumps(summaries)}}}'
    )


def _keyed(allocations: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
    return {uuid: {"resources": amounts} for uuid, amounts in allocations.items()}


def _listed(allocations: Mapping[str, Mapping[str, int]]) -> list[dict[str, Any]]:
    return [
        {"resource_provider": {"uuid": uuid}, "resources": amounts}
        for uuid, amounts in allocations.items()
    ]


def _summary(state: ProviderState, requested: set[str], version: Version) -> dict[str, Any]:
    """Return the summary of one provider, with the requested classes only."""
    resources = {
        name: {"capacity": integer_capacity(inventory), "used": state.used.get(name, 0)}
        for name, inventory in state.inventories.items()
        if name in requested
    }
    if version < (1, 17):
        return {"resources": resources}
    return {"resources": resources, "traits": _sorted_traits(state.traits)}
