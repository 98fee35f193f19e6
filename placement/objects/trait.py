"""Traits, and the traits of providers."""

from collections.abc import Collection, Iterable

from placement import exception
from placement.core.changes import TraitChange, TraitsChange, of_names
from placement.core.model import NameList
from placement.core.text import among
from placement.db.resources.names import StoredName, summary
from placement.db.store import Store, write_transaction
from placement.db.transaction import Transaction
from placement.objects.provider import locked


def list_all(
    store: Store,
    *,
    names: Iterable[str] | None = None,
    prefix: str | None = None,
    associated: bool | None = None,
) -> NameList:
    """Return the traits that match all filters.

    ``prefix`` is literal; ``associated`` is whether any provider has the trait.
    """
    with store.read() as tx:
        return summary(tx.traits.matching(names, prefix, associated=associated))


def show(store: Store, name: str) -> NameList:
    """Return only this trait.  Raises: TraitNotFound."""
    with store.read() as tx:
        return summary([_existing(tx.traits.find(name), name)])


def _existing(trait: StoredName | None, name: str) -> StoredName:
    if trait is None:
        raise exception.TraitNotFound(name)
    return trait


@write_transaction
def ensure(tx: Transaction, name: str) -> tuple[bool, NameList]:
    """Create the trait unless it exists; return whether it was created, and the trait."""
    present = tx.traits.find(name)
    if present is not None:
        return False, summary([present])
    tx.traits.insert(name)
    created = _existing(tx.traits.find(name), name)
    tx.publish(names=True, changes=[TraitChange(None, name)])
    return True, summary([created])


@write_transaction
def delete(tx: Transaction, name: str) -> None:
    """Delete a custom trait.  Raises: TraitNotFound, StandardTraitNotDeletable, TraitInUse."""
    removed = _existing(tx.traits.lock(name), name)
    if removed.is_standard:
        raise exception.StandardTraitNotDeletable(name)
    if user := tx.traits.user_of(removed.id):
        raise exception.TraitInUse(name, among(*user))
    tx.traits.delete(removed.id)
    tx.publish(names=True, changes=[TraitChange(name, None)])


def of_provider(store: Store, uuid: str) -> tuple[int, NameList]:
    """Return the generation of the provider, and its traits.  Raises: ProviderNotFound."""
    generation, traits = store.read_once(lambda tx: tx.providers.traits(uuid))
    return generation, summary(traits)


@write_transaction
def replace(
    tx: Transaction, uuid: str, generation: int, traits: Collection[str]
) -> tuple[int, NameList]:
    """Replace the traits of the provider; its generation increases if the set changes.

    Returns the generation, and the traits.
    Raises: ProviderNotFound, StaleGenerationPleaseUpdate, TraitsNotFound (400).
    """
    provider = locked(tx, uuid)
    if provider.generation != generation:
        raise exception.StaleGenerationPleaseUpdate(uuid, provider.generation, generation)
    requested = frozenset(traits)
    locked_traits = tx.traits.lock_shared(requested)
    missing = requested - {trait.name for trait in locked_traits}
    if missing:
        raise exception.TraitsNotFound(tuple(sorted(missing)))
    names = summary(locked_traits)
    if replaced := tx.providers.replace_traits(provider.id, [each.id for each in locked_traits]):
        changes = of_names(TraitsChange, provider, replaced.names)
        tx.publish(generation_bumped=[provider.id], changes=changes)
        generation += 1
    return generation, names


@write_transaction
def clear(tx: Transaction, uuid: str) -> None:
    """Remove all traits of the provider; its generation increases if it had any.

    Raises: ProviderNotFound.
    """
    provider = locked(tx, uuid)
    if replaced := tx.providers.replace_traits(provider.id, []):
        changes = of_names(TraitsChange, provider, replaced.names)
        tx.publish(generation_bumped=[provider.id], changes=changes)
