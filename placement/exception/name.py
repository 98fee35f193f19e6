"""Errors of resource classes and traits."""

from placement.exception.base import PlacementException, listed, mistake


@mistake
class ResourceClassNotFound(PlacementException):
    """The resource class in the path does not exist."""

    name: str

    def __str__(self) -> str:
        return f"No such resource class {self.name}"


@mistake
class UnknownResourceClass(PlacementException):
    """A resource class in a query or body does not exist; ``doing`` is the failed operation."""

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
    """The resource class to create already exists."""

    name: str

    def __str__(self) -> str:
        return f"Conflicting resource class already exists: {self.name}"


@mistake
class ResourceClassNameTaken(PlacementException):
    """Another resource class already has the new name."""

    name: str

    def __str__(self) -> str:
        return f"Resource class already exists: {self.name}"


@mistake
class StandardClassNotRenamable(PlacementException):
    """Standard resource classes cannot be renamed."""

    name: str

    def __str__(self) -> str:
        return f"Cannot update standard resource class {self.name}"


@mistake
class StandardClassNotDeletable(PlacementException):
    """Standard resource classes cannot be deleted."""

    name: str

    def __str__(self) -> str:
        return f"Error in delete resource class: Cannot delete standard resource class {self.name}"


@mistake
class ResourceClassInUse(PlacementException):
    """A resource class with inventories cannot be deleted."""

    name: str

    def __str__(self) -> str:
        return f"Error in delete resource class: Class is in use in inventory: {self.name}"


@mistake
class TraitNotFound(PlacementException):
    """The trait in the path does not exist."""

    name: str

    def __str__(self) -> str:
        return f"No such trait(s): {self.name}."


@mistake
class TraitsNotFound(PlacementException):
    """Traits to set on a provider do not exist."""

    names: tuple[str, ...]

    def __str__(self) -> str:
        return f"No such trait {listed(self.names)}"


@mistake
class UnknownTrait(PlacementException):
    """A trait in a query does not exist; ``doing`` is the failed operation."""

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
    """Standard traits cannot be deleted."""

    name: str

    def __str__(self) -> str:
        return f"Cannot delete standard trait {self.name}."


@mistake
class TraitInUse(PlacementException):
    """A trait that is set on a provider cannot be deleted."""

    name: str

    def __str__(self) -> str:
        return f"The trait {self.name} is in use by a resource provider."
