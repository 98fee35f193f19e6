"""What the search answers: candidates, and the providers to describe beside them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from placement.core.snapshot.entries import ProviderEntry


@dataclass(frozen=True, slots=True, eq=False)
class CandidateForm:
    """What candidates have in common that differ only in which providers they name.

    Providers are numbered by their place in ``Candidate.providers``; the first
    ``len(allocations)`` have an allocation, those after serve resourceless
    groups only. One search has few forms: they are equal by identity, so that
    a renderer can prepare a text for each.
    """

    allocations: tuple[Mapping[str, int], ...]
    mappings: Mapping[str, tuple[int, ...]]


class Candidate(NamedTuple):
    """One way to satisfy a request: a form, and the UUIDs of the providers it speaks of."""

    form: CandidateForm
    providers: tuple[str, ...]

    @property
    def allocations(self) -> dict[str, dict[str, int]]:
        """The amounts by class that each provider gives."""
        amounts = self.form.allocations
        return {uuid: dict(given) for uuid, given in zip(self.providers, amounts, strict=False)}

    @property
    def mappings(self) -> dict[str, tuple[str, ...]]:
        """The providers that serve each group, by suffix in the order of the request."""
        return {
            suffix: tuple(self.providers[number] for number in numbers)
            for suffix, numbers in self.form.mappings.items()
        }


@dataclass(frozen=True, slots=True)
class Candidates:
    """The answer to one request.

    ``summaries`` holds the providers to describe, in tree order: from 1.29 all
    of every tree that some candidate allocates from, below exactly those that
    some candidate allocates from.
    """

    candidates: Sequence[Candidate]
    summaries: Sequence[ProviderEntry]
