"""Errors of resource providers and their generations."""

from placement.exception.base import PlacementException, mistake


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
    """Another provider has this UUID."""

    uuid: str

    def __str__(self) -> str:
        return f"Conflicting resource provider uuid: {self.uuid} already exists."


@mistake
class DuplicateProviderName(PlacementException):
    """Another provider has this name."""

    name: str

    def __str__(self) -> str:
        return f"Conflicting resource provider name: {self.name} already exists."


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
