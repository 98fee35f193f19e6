"""What can go wrong, a class per mistake.

An exception carries what it is about as attributes and says itself in one
line. It knows nothing of HTTP: :mod:`placement.errors` maps classes to
statuses and codes, and a test keeps that table total. Clients match parts of
these texts; those parts are facts of the interface.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

_T = TypeVar("_T", bound=type)


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def mistake(cls: _T) -> _T:
    """Give an exception class the constructor of a dataclass; instances stay distinct."""
    return dataclass(eq=False)(cls)  # type: ignore[return-value]


class PlacementException(Exception):
    """Anything that placement itself raises."""


def listed(names: Iterable[str]) -> str:
    """Join names for a message, in a fixed order."""
    return ", ".join(sorted(names))


# --- requests that cannot be understood ---------------------------------------


@mistake
class BadRequest(PlacementException):
    """A query string or body breaks a rule; the text is written where the rule is."""

    message: str

    def __str__(self) -> str:
        return self.message


class DuplicateQueryKey(BadRequest):
    """A query parameter that may be given once is given more often."""


class BadQueryValue(BadRequest):
    """The value of a query parameter contradicts another one, or itself."""


class MissingQueryValue(BadRequest):
    """The query asks for no resources at all."""


class MalformedJson(BadRequest):
    """The body is not JSON that can be worked with."""


# --- requests that are turned away at the door -----------------------------------


class RouteNotFound(PlacementException):
    """Nothing is at this path, at this version."""

    def __str__(self) -> str:
        return ""


@mistake
class MethodNotAllowed(PlacementException):
    """Something is at this path, but not with this method; ``allowed`` are those that are."""

    allowed: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ""


@mistake
class InvalidVersion(PlacementException):
    """The version asked for is not written as one."""

    version: str

    def __str__(self) -> str:
        return f"invalid version string: {self.version}"


@mistake
class UnacceptableVersion(PlacementException):
    """The version asked for is not served."""

    version: str
    min_version: str
    max_version: str

    def __str__(self) -> str:
        return f"Unacceptable version header: {self.version}"


class NotAcceptable(PlacementException):
    """The caller wants an answer in another form than JSON."""

    def __str__(self) -> str:
        return "Only application/json is provided"


@mistake
class UnsupportedMediaType(PlacementException):
    """The body is said to be something else than JSON."""

    media_type: str | None

    def __str__(self) -> str:
        return f"The media type {self.media_type} is not supported, use application/json"


@mistake
class PolicyNotAuthorized(PlacementException):
    """The policy does not let this caller do this."""

    rule: str

    def __str__(self) -> str:
        return f"Policy does not allow {self.rule} to be performed."


class ScopeNotAuthorized(PolicyNotAuthorized):
    """The caller's token is for a system or a domain, where only projects are served."""

    def __str__(self) -> str:
        return self.rule


# --- resource providers --------------------------------------------------------


@mistake
class ProviderNotFound(PlacementException):
    """The path names a provider that is not there."""

    uuid: str

    def __str__(self) -> str:
        return f"No resource provider with uuid {self.uuid} found"


@mistake
class ProviderNotFoundForDelete(PlacementException):
    """The provider to delete is not there."""

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
    """A new provider has no name, or a parent that cannot be."""

    name: str
    uuid: str
    reason: str

    def __str__(self) -> str:
        return f'Unable to create resource provider "{self.name}", {self.uuid}: {self.reason}'


@mistake
class CannotSaveProvider(PlacementException):
    """A provider cannot move where it is asked to."""

    uuid: str
    reason: str

    def __str__(self) -> str:
        return f"Unable to save resource provider {self.uuid}: {self.reason}"


@mistake
class ProviderHasChildren(PlacementException):
    """A provider with children cannot be deleted."""

    uuid: str

    def __str__(self) -> str:
        return f"Unable to delete parent resource provider {self.uuid}: It has child resource providers."


@mistake
class ProviderInUse(PlacementException):
    """A provider with allocations cannot be deleted."""

    uuid: str

    def __str__(self) -> str:
        return (
            f"Unable to delete resource provider {self.uuid}: Resource provider has allocations."
        )


# --- generations ---------------------------------------------------------------


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
    """The same, where traits or aggregates are replaced."""

    actual: int
    given: int

    def __str__(self) -> str:
        return (
            "Resource provider's generation already changed. "
            "Please update the generation and try again."
        )


def expected(generation: int | None) -> str:
    """Say a consumer's generation; a consumer that is not there has none."""
    return "null" if generation is None else str(generation)


@mistake
class StaleConsumerGeneration(PlacementException):
    """The caller's generation of a consumer is not the current one; None: there is no such consumer."""

    uuid: str
    actual: int | None
    given: int | None

    def __str__(self) -> str:
        return (
            f"consumer generation conflict - expected {expected(self.actual)} but got {self.given}"
        )


# --- inventories ---------------------------------------------------------------


@mistake
class NegativeCapacity(PlacementException):
    """An inventory reserves more than there is (before 1.26: all there is)."""

    uuid: str
    resource_class: str
    doing: str
    equal_refused: bool

    def __str__(self) -> str:
        return (
            f"Unable to {self.doing} inventory for resource provider {self.uuid}: Invalid inventory "
            f"for '{self.resource_class}' on resource provider '{self.uuid}'. The reserved value is "
            f"greater than {'or equal to ' if self.equal_refused else ''}total."
        )


@mistake
class InventoryNotFound(PlacementException):
    """The path names an inventory that is not there."""

    resource_class: str
    uuid: str

    def __str__(self) -> str:
        return f"No inventory of class {self.resource_class} for {self.uuid}"


@mistake
class InventoryNotFoundForDelete(PlacementException):
    """The inventory to delete is not there."""

    resource_class: str

    def __str__(self) -> str:
        return f"No inventory of class {self.resource_class} found for delete"


@mistake
class NoInventoryRecord(PlacementException):
    """An update names a class that the provider has no inventory of."""

    uuid: str
    resource_class: str

    def __str__(self) -> str:
        return (
            f"No inventory record with resource class {self.resource_class} "
            f"for resource provider {self.uuid}"
        )


@mistake
class InventoryExists(PlacementException):
    """The provider has an inventory of this class already."""

    uuid: str
    resource_class: str

    def __str__(self) -> str:
        return (
            f"Update conflict: resource provider {self.uuid} has an inventory of "
            f"{self.resource_class} already"
        )


@mistake
class InventoryInUse(PlacementException):
    """Inventories cannot be removed while they are allocated; classes in id order."""

    uuid: str
    resource_classes: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"update conflict: Inventory for '{', '.join(self.resource_classes)}' "
            f"on resource provider '{self.uuid}' in use."
        )


@mistake
class SingleInventoryInUse(PlacementException):
    """The same, for the removal of one inventory."""

    uuid: str
    resource_class: str

    def __str__(self) -> str:
        return (
            f"Unable to delete inventory of class {self.resource_class}: Inventory for "
            f"'{self.resource_class}' on resource provider '{self.uuid}' in use."
        )


# --- resource classes ----------------------------------------------------------


@mistake
class ResourceClassNotFound(PlacementException):
    """The path names a class that is not there."""

    name: str

    def __str__(self) -> str:
        return f"No such resource class {self.name}"


@mistake
class UnknownResourceClass(PlacementException):
    """A query or a body names a class that is not there; ``doing`` says where."""

    name: str
    doing: str = ""

    def __str__(self) -> str:
        return (
            f"{self.doing}: No such resource class {self.name}."
            if self.doing
            else f"No such resource class {self.name}."
        )


@mistake
class ResourceClassExists(PlacementException):
    """The class to create is there already."""

    name: str

    def __str__(self) -> str:
        return f"Conflicting resource class already exists: {self.name}"


@mistake
class ResourceClassNameTaken(PlacementException):
    """Another class has the new name."""

    name: str

    def __str__(self) -> str:
        return f"Resource class already exists: {self.name}"


@mistake
class StandardClassNotRenamable(PlacementException):
    """Standard classes keep their names."""

    name: str

    def __str__(self) -> str:
        return f"Cannot update standard resource class {self.name}"


@mistake
class StandardClassNotDeletable(PlacementException):
    """Standard classes stay."""

    name: str

    def __str__(self) -> str:
        return f"Error in delete resource class: Cannot delete standard resource class {self.name}"


@mistake
class ResourceClassInUse(PlacementException):
    """A class that some inventory is of cannot be deleted."""

    name: str

    def __str__(self) -> str:
        return f"Error in delete resource class: Class is in use in inventory: {self.name}"


# --- traits --------------------------------------------------------------------


@mistake
class TraitNotFound(PlacementException):
    """The path names a trait that is not there."""

    name: str

    def __str__(self) -> str:
        return f"No such trait(s): {self.name}."


@mistake
class TraitsNotFound(PlacementException):
    """A provider is to have traits that are not there."""

    names: tuple[str, ...]

    def __str__(self) -> str:
        return f"No such trait {listed(self.names)}"


@mistake
class UnknownTrait(PlacementException):
    """A query names a trait that is not there; ``doing`` says where."""

    name: str
    doing: str = ""

    def __str__(self) -> str:
        return (
            f"{self.doing}: No such trait(s): {self.name}."
            if self.doing
            else f"No such trait(s): {self.name}."
        )


@mistake
class StandardTraitNotDeletable(PlacementException):
    """Standard traits stay."""

    name: str

    def __str__(self) -> str:
        return f"Cannot delete standard trait {self.name}."


@mistake
class TraitInUse(PlacementException):
    """A trait that some provider has cannot be deleted."""

    name: str

    def __str__(self) -> str:
        return f"The trait {self.name} is in use by a resource provider."


# --- allocations ---------------------------------------------------------------


@mistake
class NoAllocations(PlacementException):
    """The consumer to delete the allocations of has none."""

    consumer_uuid: str

    def __str__(self) -> str:
        return f"No allocations for consumer '{self.consumer_uuid}'"


@mistake
class ProviderToAllocateNotFound(PlacementException):
    """A claim names a provider that is not there."""

    uuid: str

    def __str__(self) -> str:
        return f"Allocation for resource provider '{self.uuid}' that does not exist."


class NotAllocatable(PlacementException):
    """A claim asks for what a provider cannot give; the subclasses say why."""


@mistake
class NoSuchInventory(NotAllocatable):
    """The provider has no inventory of the classes asked for."""

    resource_classes: tuple[str, ...]
    uuid: str

    def __str__(self) -> str:
        return (
            f"Unable to allocate inventory: Inventory for '{', '.join(self.resource_classes)}' "
            f"on resource provider '{self.uuid}' invalid."
        )


@mistake
class InventoryConstraintsViolated(NotAllocatable):
    """The amount is not one of the portions that the inventory is given out in."""

    resource_class: str
    uuid: str
    amount: int
    min_unit: int
    max_unit: int
    step_size: int

    def __str__(self) -> str:
        return (
            f"Unable to allocate inventory: Unable to create allocation for "
            f"'{self.resource_class}' on resource provider '{self.uuid}'. The requested amount "
            f"{self.amount} would violate inventory constraints (min_unit {self.min_unit}, "
            f"max_unit {self.max_unit}, step_size {self.step_size})."
        )


@mistake
class CapacityExceeded(NotAllocatable):
    """Not as much is left."""

    resource_class: str
    uuid: str
    amount: int
    used: int
    capacity: int

    def __str__(self) -> str:
        return (
            f"Unable to allocate inventory: Unable to create allocation for "
            f"'{self.resource_class}' on resource provider '{self.uuid}'. The requested amount "
            f"would exceed the capacity: asked {self.amount}, used {self.used}, "
            f"capacity {self.capacity}."
        )


# --- reshaping -----------------------------------------------------------------


@mistake
class ReshapedProviderNotFound(PlacementException):
    """A provider whose inventory is to be reshaped is not there."""

    uuid: str

    def __str__(self) -> str:
        return (
            f"Resource provider {self.uuid} does not exist, so its inventory cannot be reshaped."
        )


# --- the database --------------------------------------------------------------


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
        return f"The database is not available at the moment; please try again. {self.reason}".rstrip()


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
