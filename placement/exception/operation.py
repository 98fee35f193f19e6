"""What can go wrong with the service itself."""

from placement.exception.base import PlacementException, mistake


@mistake
class Conflict(PlacementException):
    """The database refused a write for a conflict more often than it is retried."""

    def __str__(self) -> str:
        return (
            "Inventory and/or allocations changed while attempting to allocate: "
            "Another thread concurrently updated the data. Please retry your update"
        )


@mistake
class DatabaseUnavailable(PlacementException):
    """The database cannot be reached now."""

    reason: str = ""

    def __str__(self) -> str:
        text = f"The database is not available at the moment; please try again. {self.reason}"
        return text.rstrip()


@mistake
class SearchBudgetExceeded(PlacementException):
    """A search for candidates was given up."""

    seconds: float

    def __str__(self) -> str:
        return (
            f"The search for allocation candidates was ended after {self.seconds:g} seconds. "
            "Ask for fewer or more narrowly described groups, or raise "
            "[placement]candidate_search_budget_seconds."
        )
