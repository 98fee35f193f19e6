"""The base class of all exceptions, and the failures of the service itself."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import dataclass_transform


@dataclass(frozen=True, slots=True)
class Newer:
    """A form of a request, and the first microversion that has it."""

    form: str
    first: tuple[int, int]


@dataclass_transform(eq_default=False)
class PlacementException(Exception):
    """An error that placement raises.

    The annotated attributes of a subclass are the arguments of its constructor, as in a dataclass.
    ``template`` is the message for the client, with the names of attributes in braces. Tuples are
    lists of names, separated by commas. ``newer`` is set if the request fails only at older
    microversions. ``provider_names`` are those that were read, by UUID.
    """

    template = ""
    newer: Newer | None = None
    provider_names: Mapping[str, str] = MappingProxyType({})

    def __init_subclass__(cls) -> None:
        """Give the subclass the constructor of a dataclass; instances stay distinct."""
        dataclass(eq=False)(cls)

    def __str__(self) -> str:
        values = {
            name: ", ".join(value) if isinstance(value, tuple) else value
            for name, value in vars(self).items()
        }
        return self.template.format_map(values)


def listed(names: Iterable[str]) -> str:
    """Return the names, sorted and joined, for a message."""
    return ", ".join(sorted(names))


class Conflict(PlacementException):
    template = (
        "Inventory and/or allocations changed while attempting to allocate: "
        "Another thread concurrently updated the data. Please retry your update"
    )


class DatabaseUnavailable(PlacementException):
    """The database is unavailable; ``reason``, for the log, may contain hosts and users."""

    reason: str = ""
    template = "The database is not available at the moment; please try again."


class NumbersUsedUp(DatabaseUnavailable):
    tables: tuple[str, ...] = ()
    template = (
        "The database cannot write to {tables}: the next id, generation or usage counter is "
        "larger than its column can store. Operators: see 'Numbers are used up' on the page "
        "'Troubleshooting' of the documentation."
    )


class CommitLost(DatabaseUnavailable):
    """The commit was sent and not confirmed: whether the write was committed is unknown.

    The connection broke, or an administrator or a time limit ended the statement.
    """

    template = (
        "The database did not confirm the commit: the change may have been committed or not. "
        "Check the resource, then retry."
    )


class PolicyCheckFailed(PlacementException):
    """An external check of a policy rule failed; ``reason``, for the log, may contain hosts."""

    rule: str
    reason: str = ""
    template = (
        "The policy rule {rule} calls an external service, which did not decide. "
        "Retry; if this persists, the log of the service has the reason."
    )


class SearchDeadlineExceeded(PlacementException):
    seconds: float
    advice: str = "Ask for fewer or more narrowly described groups."
    template = (
        "The search for allocation candidates was ended after {seconds:g} seconds. {advice} "
        "Operators can raise [placement]candidate_search_budget_seconds."
    )


class TooManySlowRequests(PlacementException):
    most: int
    template = (
        "This process of the service handles {most} requests of this kind already: some compute, "
        "or their clients read slowly. The other threads serve other requests. Retry in a few "
        "seconds."
    )
