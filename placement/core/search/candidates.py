"""The result of a search: candidates, and the providers to describe with them.

From the assignments of a problem to the forms of candidates.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, overload

from placement.core.model import ProviderState
from placement.core.search.slots import Assignment, Options, SearchPlan
from placement.core.snapshot.entries import ProviderEntry
from placement.core.snapshot.rows import Numbers
from placement.core.snapshot.snapshot import Snapshot


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


class WholeTrees(Sequence[ProviderEntry]):
    """All providers of some trees, in tree order; their text is cached by tree."""

    def __init__(self, snapshot: Snapshot, roots: Numbers) -> None:
        self._snapshot = snapshot
        self._roots = roots

    def __len__(self) -> int:
        return int(self._snapshot.forest.subtree_size[self._roots].sum())

    def __iter__(self) -> Iterator[ProviderEntry]:
        rows = self._snapshot.forest.members_of_all(self._roots)
        return iter(self._snapshot.entries.take(rows.tolist()))

    @overload
    def __getitem__(self, index: int) -> ProviderEntry: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[ProviderEntry]: ...
    def __getitem__(self, index: int | slice) -> ProviderEntry | Sequence[ProviderEntry]:
        return list(self)[index]

    def texts(
        self, form: str, render: Callable[[Sequence[ProviderState]], bytes]
    ) -> Iterator[bytes]:
        """Yield what ``render`` makes of the providers of each tree, once per form and tree."""
        forest, entries = self._snapshot.forest, self._snapshot.entries
        for row, entry in zip(
            self._roots.tolist(), entries.take(self._roots.tolist()), strict=True
        ):
            yield entry.cached_text(form) or entry.text(
                form,
                lambda row=row: render([own.state for own in entries.take(forest.members(row))]),  # type: ignore[misc]
            )


@dataclass(frozen=True, slots=True)
class Candidates:
    """The result for one request.

    ``summaries`` are the providers to describe, in tree order: from 1.29 all of
    every tree that a candidate allocates from, below 1.29 exactly those that a
    candidate allocates from.
    """

    candidates: Sequence[Candidate]
    summaries: Sequence[ProviderEntry]


class Solution(NamedTuple):
    """A form, and the options of a problem that its providers are."""

    form: CandidateForm
    options: Options
    is_in_other_trees: bool


class CandidateForms:
    """The forms of the candidates of one plan, each created once."""

    def __init__(self, plan: SearchPlan) -> None:
        self._plan = plan
        self._forms: dict[tuple[int, ...], CandidateForm] = {}
        resourceless = [number for number, slot in enumerate(plan.slots) if not slot.resources]
        resourced = [number for number, slot in enumerate(plan.slots) if slot.resources]
        self._slots = (*resourced, *resourceless)

    def solution(self, assignment: Assignment) -> Solution:
        """Return an assignment as a form and its options, without repetition."""
        number_of: dict[int, int] = {}
        pattern = tuple(
            [number_of.setdefault(assignment[slot], len(number_of)) for slot in self._slots]
        )
        form = self._forms.get(pattern)
        if form is None:
            form = self._forms[pattern] = self._form(pattern)
        options = tuple(number_of)
        return Solution(form, options, max(options) < 0)

    def _form(self, pattern: tuple[int, ...]) -> CandidateForm:
        number_of = dict(zip(self._slots, pattern, strict=True))
        amounts: dict[int, dict[str, int]] = {}
        mappings: dict[str, dict[int, None]] = {}
        for number, slot in enumerate(self._plan.slots):
            provider = number_of[number]
            mappings.setdefault(slot.suffix, {})[provider] = None
            for name, amount in slot.resources:
                own = amounts.setdefault(provider, {})
                own[name] = own.get(name, 0) + amount
        return CandidateForm(
            allocations=tuple(amounts[number] for number in sorted(amounts)),
            mappings={suffix: tuple(numbers) for suffix, numbers in mappings.items()},
        )
