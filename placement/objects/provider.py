"""Resource providers: create, show, change and remove one."""

from enum import Enum
from typing import Final

from placement.core.model import Provider
from placement.db.store import Store


class Parent(Enum):
    """What an update does about the parent when it names none."""

    UNCHANGED = "unchanged"


UNCHANGED: Final = Parent.UNCHANGED


def show(store: Store, uuid: str) -> Provider:
    """Return the provider.  Raises: ProviderNotFound."""
    raise NotImplementedError


def create(store: Store, uuid: str, name: str, parent_uuid: str | None) -> Provider:
    """Return the new provider, generation 0.

    Raises: DuplicateProviderUuid, DuplicateProviderName, ParentIsSelf, ParentNotFound
    (all of the creating kind).
    """
    raise NotImplementedError


def update(
    store: Store, uuid: str, name: str, parent: str | None | Parent, *, may_move: bool
) -> Provider:
    """Return the provider with its new name and parent; its generation does not change.

    ``may_move`` is false below 1.37, where a parent once set can neither be changed nor removed.
    ``modified_at`` of the answer is the time of this update, if it changed something.
    """
    raise NotImplementedError


def delete(store: Store, uuid: str) -> None:
    """Remove the provider with its inventories, traits and aggregate associations.

    Raises: ProviderNotFoundForDelete, ProviderHasChildren, ProviderInUse.
    """
    raise NotImplementedError
