"""The actions of a repair plan.

An action contains the state of its rows when the plan was written (generations, amounts, names).
It is applied in one transaction, which locks the rows. If the rows have changed since, the action
is skipped.
Actions are applied one by one: a later action can rely on an earlier one (``move_allocations`` for
each consumer of a provider, then ``delete_provider``).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Final, Self

Amounts = Mapping[str, Mapping[str, int]]
"""Amounts by provider UUID and resource class."""

Rows = Mapping[str, Any]
"""The values of a finding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One change; ``finding`` is the code of the finding that it repairs, or empty."""

    kind: ClassVar[str]
    finding: str = ""

    @classmethod
    def for_finding(cls, code: str, rows: Rows) -> Self | None:
        """Return the action that repairs a finding, None if the repair needs a decision."""
        values = cls._values(rows)
        if values is None:
            return None
        names = [attribute.name for attribute in fields(cls) if attribute.name != "finding"]
        return cls(finding=code, **{name: values[name] for name in names})

    @staticmethod
    def _values(rows: Rows) -> Rows | None:
        """Return a mapping with the fields; None if the repair needs a decision."""
        return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveAllocations(Action):
    """Remove the allocations of a consumer on ``providers``.

    If no allocations remain, the consumer is removed. ``generation`` and ``allocations`` are the
    generation and all allocations of the consumer when the plan was written. ``written_at`` is
    when the consumer was written last, as a timestamp in whole seconds.
    """

    kind: ClassVar[str] = "remove_allocations"
    consumer: str
    generation: int
    written_at: str | None
    allocations: Amounts
    providers: Sequence[str]

    @staticmethod
    def _values(rows: Rows) -> Rows:
        return {"providers": sorted(rows["allocations"]), **rows}


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveAllocations(Action):
    """Move the allocations of a consumer from the provider ``source`` to ``target``.

    The target is checked as for a claim; without capacity the action is skipped. ``generation``
    and ``allocations`` are the same as in ``RemoveAllocations``.
    """

    kind: ClassVar[str] = "move_allocations"
    consumer: str
    generation: int
    allocations: Amounts
    source: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveConsumer(Action):
    """Remove a consumer that has no allocations."""

    kind: ClassVar[str] = "remove_consumer"
    consumer: str
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateConsumer(Action):
    """Create the row of a consumer that has allocations, for the incomplete project and user.

    The project and the user are ``[placement]incomplete_consumer_project_id`` and
    ``..._user_id`` in the configuration of the program that applies the plan.
    """

    kind: ClassVar[str] = "create_consumer"
    consumer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveStrayAllocations(Action):
    """Remove the allocations of a class on a provider that does not exist, named by its id.

    Consumers without other allocations are removed. ``used`` is the sum of the amounts.
    """

    kind: ClassVar[str] = "remove_stray_allocations"
    provider_id: int
    resource_class: str
    used: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SetUsageCounter(Action):
    """Set the usage counter of an inventory to the sum of the allocations at that time."""

    kind: ClassVar[str] = "set_usage_counter"
    provider: str
    resource_class: str
    counter: int
    used: int

    @staticmethod
    def _values(rows: Rows) -> Rows:
        return {**rows, "provider": rows["provider"]["uuid"]}


@dataclass(frozen=True, slots=True, kw_only=True)
class SetTree(Action):
    """Set parent and root of a provider.

    ``parent`` and ``root`` are the UUIDs when the plan was written, None if there is no such
    provider.
    """

    kind: ClassVar[str] = "set_tree"
    provider: str
    generation: int
    parent: str | None
    root: str | None
    new_parent: str | None
    new_root: str

    @staticmethod
    def _values(rows: Rows) -> Rows | None:
        if rows["expected_root"] is None:
            return None
        new = {"new_parent": rows["parent"], "new_root": rows["expected_root"]}
        return {**rows, **new, "provider": rows["provider"]["uuid"]}


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameProvider(Action):
    """Rename a provider."""

    kind: ClassVar[str] = "rename_provider"
    provider: str
    generation: int
    name: str
    new_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteProvider(Action):
    """Delete a provider with its inventories, traits and aggregates; it must have no allocations.

    ``generation`` is None if it is not checked: ``move_allocations`` in the same plan changes the
    generation of the provider.
    """

    kind: ClassVar[str] = "delete_provider"
    provider: str
    generation: int | None
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteResourceClass(Action):
    """Delete a custom resource class that no inventory has."""

    kind: ClassVar[str] = "delete_resource_class"
    resource_class: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTrait(Action):
    """Delete a custom trait that no provider has."""

    kind: ClassVar[str] = "delete_trait"
    trait: str


ACTIONS: Final[Mapping[str, type[Action]]] = {
    action.kind: action
    for action in (
        *(RemoveAllocations, MoveAllocations, RemoveConsumer, CreateConsumer),
        *(RemoveStrayAllocations, SetUsageCounter, SetTree, RenameProvider, DeleteProvider),
        *(DeleteResourceClass, DeleteTrait),
    )
}
"""The actions by their names in a file."""
