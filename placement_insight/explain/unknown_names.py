"""Requests for candidates that name traits or resource classes which do not exist.

They are refused with 400, which nova reports as "No valid host was found". The record has the
unknown names and the most similar names that exist.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, starmap
from typing import Final

from placement.core.model import CUSTOM_PREFIX
from placement.core.request import CandidateRequest, names_of
from placement.core.snapshot.snapshot import Snapshot
from placement.exception import UnknownClassOrTrait, UnknownResourceClass
from placement_insight import documents
from placement_insight.names import similar_names

UNKNOWN_CLASS: Final = "unknown_class"
UNKNOWN_TRAIT: Final = "unknown_trait"
CODES: Final = (UNKNOWN_TRAIT, UNKNOWN_CLASS)
"""The reasons of invalid requests."""

MOST_NAMES = 10
MOST_SIMILAR = 3


@dataclass(frozen=True, slots=True)
class UnknownNames:
    """The error of a refused request, and the unknown names with the most similar names."""

    code: str
    error: str
    similar: Mapping[str, Sequence[str]]

    @property
    def sentence(self) -> str:
        """What is known of the names."""
        return "; ".join(starmap(_sentence, self.similar.items()))

    def document(self) -> documents.Json:
        """Return the explanation of the refused request as a JSON document."""
        names = [{"name": name, "similar": names} for name, names in self.similar.items()]
        return documents.document(
            code=self.code, error=self.error, names=names, sentence=self.sentence
        )


def unknown(
    error: UnknownClassOrTrait, snapshot: Snapshot, request: CandidateRequest
) -> UnknownNames:
    """Return the unknown names of a refused request for candidates.

    At most ``MOST_NAMES`` names: the comparison takes some milliseconds a name.
    """
    code = UNKNOWN_CLASS if isinstance(error, UnknownResourceClass) else UNKNOWN_TRAIT
    names = islice(_unknown(snapshot, request), MOST_NAMES)
    return UnknownNames(code, str(error), {name: _similar(name, known) for name, known in names})


def _similar(name: str, known: frozenset[str]) -> Sequence[str]:
    """Return the most similar names: first the same name in other letters.

    >>> _similar("hw_cpu_x86_avx2", frozenset({"HW_CPU_X86_AVX", "HW_CPU_X86_AVX2"}))
    ['HW_CPU_X86_AVX2', 'HW_CPU_X86_AVX']
    """
    equal = [each for each in sorted(known) if _plain(each) == _plain(name)]
    similar = similar_names(_plain(name), known, _plain, MOST_SIMILAR)
    return list(dict.fromkeys([*equal, *similar]))[:MOST_SIMILAR]


def _plain(name: str) -> str:
    """Return the name in upper case, and without the prefix of custom names.

    Other characters than letters and digits are underscores, as nova writes the classes of nodes.
    """
    return re.sub("[^A-Z0-9]", "_", name.upper()).removeprefix(CUSTOM_PREFIX)


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
    traits = (group.names("traits") for group in request.groups)
    root_traits = names_of(request.of_root, "traits")
    for names, known in (
        (frozenset[str]().union(*classes), frozenset(snapshot.class_names)),
        (root_traits.union(*traits), frozenset(snapshot.trait_names)),
    ):
        for name in sorted(names - known):
            yield name, known
