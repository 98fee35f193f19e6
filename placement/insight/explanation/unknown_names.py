"""Requests for candidates that name traits or resource classes which do not exist.

They are refused with 400, which nova reports as "No valid host was found". The record has the
unknown names and the most similar names that exist.
"""

from collections.abc import Collection, Iterator
from itertools import islice, starmap
from typing import Any, Final

from placement.core.model import CUSTOM_PREFIX
from placement.core.request import CandidateRequest
from placement.core.snapshot.snapshot import Snapshot
from placement.exception import UnknownClassOrTrait, UnknownResourceClass
from placement.insight.names import similar_names

UNKNOWN_CLASS: Final = "unknown_class"
UNKNOWN_TRAIT: Final = "unknown_trait"
CODES: Final = (UNKNOWN_TRAIT, UNKNOWN_CLASS)
"""The reasons of invalid requests."""

MOST_NAMES = 10
MOST_SIMILAR = 3


def document(
    error: UnknownClassOrTrait, snapshot: Snapshot, request: CandidateRequest
) -> dict[str, Any]:
    """Return the explanation of a refused request for candidates.

    It has at most ``MOST_NAMES`` names: the comparison takes some milliseconds a name.
    """
    similar = {
        name: similar_names(name, known, _stem, MOST_SIMILAR)
        for name, known in islice(_unknown(snapshot, request), MOST_NAMES)
    }
    return {
        "version": 1,
        "code": UNKNOWN_CLASS if isinstance(error, UnknownResourceClass) else UNKNOWN_TRAIT,
        "error": str(error),
        "names": [{"name": name, "similar": names} for name, names in similar.items()],
        "sentence": "; ".join(starmap(_sentence, similar.items())),
    }


def _sentence(name: str, similar: Collection[str]) -> str:
    """Return what is known of one name.

    >>> _sentence("CUSTOM_TYPO", ["CUSTOM_TYPE"])
    'CUSTOM_TYPO does not exist; similar: CUSTOM_TYPE'
    """
    return f"{name} does not exist" + (f"; similar: {', '.join(similar)}" if similar else "")


def _unknown(
    snapshot: Snapshot, request: CandidateRequest
) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the classes and then the traits that do not exist, each with the existing names."""
    classes = (group.resources for group in request.groups)
    traits = (group.forbidden.union(*group.required) for group in request.groups)
    root_traits = request.root_required | request.root_forbidden
    for names, known in (
        (frozenset[str]().union(*classes), frozenset(snapshot.class_names)),
        (root_traits.union(*traits), frozenset(snapshot.trait_names)),
    ):
        for name in sorted(names - known):
            yield name, known


def _stem(name: str) -> str:
    """Return the name without the prefix of custom names, which is no similarity."""
    return name.removeprefix(CUSTOM_PREFIX)
