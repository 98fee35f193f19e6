"""The actions of a repair plan.

Each action states what was seen when the plan was made (generations, amounts, names). It is
applied in one transaction, which locks the rows, and skips the action if they have changed since.
Actions are applied one by one: a later action can rely on an earlier one (``move_allocations`` for
each consumer of a provider, then ``delete_provider``).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

Amounts = Mapping[str, Mapping[str, int]]
"""Amounts by provider UUID and resource class."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One change; ``finding`` is the code of the finding that it repairs, if it is one's."""

    kind: ClassVar[str]
    finding: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveAllocations(Action):
    """Remove the allocations of a consumer on ``providers``; if none remain, the consumer too.

    ``generation`` and ``allocations`` are those of the consumer, all of them, as they were seen;
    ``written_at`` is when it was written last, as a timestamp in whole seconds.
    """

    kind: ClassVar[str] = "remove_allocations"
    consumer: str
    generation: int
    written_at: str | None
    allocations: Amounts
    providers: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveAllocations(Action):
    """Move what a consumer has on the provider ``source`` to ``target``, as a claim of it would.

    Skipped if the target has not the capacity. ``generation`` and ``allocations`` as above.
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

    These are ``[placement]incomplete_consumer_project_id`` and ``..._user_id`` of the program
    that applies the plan.
    """

    kind: ClassVar[str] = "create_consumer"
    consumer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveStrayAllocations(Action):
    """Remove the allocations of a class on a provider that does not exist, named by its id.

    Consumers without other allocations are removed too. ``used`` is the sum of the amounts.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SetTree(Action):
    """Set parent and root of a provider.

    ``parent`` and ``root`` are the UUIDs as seen, None if there is no such provider.
    """

    kind: ClassVar[str] = "set_tree"
    provider: str
    generation: int
    parent: str | None
    root: str | None
    new_parent: str | None
    new_root: str


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
    """Delete a provider with inventories, traits and aggregates; it must have no allocations.

    ``generation`` None is any: after ``move_allocations`` from it in the same plan.
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
