"""Ask the search as a client would, and read its answers by name.

In queries ``$name`` stands for the UUID of a provider and ``@name`` for that of
an aggregate.
"""

import json
import random
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import parse_qsl

from placement.core.model import ProviderState
from placement.core.request import CandidateRequest, SearchSettings
from placement.core.search.candidates import Candidates, CandidateShape
from placement.core.search.deadline import Deadline
from placement.core.search.provider_filter import filter_providers
from placement.core.search.search import search
from placement.core.snapshot.entries import ProviderEntry
from placement.core.snapshot.snapshot import Snapshot
from placement.microversion import MAX_VERSION, Version
from placement.parse.candidates import candidate_request
from placement.parse.resource_provider import provider_filter
from placement.tests.support.provider_tables import snapshot_of_states
from placement.tests.support.worlds import aggregate_uuid, provider_uuid, world

Amounts = dict[str, dict[str, int]]


class Offer(NamedTuple):
    """A candidate with the UUIDs of its providers."""

    shape: CandidateShape
    providers: tuple[str, ...]


@dataclass(frozen=True)
class Offers:
    """The result of a search, with UUIDs for rows."""

    candidates: Sequence[Offer]
    summaries: Iterable[ProviderEntry]
    left_out: int

    @classmethod
    def of(cls, found: Candidates) -> "Offers":
        offers = [
            Offer(shape, tuple(found.uuids[row] for row in rows))
            for shape, rows in found.candidates
        ]
        return cls(offers, found.summaries, found.left_out)


def snapshot_of(
    world_text: str, traits: Iterable[str] = (), classes: Iterable[str] = ()
) -> Snapshot:
    """Return the snapshot of a world, with additional names of traits and classes."""
    states = world(world_text)
    snapshot = snapshot_of_states(states)
    return snapshot.apply(
        (),
        class_names={*snapshot.class_names, *classes},
        trait_names={*snapshot.trait_names, *traits},
    )


def pairs(query: str) -> list[tuple[str, str]]:
    query = re.sub(r"\$(\w+)", lambda match: provider_uuid(match[1]), query)
    query = re.sub(r"@(\w+)", lambda match: aggregate_uuid(match[1]), query)
    return parse_qsl(query, keep_blank_values=True)


def request_of(query: str, version: Version = MAX_VERSION) -> CandidateRequest:
    return candidate_request(pairs(query), version)


def ask(
    snapshot: Snapshot,
    query: str,
    version: Version = MAX_VERSION,
    settings: SearchSettings | None = None,
    turn: int = 0,
) -> Offers:
    settings = settings or SearchSettings()
    found = search(
        snapshot,
        request_of(query, version),
        settings,
        Deadline(settings.budget_seconds, time.monotonic),
        rng=random.Random(1) if settings.randomize else None,
        turn=turn,
    )
    return Offers.of(found)


def name_of(snapshot: Snapshot, uuid: str) -> str:
    state: ProviderState | None = snapshot.state(uuid)
    assert state is not None
    return state.provider.name


def allocations_of(candidate: Offer) -> Amounts:
    """Return the amounts by provider UUID and resource class."""
    pairs = zip(candidate.providers, candidate.shape.allocations, strict=False)
    return {uuid: dict(amounts) for uuid, amounts in pairs}


def mappings_of(candidate: Offer) -> dict[str, tuple[str, ...]]:
    """Return the providers that serve each group, by suffix in the order of the request."""
    return {
        suffix: tuple(candidate.providers[number] for number in numbers)
        for suffix, numbers in candidate.shape.mappings.items()
    }


def offered(snapshot: Snapshot, query: str, version: Version = MAX_VERSION) -> list[Amounts]:
    """Return the allocations of each candidate, sorted."""
    offers = [
        {name_of(snapshot, uuid): amounts for uuid, amounts in allocations_of(one).items()}
        for one in ask(snapshot, query, version).candidates
    ]
    return sorted(offers, key=_text)


def served(snapshot: Snapshot, query: str) -> list[dict[str, str]]:
    """Return the mappings of each candidate, sorted; several providers are joined by a blank."""
    offers = [
        {
            suffix: " ".join(sorted(name_of(snapshot, uuid) for uuid in uuids))
            for suffix, uuids in mappings_of(one).items()
        }
        for one in ask(snapshot, query).candidates
    ]
    return sorted(offers, key=_text)


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def listed(snapshot: Snapshot, query: str, version: Version = MAX_VERSION) -> list[str]:
    """Return the names that GET /resource_providers lists."""
    matching = filter_providers(snapshot, provider_filter(pairs(query), version))
    return [entry.state.provider.name for entry in matching]
