"""Actions on providers, their trees, and the usage counters of their inventories."""

import sqlalchemy as sa

from placement.core.model import ProviderSummary
from placement.db.claims.inventories import additions
from placement.db.resources.providers import lock_providers, provider_ids, subtree
from placement.db.tables import inventories, resource_providers
from placement.db.transaction import Transaction
from placement_insight.audit.repair.action import Action, Id, Number, ProviderName, Text
from placement_insight.audit.repair.rows import EXCESS
from placement_insight.audit.repair.transaction import ChangedSince, Repair, class_id_of

_inventory = inventories.c


class SetTree(Action, kind="set_tree"):
    """Set parent and root of a provider.

    ``parent`` and ``root`` are the UUIDs when the plan was written, None if there is no such
    provider.
    """

    provider: Text
    parent: Text | None
    root: Text | None
    new_parent: Text | None
    new_root: Text

    def perform(self, repair: Repair) -> None:
        """Change the row of the provider."""
        tx = repair.tx
        parents = () if self.new_parent is None else (self.new_parent,)
        ids = _lock(tx, self.provider, self.new_root, *parents)
        id_, root_id = ids[self.provider], ids[self.new_root]
        _check_tree(tx, self)
        self._check_new(tx)
        repair.record({"resource_providers": {"uuid": [self.provider]}})
        _set_parent(tx, id_, ids[self.new_parent] if self.new_parent else None)
        tx.providers.move([id_], root_id)
        tx.publish([id_, root_id])

    def _check_new(self, tx: Transaction) -> None:
        ancestors = _with_ancestors(tx, self.new_parent)
        if self.provider in ancestors:
            raise ChangedSince(
                f"The provider {self.provider} cannot have the parent {self.new_parent}, which is "
                "itself or below it: the parents would form a loop. Plan again, or correct "
                "new_parent."
            )
        if [self.provider, *ancestors][-1] != self.new_root:
            raise ChangedSince(
                f"The chain of parents of {self.provider} does not end at the new root."
            )


class MakeRoot(Action, kind="make_root"):
    """Make a provider the root of a tree of its own, with the providers below it.

    ``parent`` and ``root`` are the UUIDs when the plan was written.
    """

    provider: Text
    parent: Text
    root: Text

    def perform(self, repair: Repair) -> None:
        """Change the row of the provider, and the root of the providers below it."""
        tx = repair.tx
        nodes = tx.providers.lock_trees([self.provider])
        _check_tree(tx, self)
        node = nodes[self.provider]
        below = subtree(nodes, node.id)
        uuids = sorted(uuid for uuid, each in nodes.items() if each.id in below)
        repair.record({"resource_providers": {"uuid": uuids}})
        _set_parent(tx, node.id, None)
        tx.providers.move(below, node.id)
        tx.publish([*below, node.root_id])


class RenameProvider(Action, kind="rename_provider"):
    """Rename a provider."""

    provider: Text
    generation: Number | None
    name: Text
    new_name: ProviderName

    def perform(self, repair: Repair) -> None:
        """Change the row of the provider.  Raises: ChangedSince, DuplicateProvider."""
        id_ = _lock(repair.tx, self.provider)[self.provider]
        _check(repair.tx, self)
        repair.record({"resource_providers": {"uuid": [self.provider]}})
        repair.tx.providers.rename(id_, self.new_name)
        repair.tx.publish([id_])


class DeleteProvider(Action, kind="delete_provider"):
    """Delete a provider with its inventories, traits and aggregates; it must have no allocations.

    ``generation`` is None if it is not checked: ``move_allocations`` in the same plan changes the
    generation of the provider.
    """

    provider: Text
    generation: Number | None
    name: Text

    def perform(self, repair: Repair) -> None:
        """Delete the row of the provider, and the rows that refer to it."""
        tx = repair.tx
        id_ = _lock(tx, self.provider)[self.provider]
        if _check(tx, self).children:
            raise ChangedSince(f"The provider {self.provider} has children.")
        if tx.allocations.holders_on(id_):
            raise ChangedSince(f"The provider {self.provider} has allocations.")
        of_provider = {"resource_provider_id": [id_]}
        repair.record(
            {
                "resource_providers": {"uuid": [self.provider]},
                "inventories": of_provider,
                "resource_provider_traits": of_provider,
                "resource_provider_aggregates": of_provider,
            }
        )
        tx.providers.delete(id_)
        tx.publish(removed={id_: self.provider})


class SetUsageCounter(Action, kind="set_usage_counter"):
    """Set the usage counter of an inventory to the sum of the allocations at that time."""

    provider: Text
    resource_class: Text | Id
    counter: Number
    used: Number

    def perform(self, repair: Repair) -> None:
        """Subtract from the counter what it exceeds the sum by."""
        tx = repair.tx
        provider_id = _lock(tx, self.provider)[self.provider]
        class_id = class_id_of(tx, self.resource_class)
        row = tx.connection.execute(
            sa.select(_inventory.id, _inventory.used, EXCESS.label("excess")).where(
                _inventory.resource_provider_id == provider_id,
                _inventory.resource_class_id == class_id,
            )
        ).one_or_none()
        if row is None:
            raise ChangedSince(f"{self.provider} has no inventory of {self.resource_class}.")
        if not row.excess:
            raise ChangedSince(f"The counter is the sum of the allocations: {row.used}.")
        repair.record({"inventories": {"id": [row.id]}})
        tx.execute_all(additions({(provider_id, class_id): -row.excess}))
        tx.publish([provider_id])


def _lock(tx: Transaction, *uuids: str) -> dict[str, int]:
    """Lock providers; return their ids by UUID.  Raises: ChangedSince if one does not exist."""
    ids = provider_ids(tx.connection, uuids).values()
    locked = {provider.uuid: provider.id for provider in lock_providers(tx.connection, ids)}
    if missing := sorted({*uuids} - locked.keys()):
        raise ChangedSince(f"The provider {', '.join(missing)} does not exist.")
    return locked


def _current(tx: Transaction, uuid: str) -> ProviderSummary:
    """Return a locked provider.  Raises: ChangedSince if it does not exist."""
    provider = tx.providers.summary_with_uuid(uuid)
    if provider is None:
        raise ChangedSince(f"The provider {uuid} does not exist.")
    return provider


def _check(tx: Transaction, planned: RenameProvider | DeleteProvider) -> ProviderSummary:
    """Return a provider as planned; None is any generation.  Raises: ChangedSince."""
    provider = _current(tx, planned.provider)
    if planned.generation not in (None, provider.generation):
        raise ChangedSince(
            f"The provider {provider.uuid} has generation {provider.generation}; it had "
            f"{planned.generation} when planned."
        )
    if provider.name != planned.name:
        raise ChangedSince(
            f"The provider {provider.uuid} has the name {provider.name}; not {planned.name}."
        )
    return provider


def _check_tree(tx: Transaction, planned: SetTree | MakeRoot) -> None:
    """Compare the parent and the root of a provider with the plan.  Raises: ChangedSince."""
    current = _current(tx, planned.provider)
    if (current.parent_uuid, current.root_uuid) != (planned.parent, planned.root):
        raise ChangedSince(
            f"The provider {planned.provider} has parent {current.parent_uuid} and root "
            f"{current.root_uuid}; planned were {planned.parent} and {planned.root}."
        )


def _set_parent(tx: Transaction, id_: int, parent_id: int | None) -> None:
    provider = resource_providers.update().where(resource_providers.c.id == id_)
    tx.connection.execute(provider.values(parent_provider_id=parent_id))


def _with_ancestors(tx: Transaction, uuid: str | None) -> list[str]:
    """Return a provider and its ancestors, the topmost last.

    Raises: ChangedSince if the parents form a loop.
    """
    chain: list[str] = []
    while uuid is not None:
        if uuid in chain:
            raise ChangedSince(f"The provider {uuid} is in a loop of parents.")
        chain.append(uuid)
        uuid = _current(tx, uuid).parent_uuid
    return chain
