"""The base class of all exceptions, and the failures of the service itself."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

_T = TypeVar("_T", bound=type)


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def mistake(cls: _T) -> _T:
    """Give an exception class the constructor of a dataclass; instances stay distinct."""
    return dataclass(eq=False)(cls)  # type: ignore[return-value]


class PlacementException(Exception):
    """An error that placement raises.

    ``template`` is the message for the client, with the names of attributes in braces.
    """

    template = ""

    def __str__(self) -> str:
        return self.template.format_map(vars(self))


def listed(names: Iterable[str]) -> str:
    """Return the names, sorted and joined, for a message."""
    return ", ".join(sorted(names))


@mistake
class Conflict(PlacementException):
    """A write failed after retries because of conflicts with concurrent updates."""

    template = (
        "Inventory and/or allocations changed while attempting to allocate: "
        "Another thread concurrently updated the data. Please retry your update"
    )


@mistake
class DatabaseUnavailable(PlacementException):
    """The database is unavailable; ``reason``, for the log, may contain hosts and users."""

    reason: str = ""
    template = "The database is not available at the moment; please try again."


class CommitLost(DatabaseUnavailable):
    """The commit was sent and not confirmed: whether the write was committed is unknown.

    The connection broke, or an administrator or a time limit ended the statement.
    """

    template = (
        "The database did not confirm the commit: the change may have been committed or not. "
        "Check the resource, then retry."
    )


@mistake
class PolicyCheckFailed(PlacementException):
    """An external check of a policy rule failed; ``reason``, for the log, may contain hosts."""

    rule: str
    reason: str = ""
    template = (
        "The policy rule {rule} calls an external service, which did not decide. "
        "Retry; if this persists, the log of the service has the reason."
    )


@mistake
class SearchDeadlineExceeded(PlacementException):
    """A search for allocation candidates exceeded its time limit."""

    seconds: float
    template = (
        "The search for allocation candidates was ended after {seconds:g} seconds. "
        "Ask for fewer or more narrowly described groups, or raise "
        "[placement]candidate_search_budget_seconds."
    )
