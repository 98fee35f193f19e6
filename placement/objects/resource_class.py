"""Resource classes: the standard ones, and those that a cloud makes for itself."""

from placement.core.model import Names
from placement.db.store import Store


def list_all(store: Store) -> Names:
    """Return the names of all classes, standard ones first, by id."""
    raise NotImplementedError


def show(store: Store, name: str) -> Names:
    """Return just this class.  Raises: ResourceClassNotFound."""
    raise NotImplementedError


def create(store: Store, name: str) -> None:
    """Add a custom class.  Raises: ResourceClassExists."""
    raise NotImplementedError


def ensure(store: Store, name: str) -> bool:
    """Return true if the class was made, false if it was there (1.7)."""
    raise NotImplementedError


def rename(store: Store, name: str, new_name: str) -> None:
    """Give a custom class another name (1.2 to 1.6).

    Raises: ResourceClassNotFound, ResourceClassNameTaken, StandardClassNotRenamable.
    """
    raise NotImplementedError


def delete(store: Store, name: str) -> None:
    """Remove a custom class.

    Raises: ResourceClassNotFound, StandardClassNotDeletable, ResourceClassInUse.
    """
    raise NotImplementedError
