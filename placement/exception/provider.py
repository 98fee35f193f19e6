"""Errors of resource providers, their generations, inventories and allocations; of reshapes."""

from typing import NamedTuple

from placement.exception.base import Newer, PlacementException

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
    """Return an age in the largest unit that fits into it twice.

    >>> _age(200_000), _age(90), _age(None)
    ('2 days ago', '90 seconds ago', 'at an unknown time')
    """
    if seconds is None:
        return "at an unknown time"
    size, unit = next((pair for pair in _UNITS if seconds >= 2 * pair[0]), (1, "seconds"))
    return f"{seconds // size} {unit} ago"


class ProviderNotFound(PlacementException):
    """The provider in the path does not exist; ``purpose`` is the end of the message."""

    uuid: str
    purpose: str = ""
    template = "No resource provider with uuid {uuid} found{purpose}"


class UnknownRoot(PlacementException):
    """The provider in the parameter ``root`` of a query does not exist."""

    uuid: str
    template = "Invalid query string parameters: root: No resource provider with uuid {uuid} found"


class DuplicateProvider(PlacementException):
    """Another provider has this UUID or name.

    Clients match the text up to "already exists": ``Conflicting resource provider name: cn1
    already exists.``
    """

    attribute: str  # uuid or name
    value: str
    holder: Holder | None = None

    def __str__(self) -> str:
        error = f"Conflicting resource provider {self.attribute}: {self.value} already exists."
        return f"{error} {self.holder}" if self.holder else error


class CannotCreateProvider(PlacementException):
    """A new provider has no name or an invalid parent."""

    name: str
    uuid: str
    reason: str
    template = 'Unable to create resource provider "{name}", {uuid}: {reason}'


class CannotSaveProvider(PlacementException):
    """The requested parent of a provider is not allowed."""

    uuid: str
    reason: str
    template = "Unable to save resource provider {uuid}: {reason}"


class ParentIsFixed(CannotSaveProvider):
    newer = Newer("It", (1, 37))


class ProviderHasChildren(PlacementException):
    uuid: str
    children: str
    template = (
        "Unable to delete parent resource provider {uuid}: It has child resource providers. "
        "Delete them first: {children}."
    )


class ProviderInUse(PlacementException):
    uuid: str
    consumers: str
    template = (
        "Unable to delete resource provider {uuid}: Resource provider has allocations. "
        "Move or delete the consumers first: {consumers}."
    )


class StaleProviderGeneration(PlacementException):
    uuid: str
    actual: int
    given: int
    template = (
        "resource provider generation conflict for provider {uuid}: "
        "actual: {actual}, given: {given}"
    )


class StaleGenerationPleaseUpdate(StaleProviderGeneration):
    """The same, for a replacement of traits or aggregates."""

    template = (
        "Resource provider's generation already changed. "
        "Please update the generation and try again."
    )


class NegativeCapacity(PlacementException):
    """An inventory reserves more than its total (before 1.26: all of it)."""

    uuid: str
    resource_class: str
    action: str
    comparison: str
    template = (
        "Unable to {action} inventory for resource provider {uuid}: "
        "Invalid inventory for '{resource_class}' on resource provider '{uuid}'. "
        "The reserved value is {comparison} total."
    )


class TotalIsReserved(NegativeCapacity):
    newer = Newer("A reserved value equal to total", (1, 26))


class InventoryNotFound(PlacementException):
    """The inventory in the path does not exist."""

    resource_class: str
    uuid: str
    template = "No inventory of class {resource_class} for {uuid}"


class InventoryNotFoundForDelete(PlacementException):
    """The inventory to delete does not exist."""

    resource_class: str
    template = "No inventory of class {resource_class} found for delete"


class NoInventoryRecord(PlacementException):
    uuid: str
    resource_class: str
    template = (
        "No inventory record with resource class {resource_class} for resource provider {uuid}"
    )


class InventoryExists(PlacementException):
    uuid: str
    resource_class: str
    template = (
        "Update conflict: resource provider {uuid} has an inventory of {resource_class} already"
    )


class InventoryInUse(PlacementException):
    """Inventories with allocations cannot be deleted; classes are in the order of ids."""

    uuid: str
    resource_classes: tuple[str, ...]
    consumers: str
    template = (
        "update conflict: Inventory for '{resource_classes}' on resource provider '{uuid}' in use."
        " Move or delete the consumers first: {consumers}."
    )


class SingleInventoryInUse(PlacementException):
    """The same, for the deletion of a single inventory."""

    uuid: str
    resource_class: str
    consumers: str
    template = (
        "Unable to delete inventory of class {resource_class}: Inventory for "
        "'{resource_class}' on resource provider '{uuid}' in use. Move or delete the consumers "
        "first: {consumers}."
    )


class StaleConsumerGeneration(PlacementException):
    """The consumer generation is not current; None means that the consumer does not exist."""

    uuid: str
    actual: int | None
    given: int | None

    def __str__(self) -> str:
        expected = "null" if self.actual is None else self.actual
        return f"consumer generation conflict - expected {expected} but got {self.given}"


class NoAllocations(PlacementException):
    consumer_uuid: str
    template = "No allocations for consumer '{consumer_uuid}'"


class ProviderToAllocateNotFound(PlacementException):
    uuid: str
    template = "Allocation for resource provider '{uuid}' that does not exist."


class NotAllocatable(PlacementException):
    """A provider cannot satisfy a claim; each subclass is a reason."""


class NoSuchInventory(NotAllocatable):
    resource_classes: tuple[str, ...]
    uuid: str
    consumer_uuid: str | None = None
    template = (
        "Unable to allocate inventory: Inventory for '{resource_classes}' "
        "on resource provider '{uuid}' invalid."
    )


class InventoryConstraintsViolated(NotAllocatable):
    resource_class: str
    uuid: str
    amount: int
    min_unit: int
    max_unit: int
    step_size: int
    consumer_uuid: str | None = None
    template = (
        "Unable to allocate inventory: Unable to create allocation for "
        "'{resource_class}' on resource provider '{uuid}'. The requested amount "
        "{amount} would violate inventory constraints (min_unit {min_unit}, "
        "max_unit {max_unit}, step_size {step_size})."
    )


class CapacityExceeded(NotAllocatable):
    resource_class: str
    uuid: str
    amount: int
    used: int
    capacity: int
    reserved: int = 0
    consumer_uuid: str | None = None
    occupation: str = ""
    own: int = 0
    template = (
        "Unable to allocate inventory: Unable to create allocation for "
        "'{resource_class}' on resource provider '{uuid}'. The requested amount "
        "would exceed the capacity: asked {amount}, used {used}, "
        "capacity {capacity}."
    )


class ReshapedProviderNotFound(PlacementException):
    uuid: str
    template = "Resource provider {uuid} does not exist, so its inventory cannot be reshaped."
