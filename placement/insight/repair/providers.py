"""Actions on providers, their trees, and the usage counters of their inventories."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import sqlalchemy as sa

from placement.db.claims.inventories import additions
from placement.db.clocks import utcnow
from placement.db.resources.providers import Node, lock_providers, provider_ids
from placement.db.tables import inventories, resource_providers
from placement.db.transaction import Transaction
from placement.db.writes import rows_of
from placement.insight.repair.action import Action, Number, ProviderName, Text
from placement.insight.repair.rows import EXCESS
from placement.insight.repair.transaction import ChangedSince, Repair, class_id_of

_inventory = inventories.c
_provider = resource_providers.c
_SELECT: sa.Select[Any] = sa.select(
    _provider.id,
    _provider.uuid,
    _provider.name,
    sa.func.coalesce(_provider.generation, 0).label("generation"),
    _provider.parent_provider_id.label("parent_id"),
    _provider.root_provider_id.label("root_id"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetTree(Action):
    """Set parent and root of a provider.

    ``parent`` and ``root`` are the UUIDs when the plan was written, None if there is no such
    provider.
    """

    kind: ClassVar = "set_tree"
    provider: Text
    parent: Text | None
    root: Text | None
    new_parent: Text | None
    new_root: Text

    def perform(self, repair: Repair) -> None:
        """Change the row of the provider."""
        tx = repair.tx
        named = (self.provider, self.new_root, self.new_parent)
        rows = _locked(tx, {uuid for uuid in named if uuid is not None})
        row, root_id = rows[self.provider], rows[self.new_root].id
        parent_id = None if self.new_parent is None else rows[self.new_parent].id
        self._check_current(tx, row)
        self._check_new(tx, row.id, parent_id, root_id)
        repair.record({"resource_providers": {"uuid": [self.provider]}})
        tx.connection.execute(
            resource_providers.update()
            .where(_provider.id == row.id)
            .values(parent_provider_id=parent_id, root_provider_id=root_id, updated_at=utcnow())
        )
        tx.publish([row.id, root_id])

    def _check_current(self, tx: Transaction, row: sa.Row[Any]) -> None:
        parent, root = _uuid(tx, row.parent_id), _uuid(tx, row.root_id)
        if (parent, root) != (self.parent, self.root):
            raise ChangedSince(
                f"The provider {self.provider} has parent {parent} and root {root}; planned were "
                f"{self.parent} and {self.root}."
            )

    def _check_new(self, tx: Transaction, id_: int, parent_id: int | None, root_id: int) -> None:
        ancestors = _with_ancestors(tx, parent_id)
        if id_ in ancestors:
            raise ChangedSince(
                f"The provider {self.provider} cannot have the parent {self.new_parent}, which is "
                "itself or below it: the parents would form a loop. Plan again, or correct "
                "new_parent."
            )
        if [id_, *ancestors][-1] != root_id:
            raise ChangedSince(
                f"The chain of parents of {self.provider} does not end at the new root."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeRoot(Action):
    """Make a provider the root of a tree of its own, with the providers below it.

    ``parent`` and ``root`` are the UUIDs when the plan was written.
    """

    kind: ClassVar = "make_root"
    provider: Text
    parent: Text
    root: Text

    def perform(self, repair: Repair) -> None:
        """Change the row of the provider, and the root of the providers below it."""
        tx = repair.tx
        nodes = tx.providers.lock_trees([self.provider])
        node, by_id = nodes.get(self.provider), {each.id: each for each in nodes.values()}
        if node is None:
            raise ChangedSince(f"The provider {self.provider} does not exist.")
        parent, root = (by_id.get(id_ or 0) for id_ in (node.parent_id, node.root_id))
        current = (parent and parent.uuid, root and root.uuid)
        if current != (self.parent, self.root):
            raise ChangedSince(
                f"The provider {self.provider} has parent {current[0]} and root {current[1]}; "
                f"planned were {self.parent} and {self.root}."
            )
        below = self._below(node, nodes.values())
        uuids = sorted(each.uuid for each in below)
        repair.record({"resource_providers": {"uuid": uuids}})
        tx.connection.execute(
            resource_providers.update()
            .where(_provider.id == node.id)
            .values(parent_provider_id=None)
        )
        tx.providers.move((each.id for each in below), node.id)
        tx.publish([*(each.id for each in below), node.root_id])

    @staticmethod
    def _below(node: Node, nodes: Collection[Node]) -> Sequence[Node]:
        """Return a provider and its descendants."""
        below, added = [node], [node]
        while added:
            ids = {each.id for each in added}
            added = [each for each in nodes if each.parent_id in ids and each not in below]
            below += added
        return below


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameProvider(Action):
    """Rename a provider."""

    kind: ClassVar = "rename_provider"
    provider: Text
    generation: Number | None
    name: Text
    new_name: ProviderName

    def perform(self, repair: Repair) -> None:
        """Change the row of the provider.  Raises: ChangedSince, DuplicateProvider."""
        row = _locked(repair.tx, {self.provider})[self.provider]
        _check(row, self.generation, self.name)
        repair.record({"resource_providers": {"uuid": [self.provider]}})
        repair.tx.providers.rename(row.id, self.new_name)
        repair.tx.publish([row.id])


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteProvider(Action):
    """Delete a provider with its inventories, traits and aggregates; it must have no allocations.

    ``generation`` is None if it is not checked: ``move_allocations`` in the same plan changes the
    generation of the provider.
    """

    kind: ClassVar = "delete_provider"
    provider: Text
    generation: Number | None
    name: Text

    def perform(self, repair: Repair) -> None:
        """Delete the row of the provider, and the rows that refer to it."""
        tx = repair.tx
        row = _locked(tx, {self.provider})[self.provider]
        _check(row, self.generation, self.name)
        if tx.providers.has_children(row.id):
            raise ChangedSince(f"The provider {self.provider} has children.")
        if tx.allocations.exist_on(row.id):
            raise ChangedSince(f"The provider {self.provider} has allocations.")
        of_provider = {"resource_provider_id": [row.id]}
        repair.record(
            {
                "resource_providers": {"uuid": [self.provider]},
                "inventories": of_provider,
                "resource_provider_traits": of_provider,
                "resource_provider_aggregates": of_provider,
            }
        )
        tx.providers.delete(row.id)
        tx.publish(removed={row.id: self.provider})


@dataclass(frozen=True, slots=True, kw_only=True)
class SetUsageCounter(Action):
    """Set the usage counter of an inventory to the sum of the allocations at that time."""

    kind: ClassVar = "set_usage_counter"
    provider: Text
    resource_class: Text
    counter: Number
    used: Number

    def perform(self, repair: Repair) -> None:
        """Subtract from the counter what it exceeds the sum by."""
        tx = repair.tx
        provider_id = _locked(tx, {self.provider})[self.provider].id
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


def _locked(tx: Transaction, uuids: Collection[str]) -> dict[str, sa.Row[Any]]:
    """Lock providers; return their rows by UUID.  Raises: ChangedSince if one does not exist."""
    ids = provider_ids(tx.connection, uuids).values()
    lock_providers(tx.connection, ids)
    rows = rows_of(tx.connection, _SELECT, _provider.id, sorted(ids))
    found = {row.uuid: row for row in rows}
    missing = sorted(set(uuids) - found.keys())
    if missing:
        raise ChangedSince(f"The provider {', '.join(missing)} does not exist.")
    return found


def _check(row: sa.Row[Any], generation: int | None, name: str) -> None:
    """Compare a provider with the plan; None is any generation.  Raises: ChangedSince."""
    if generation not in (None, row.generation):
        raise ChangedSince(
            f"The provider {row.uuid} has generation {row.generation}; it had {generation} when "
            "planned."
        )
    if row.name != name:
        raise ChangedSince(f"The provider {row.uuid} has the name {row.name}; not {name}.")


def _row(tx: Transaction, id_: int | None) -> sa.Row[Any] | None:
    return tx.connection.execute(_SELECT.where(_provider.id == id_)).one_or_none()


def _uuid(tx: Transaction, id_: int | None) -> str | None:
    row = _row(tx, id_)
    return None if row is None else row.uuid


def _with_ancestors(tx: Transaction, id_: int | None) -> list[int]:
    """Return the ids of a provider and its ancestors, the topmost last.

    Raises: ChangedSince if the parents form a loop.
    """
    chain: list[int] = []
    while (row := _row(tx, id_)) is not None:
        if row.id in chain:
            raise ChangedSince(f"The provider {row.uuid} is in a loop of parents.")
        chain.append(row.id)
        id_ = row.parent_id
    return chain
