"""Actions that change or delete a provider."""

from placement.core.insight import repair_actions as actions
from placement.core.insight.undo import Drift, Scope
from placement.db.sqlalchemy.repairs import ProviderRow, Repairs
from placement.db.transaction import Transaction
from placement.objects.repair.change import Change, ChangedSince
from placement.objects.repair.classes_and_traits import class_id_of


def set_tree(tx: Transaction, action: actions.SetTree) -> Change:
    """Set the parent and the root of a provider.  Raises: ChangedSince."""
    repairs = Repairs(tx.connection)
    row = _locked_provider(tx, action.provider, action.new_parent, action.new_root)
    ids = repairs.provider_ids([action.provider, action.new_root, action.new_parent or ""])
    current = (_uuid(tx, row.parent_id), _uuid(tx, row.root_id))
    if current != (action.parent, action.root):
        raise ChangedSince(
            f"The provider {row.uuid} has parent {current[0]} and root {current[1]}; planned were "
            f"{action.parent} and {action.root}."
        )
    parent_id = None if action.new_parent is None else ids[action.new_parent]
    root_id = ids[action.new_root]
    ancestors = _with_ancestors(tx, parent_id)
    if row.id in ancestors:
        raise ChangedSince(
            f"The provider {row.uuid} cannot have the parent {action.new_parent}, which is itself "
            "or below it: the parents would form a loop. Plan again, or correct new_parent."
        )
    if [row.id, *ancestors][-1] != root_id:
        raise ChangedSince(f"The chain of parents of {row.uuid} does not end at the new root.")
    scope = {"resource_providers": {"uuid": [row.uuid]}}
    return Change(
        scope,
        lambda: repairs.set_tree(row.id, parent_id, root_id),
        changed=[row.id, root_id],
    )


def rename_provider(tx: Transaction, action: actions.RenameProvider) -> Change:
    """Rename a provider.  Raises: ChangedSince, DuplicateProviderName."""
    row = _locked_provider(tx, action.provider)
    _check_provider(row, action.generation, action.name)
    scope = {"resource_providers": {"uuid": [row.uuid]}}
    return Change(scope, lambda: tx.providers.rename(row.id, action.new_name), changed=[row.id])


def delete_provider(tx: Transaction, action: actions.DeleteProvider) -> Change:
    """Delete a provider without children and allocations.  Raises: ChangedSince."""
    row = _locked_provider(tx, action.provider)
    _check_provider(row, action.generation, action.name)
    if tx.providers.has_children(row.id):
        raise ChangedSince(f"The provider {row.uuid} has children.")
    if tx.allocations.exist_on(row.id):
        raise ChangedSince(f"The provider {row.uuid} has allocations.")
    own = {"resource_provider_id": [row.id]}
    scope: Scope = {
        "resource_providers": {"uuid": [row.uuid]},
        "inventories": own,
        "resource_provider_traits": own,
        "resource_provider_aggregates": own,
    }
    return Change(scope, lambda: tx.providers.delete(row.id), removed={row.id: row.uuid})


def set_usage_counter(tx: Transaction, action: actions.SetUsageCounter) -> Change:
    """Set the usage counter of an inventory to the sum of its allocations.

    Raises: ChangedSince.
    """
    provider = _locked_provider(tx, action.provider)
    class_id = class_id_of(tx, action.resource_class)
    counter = Repairs(tx.connection).counter(provider.id, class_id)
    if counter is None:
        raise ChangedSince(f"{provider.uuid} has no inventory of {action.resource_class}.")
    if counter.used == counter.allocated:
        raise ChangedSince(f"The counter is the sum of the allocations: {counter.used}.")
    drift = Drift(provider.id, class_id, counter.used - counter.allocated, 0)
    return Change(
        {},
        lambda: tx.inventories.add_used({(provider.id, class_id): -drift.before}),
        changed=[provider.id],
        drift=drift,
    )


def _locked_provider(tx: Transaction, uuid: str, *also: str | None) -> ProviderRow:
    """Lock a provider, with others, and return its row.  Raises: ChangedSince."""
    repairs = Repairs(tx.connection)
    named = {uuid, *also} - {None}
    ids = repairs.provider_ids(each for each in named if each is not None)
    missing = named - ids.keys()
    if missing:
        raise ChangedSince(f"The provider {', '.join(map(str, missing))} does not exist.")
    repairs.lock_providers(ids.values())
    row = repairs.provider(ids[uuid])
    if row is None:
        raise ChangedSince(f"The provider {uuid} does not exist.")
    return row


def _check_provider(row: ProviderRow, generation: int | None, name: str) -> None:
    if generation not in (None, row.generation):
        raise ChangedSince(
            f"The provider {row.uuid} has generation {row.generation}; it had {generation} when "
            "planned."
        )
    if row.name != name:
        raise ChangedSince(f"The provider {row.uuid} has the name {row.name}; not {name}.")


def _uuid(tx: Transaction, id_: int | None) -> str | None:
    row = None if id_ is None else Repairs(tx.connection).provider(id_)
    return None if row is None else row.uuid


def _with_ancestors(tx: Transaction, id_: int | None) -> list[int]:
    """Return the ids of a provider and its ancestors, the topmost last.

    Raises: ChangedSince if the parents form a loop.
    """
    chain: list[int] = []
    while id_ is not None and (row := Repairs(tx.connection).provider(id_)) is not None:
        if id_ in chain:
            raise ChangedSince(f"The provider {row.uuid} is in a loop of parents.")
        chain.append(id_)
        id_ = row.parent_id
    return chain
