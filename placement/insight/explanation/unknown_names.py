"""Requests for candidates that name traits or resource classes which do not exist.

They are refused with 400, which nova reports as "No valid host was found". The record has the
unknown names and the most similar names that exist.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from placement.core.model import CUSTOM_PREFIX
from placement.core.request import CandidateRequest
from placement.core.snapshot.snapshot import Snapshot
from placement.exception import PlacementException, UnknownResourceClass
from placement.insight.names import similar_names

UNKNOWN_CLASS: Final = "unknown_class"
UNKNOWN_TRAIT: Final = "unknown_trait"
CODES: Final = (UNKNOWN_TRAIT, UNKNOWN_CLASS)
"""The reasons of invalid requests."""

MOST_NAMES = 10
MOST_SIMILAR = 3


def reason(error: PlacementException) -> str:
    """Return the reason code of a refused request: of the name in the error."""
    return UNKNOWN_CLASS if isinstance(error, UnknownResourceClass) else UNKNOWN_TRAIT


def document(
    error: PlacementException, snapshot: Snapshot, request: CandidateRequest
) -> dict[str, object]:
    """Return the explanation of a refused request for candidates."""
    similar = unknown_names(snapshot, request)
    return {
        "version": 1,
        "code": reason(error),
        "error": str(error),
        "names": [{"name": name, "similar": names} for name, names in similar.items()],
        "sentence": _joined(similar),
    }


def sentence(snapshot: Snapshot, request: CandidateRequest) -> str:
    """Return which names of a request do not exist, and the most similar existing names."""
    return _joined(unknown_names(snapshot, request))


def _joined(similar: Mapping[str, Collection[str]]) -> str:
    return "; ".join(_sentence(name, names) for name, names in similar.items())


def _sentence(name: str, similar: Collection[str]) -> str:
    """Return what is known of one name.

    >>> _sentence("CUSTOM_TYPO", ["CUSTOM_TYPE"])
    'CUSTOM_TYPO does not exist; similar: CUSTOM_TYPE'
    """
    return f"{name} does not exist" + (f"; similar: {', '.join(similar)}" if similar else "")


def unknown_names(snapshot: Snapshot, request: CandidateRequest) -> Mapping[str, Sequence[str]]:
    """Return the names of a request that do not exist, with the most similar existing names.

    At most ``MOST_NAMES`` of them: the comparison takes some milliseconds a name.
    """
    unknown = (
        (name, known)
        for names, known in _named(snapshot, request)
        for name in sorted(names - known)
    )
    return {
        name: similar_names(name, known, _stem, MOST_SIMILAR)
        for name, known in islice(unknown, MOST_NAMES)
    }


def _named(
    snapshot: Snapshot, request: CandidateRequest
) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
    """Yield the classes and the traits of a request, each with the existing names."""
    classes = (frozenset(group.resources) for group in request.groups)
    yield frozenset[str]().union(*classes), frozenset(snapshot.class_names)
    traits = (group.forbidden.union(*group.required) for group in request.groups)
    of_root = request.root_required | request.root_forbidden
    yield of_root.union(*traits), frozenset(snapshot.trait_names)


def _stem(name: str) -> str:
    """Return the name without the prefix of custom names, which is no similarity."""
    return name.removeprefix(CUSTOM_PREFIX)
