"""Traits, and which providers have them."""

from collections.abc import Iterable, Sequence
from dataclasses import replace as with_values
from typing import Any

from placement import exception
from placement.core.model import Names, ProviderTraits
from placement.db.store import Store
from placement.objects.provider import found, locked


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
    with store.read() as tx:
        return _names(tx.traits.matching(names, prefix, associated=associated))


def _names(traits: Sequence[Any]) -> Names:
    written = (trait.modified_at for trait in traits if trait.modified_at)
    return Names(tuple(trait.name for trait in traits), max(written, default=None))


def show(store: Store, name: str) -> Names:
    """Return just this trait.  Raises: TraitNotFound."""
    with store.read() as tx:
        return _names([_existing(tx.traits.find(name), name)])


def _existing(trait: Any, name: str) -> Any:
    if trait is None:
        raise exception.TraitNotFound(name)
    return trait


def ensure(store: Store, name: str) -> tuple[bool, Names]:
    """Return whether the trait was made, and the trait."""
    return store.write(_ensure, name)


def _ensure(tx: Any, name: str) -> tuple[bool, Names]:
    present = tx.traits.find(name)
    if present is not None:
        return False, _names([present])
    tx.traits.insert(name)
    made = tx.traits.find(name)
    tx.publish(names=True)
    return True, _names([made])


def delete(store: Store, name: str) -> None:
    """Remove a custom trait.  Raises: TraitNotFound, StandardTraitNotDeletable, TraitInUse."""
    store.write(_delete, name)


def _delete(tx: Any, name: str) -> None:
    removed = _existing(tx.traits.lock(name), name)
    if removed.is_standard:
        raise exception.StandardTraitNotDeletable(name)
    if tx.traits.is_in_use(removed.id):
        raise exception.TraitInUse(name)
    tx.traits.delete(removed.id)
    tx.publish(names=True)


def of_provider(store: Store, uuid: str) -> ProviderTraits:
    """Return the traits of the provider.  Raises: ProviderNotFound."""
    with store.read() as tx:
        provider = found(tx, uuid)
        names = _names(tx.traits.of_provider(provider.id))
    return ProviderTraits(provider, names.names, names.modified_at)


def replace(store: Store, uuid: str, generation: int, traits: Iterable[str]) -> ProviderTraits:
    """Make the provider have exactly these traits; its generation grows if the set changes.

    Raises: ProviderNotFound, StaleGenerationPleaseUpdate, TraitsNotFound (400).
    """
    return store.write(_replace, uuid, generation, frozenset(traits))


def _replace(tx: Any, uuid: str, generation: int, traits: frozenset[str]) -> ProviderTraits:
    provider = locked(tx, uuid)
    if provider.generation != generation:
        raise exception.StaleGenerationPleaseUpdate(provider.generation, generation)
    wanted = tx.traits.use(traits)
    missing = traits - {trait.name for trait in wanted}
    if missing:
        raise exception.TraitsNotFound(tuple(sorted(missing)))
    names = _names(wanted)
    if _give(tx, provider.id, {trait.id for trait in wanted}):
        tx.publish(generation_bumped=[provider.id])
        provider = with_values(provider, generation=provider.generation + 1)
    return ProviderTraits(provider, names.names, names.modified_at)


def _give(tx: Any, provider_id: int, wanted: set[int]) -> bool:
    """Make a locked provider have exactly these traits; return whether that changed anything."""
    present = {trait.id for trait in tx.traits.of_provider(provider_id)}
    tx.traits.take(provider_id, present - wanted)
    tx.traits.give(provider_id, wanted - present)
    return present != wanted


def clear(store: Store, uuid: str) -> None:
    """Take all traits from the provider; its generation grows if it had any.

    Raises: ProviderNotFound.
    """
    store.write(_clear, uuid)


def _clear(tx: Any, uuid: str) -> None:
    provider = locked(tx, uuid)
    if _give(tx, provider.id, set()):
        tx.publish(generation_bumped=[provider.id])
