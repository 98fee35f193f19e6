"""Errors of allocations, including reshaper requests."""

from placement.exception.base import PlacementException


def expected(generation: int | None) -> str:
    """Return a consumer's generation as text; null if the consumer does not exist."""
    return "null" if generation is None else str(generation)


class StaleConsumerGeneration(PlacementException):
    """The consumer generation is not current; None means that the consumer does not exist."""

    uuid: str
    actual: int | None
    given: int | None

    def __str__(self) -> str:
        return (
            f"consumer generation conflict - expected {expected(self.actual)} but got {self.given}"
        )


class NoAllocations(PlacementException):
    """The consumer has no allocations that could be deleted."""

    consumer_uuid: str
    template = "No allocations for consumer '{consumer_uuid}'"


class ProviderToAllocateNotFound(PlacementException):
    """A claim names a provider that does not exist."""

    uuid: str
    template = "Allocation for resource provider '{uuid}' that does not exist."


class NotAllocatable(PlacementException):
    """A provider cannot satisfy a claim; each subclass is a reason."""


class NoSuchInventory(NotAllocatable):
    """The provider has no inventory of the requested classes."""

    resource_classes: tuple[str, ...]
    uuid: str
    consumer_uuid: str | None = None

    def __str__(self) -> str:
        return (
            f"Unable to allocate inventory: Inventory for '{', '.join(self.resource_classes)}' "
            f"on resource provider '{self.uuid}' invalid."
        )


class InventoryConstraintsViolated(NotAllocatable):
    """The amount violates min_unit, max_unit or step_size of the inventory."""

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
    """The requested amount exceeds the free capacity."""

    resource_class: str
    uuid: str
    amount: int
    used: int
    capacity: int
    reserved: int = 0
    consumer_uuid: str | None = None
    template = (
        "Unable to allocate inventory: Unable to create allocation for "
        "'{resource_class}' on resource provider '{uuid}'. The requested amount "
        "would exceed the capacity: asked {amount}, used {used}, "
        "capacity {capacity}."
    )


class ReshapedProviderNotFound(PlacementException):
    """A provider in a reshaper request does not exist."""

    uuid: str
    template = "Resource provider {uuid} does not exist, so its inventory cannot be reshaped."
