"""Errors of resource providers and their generations."""

from typing import NamedTuple

from placement.exception.base import PlacementException, mistake

_UNITS = ((86_400, "days"), (3_600, "hours"), (60, "minutes"))


class Holder(NamedTuple):
    """The provider that has a name or UUID; ``age_seconds`` is the time since its last change."""

    uuid: str
    name: str
    generation: int
    age_seconds: int | None
    consumers: int

    def __str__(self) -> str:
        return (
            f"It is provider {self.uuid}: name {self.name}, generation {self.generation}, "
            f"last changed {_age(self.age_seconds)}, consumers {self.consumers}."
        )


def _age(seconds: int | None) -> str:
    """Return an age in the largest unit of which there are two.

    >>> _age(200_000), _age(90), _age(None)
    ('2 days ago', '90 seconds ago', 'at an unknown time')
    """
    if seconds is None:
        return "at an unknown time"
    size, unit = next((each for each in _UNITS if seconds >= 2 * each[0]), (1, "seconds"))
    return f"{seconds // size} {unit} ago"


@mistake
class ProviderNotFound(PlacementException):
    """The provider in the path does not exist."""

    uuid: str

    def __str__(self) -> str:
        return f"No resource provider with uuid {self.uuid} found"


@mistake
class ProviderNotFoundForDelete(PlacementException):
    """The provider to delete does not exist."""

    uuid: str

    def __str__(self) -> str:
        return f"No resource provider with uuid {self.uuid} found for delete"


@mistake
class DuplicateProviderUuid(PlacementException):
    """Another provider has this UUID.  Clients match the text up to the first period."""

    uuid: str
    holder: Holder | None = None

    def __str__(self) -> str:
        return (
            f"Conflicting resource provider uuid: {self.uuid} already exists."
            f"{_sentence(self.holder)}"
        )


@mistake
class DuplicateProviderName(PlacementException):
    """Another provider has this name.  Clients match the text up to "already exists"."""

    name: str
    holder: Holder | None = None

    def __str__(self) -> str:
        return (
            f"Conflicting resource provider name: {self.name} already exists."
            f"{_sentence(self.holder)}"
        )


def _sentence(holder: Holder | None) -> str:
    return f" {holder}" if holder else ""


@mistake
class CannotCreateProvider(PlacementException):
    """A new provider has no name or an invalid parent."""

    name: str
    uuid: str
    reason: str

    def __str__(self) -> str:
        return f'Unable to create resource provider "{self.name}", {self.uuid}: {self.reason}'


@mistake
class CannotSaveProvider(PlacementException):
    """The requested parent of a provider is not allowed."""

    uuid: str
    reason: str

    def __str__(self) -> str:
        return f"Unable to save resource provider {self.uuid}: {self.reason}"


@mistake
class ProviderHasChildren(PlacementException):
    """A provider with children cannot be deleted."""

    uuid: str

    def __str__(self) -> str:
        return (
            f"Unable to delete parent resource provider {self.uuid}: "
            "It has child resource providers."
        )


@mistake
class ProviderInUse(PlacementException):
    """A provider with allocations cannot be deleted."""

    uuid: str

    def __str__(self) -> str:
        return (
            f"Unable to delete resource provider {self.uuid}: Resource provider has allocations."
        )


@mistake
class StaleProviderGeneration(PlacementException):
    """The caller's generation of a provider is not the current one."""

    uuid: str
    actual: int
    given: int

    def __str__(self) -> str:
        return (
            f"resource provider generation conflict for provider {self.uuid}: "
            f"actual: {self.actual}, given: {self.given}"
        )


@mistake
class StaleGenerationPleaseUpdate(PlacementException):
    """The same, for a replacement of traits or aggregates."""

    actual: int
    given: int

    def __str__(self) -> str:
        return (
            "Resource provider's generation already changed. "
            "Please update the generation and try again."
        )
