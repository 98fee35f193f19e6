"""From the assignments of a problem to the forms of candidates."""

from typing import NamedTuple

from placement.core.search.candidates import CandidateForm
from placement.core.search.plan import SearchPlan
from placement.core.search.problem import Assignment, Options


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
