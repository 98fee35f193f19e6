"""Errors of resource classes and traits."""

from placement.exception.base import PlacementException


class ResourceClassNotFound(PlacementException):
    """The resource class in the path does not exist."""

    name: str
    template = "No such resource class {name}"


class UnknownClassOrTrait(PlacementException):
    """A name in a query or body does not exist; ``doing`` is the failed operation."""

    name: str
    doing: str = ""

    def __str__(self) -> str:
        return f"{self.doing}: {super().__str__()}" if self.doing else super().__str__()


class UnknownResourceClass(UnknownClassOrTrait):
    """A resource class in a query or body does not exist."""

    template = "No such resource class {name}."


class ResourceClassExists(PlacementException):
    name: str
    template = "Conflicting resource class already exists: {name}"


class ResourceClassNameTaken(PlacementException):
    name: str
    template = "Resource class already exists: {name}"


class StandardClassNotRenamable(PlacementException):
    name: str
    template = "Cannot update standard resource class {name}"


class StandardClassNotDeletable(PlacementException):
    name: str
    template = "Error in delete resource class: Cannot delete standard resource class {name}"


class ResourceClassInUse(PlacementException):
    name: str
    providers: str
    template = (
        "Error in delete resource class: Class is in use in inventory: {name}. Delete the "
        "inventories first: {providers}."
    )


class TraitNotFound(PlacementException):
    """The trait in the path does not exist."""

    name: str
    template = "No such trait(s): {name}."


class TraitsNotFound(PlacementException):
    """Traits to set on a provider do not exist."""

    names: tuple[str, ...]
    template = "No such trait {names}"


class UnknownTrait(UnknownClassOrTrait):
    """A trait in a query does not exist."""

    template = "No such trait(s): {name}."


class StandardTraitNotDeletable(PlacementException):
    name: str
    template = "Cannot delete standard trait {name}."


class TraitInUse(PlacementException):
    name: str
    providers: str
    template = (
        "The trait {name} is in use by a resource provider. Remove it from the providers first: "
        "{providers}."
    )
