"""The result of a search: candidates, and the providers to describe with them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from placement.core.snapshot.entries import ProviderEntry


@dataclass(frozen=True, slots=True, eq=False)
class CandidateForm:
    """What candidates have in common that differ only in which providers they name.

    Providers are numbered by their index in ``Candidate.providers``; the first
    ``len(allocations)`` have an allocation, those after serve resourceless
    groups only. A search has few forms; they are compared by identity, so that
    a renderer can prepare one template for each.
    """

    allocations: tuple[Mapping[str, int], ...]
    mappings: Mapping[str, tuple[int, ...]]


class Candidate(NamedTuple):
    """One way to satisfy a request: a form, and the UUIDs of its providers."""

    form: CandidateForm
    providers: tuple[str, ...]

    @property
    def allocations(self) -> dict[str, dict[str, int]]:
        """The amounts by provider UUID and resource class."""
        amounts = self.form.allocations
        return {uuid: dict(own) for uuid, own in zip(self.providers, amounts, strict=False)}

    @property
    def mappings(self) -> dict[str, tuple[str, ...]]:
        """The providers that serve each group, by suffix in the order of the request."""
        return {
            suffix: tuple(self.providers[number] for number in numbers)
            for suffix, numbers in self.form.mappings.items()
        }


@dataclass(frozen=True, slots=True)
class Candidates:
    """The result for one request.

    ``summaries`` are the providers to describe, in tree order: from 1.29 all of
    every tree that a candidate allocates from, below 1.29 exactly those that a
    candidate allocates from.
    """

    candidates: Sequence[Candidate]
    summaries: Sequence[ProviderEntry]
