"""Errors of inventories."""

from placement.exception.base import PlacementException, mistake


@mistake
class NegativeCapacity(PlacementException):
    """An inventory reserves more than its total (before 1.26: all of it)."""

    uuid: str
    resource_class: str
    action: str
    equal_refused: bool

    def __str__(self) -> str:
        return (
            f"Unable to {self.action} inventory for resource provider {self.uuid}: "
            f"Invalid inventory for '{self.resource_class}' on resource provider '{self.uuid}'. "
            f"The reserved value is greater than "
            f"{'or equal to ' if self.equal_refused else ''}total."
        )


@mistake
class InventoryNotFound(PlacementException):
    """The inventory in the path does not exist."""

    resource_class: str
    uuid: str

    def __str__(self) -> str:
        return f"No inventory of class {self.resource_class} for {self.uuid}"


@mistake
class InventoryNotFoundForDelete(PlacementException):
    """The inventory to delete does not exist."""

    resource_class: str

    def __str__(self) -> str:
        return f"No inventory of class {self.resource_class} found for delete"


@mistake
class NoInventoryRecord(PlacementException):
    """The provider has no inventory of a class to update."""

    uuid: str
    resource_class: str

    def __str__(self) -> str:
        return (
            f"No inventory record with resource class {self.resource_class} "
            f"for resource provider {self.uuid}"
        )


@mistake
class InventoryExists(PlacementException):
    """The provider already has an inventory of this class."""

    uuid: str
    resource_class: str

    def __str__(self) -> str:
        return (
            f"Update conflict: resource provider {self.uuid} has an inventory of "
            f"{self.resource_class} already"
        )


@mistake
class InventoryInUse(PlacementException):
    """Inventories with allocations cannot be deleted; classes are in the order of ids."""

    uuid: str
    resource_classes: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"update conflict: Inventory for '{', '.join(self.resource_classes)}' "
            f"on resource provider '{self.uuid}' in use."
        )


@mistake
class SingleInventoryInUse(PlacementException):
    """The same, for the deletion of a single inventory."""

    uuid: str
    resource_class: str

    def __str__(self) -> str:
        return (
            f"Unable to delete inventory of class {self.resource_class}: Inventory for "
            f"'{self.resource_class}' on resource provider '{self.uuid}' in use."
        )
