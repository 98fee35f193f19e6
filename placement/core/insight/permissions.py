"""Decisions of the policy about calls that services send."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from placement.core.insight.service_calls import Call


class CheckedCall(NamedTuple):
    """A call, the rule that decides about it, what the rule needs, and the decision."""

    call: Call
    rule: str
    requirement: str
    is_allowed: bool


@dataclass(frozen=True, slots=True)
class Permissions:
    """The decisions for a token with these roles in a project.

    ``unnamed_roles`` are those that no rule names: they have no effect, or are misspelled.
    """

    roles: Sequence[str]
    project_id: str | None
    unnamed_roles: Sequence[str]
    calls: Sequence[CheckedCall]

    @property
    def denied(self) -> Sequence[CheckedCall]:
        """The calls that are refused with 403."""
        return [each for each in self.calls if not each.is_allowed]


def role_names(text: str) -> tuple[str, ...]:
    """Return the roles of a list with commas, without blanks around them and repetitions.

    >>> role_names("reader, member,reader")
    ('reader', 'member')
    """
    names = (name.strip() for name in text.split(","))
    return tuple(dict.fromkeys(name for name in names if name))
