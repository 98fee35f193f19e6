"""Every way the snapshot can satisfy a request."""

import random
from collections.abc import Callable

from placement.core.candidates import Candidates
from placement.core.request import CandidateRequest, SearchSettings
from placement.core.snapshot import Snapshot


def check_names(snapshot: Snapshot, request: CandidateRequest) -> None:
    """Refuse classes and traits that nobody ever named.

    Raises: UnknownTrait, UnknownResourceClass; the first of root_required, then
    per group class before trait.
    """
    raise NotImplementedError


def search(
    snapshot: Snapshot,
    request: CandidateRequest,
    settings: SearchSettings,
    *,
    rng: random.Random | None,
    now: Callable[[], float],
) -> Candidates:
    """Return every way the snapshot can satisfy the request."""
    raise NotImplementedError
