"""Errors of resource classes and traits."""

from placement.exception.base import PlacementException, listed, mistake


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
