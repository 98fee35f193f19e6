"""Traits, and which providers have them."""

from collections.abc import Iterable

from placement.core.model import Names, ProviderTraits
from placement.db.store import Store


def list_all(
    store: Store,
    *,
    names: Iterable[str] | None = None,
    prefix: str | None = None,
    associated: bool | None = None,
) -> Names:
    """Return the traits that meet all that is given.

    ``prefix`` is literal; ``associated`` asks that some provider, or none, has the trait.
    """
    raise NotImplementedError


def show(store: Store, name: str) -> Names:
    """Return just this trait.  Raises: TraitNotFound."""
    raise NotImplementedError


def ensure(store: Store, name: str) -> tuple[bool, Names]:
    """Return whether the trait was made, and the trait."""
    raise NotImplementedError


def delete(store: Store, name: str) -> None:
    """Remove a custom trait.  Raises: TraitNotFound, StandardTraitNotDeletable, TraitInUse."""
    raise NotImplementedError


def of_provider(store: Store, uuid: str) -> ProviderTraits:
    """Return the traits of the provider.  Raises: ProviderNotFound."""
    raise NotImplementedError


def replace(store: Store, uuid: str, generation: int, traits: Iterable[str]) -> ProviderTraits:
    """Make the provider have exactly these traits; its generation grows if the set changes.

    Raises: ProviderNotFound, StaleGenerationPleaseUpdate, TraitsNotFound (400).
    """
    raise NotImplementedError


def clear(store: Store, uuid: str) -> None:
    """Take all traits from the provider; its generation grows if it had any.

    Raises: ProviderNotFound.
    """
    raise NotImplementedError
