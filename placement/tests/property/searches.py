"""Search a generated world, and compare the candidates with those of the oracle."""

import random
import time

from placement.core.model import ProviderState
from placement.core.request import CandidateRequest, SearchSettings
from placement.core.search.deadline import Deadline
from placement.core.search.search import search
from placement.core.snapshot.snapshot import Snapshot
from placement.tests.property.strategies import CLASSES, TRAITS
from placement.tests.support.oracle import Found
from placement.tests.support.provider_tables import snapshot_of_states
from placement.tests.support.queries import Offers, allocations_of, mappings_of

World = list[ProviderState]


def snapshot_of(world: World) -> Snapshot:
    return snapshot_of_states(world, class_names=CLASSES, trait_names=TRAITS)


def search_in(
    snapshot: Snapshot, request: CandidateRequest, settings: SearchSettings, turn: int = 0
) -> Offers:
    rng = random.Random(7) if settings.randomize else None
    deadline = Deadline(60, time.monotonic)
    return Offers.of(search(snapshot, request, settings, deadline, rng=rng, turn=turn))


def found_in(
    snapshot: Snapshot,
    request: CandidateRequest,
    settings: SearchSettings | None = None,
    turn: int = 0,
) -> list[object]:
    response = search_in(snapshot, request, settings or SearchSettings(), turn)
    return [
        (
            frozenset(
                (u, c, n) for u, amounts in allocations_of(one).items() for c, n in amounts.items()
            ),
            frozenset((suffix, frozenset(uuids)) for suffix, uuids in mappings_of(one).items()),
        )
        for one in response.candidates
    ]


def once(candidates: list[object]) -> Found:
    assert len(set(candidates)) == len(candidates), "a candidate is offered twice"
    return frozenset(candidates)
