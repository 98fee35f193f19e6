"""Findings about inventories, their usage, and consumers."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from functools import partial

from placement.core.capacity import integer_capacity, is_reserved_in_use
from placement.core.changes import InventoryChange
from placement.core.claims import Amounts
from placement.core.model import Provider, ProviderState
from placement.core.text import NO_NAMES, nouns, timestamp
from placement_insight.audit.finding import (
    NOTICE,
    Commands,
    Finding,
    InPlan,
    OfInventory,
    OfProvider,
)
from placement_insight.audit.model import AuditedInventory, AuditedState, ClassName
from placement_insight.history.causes import cause, has_capacity, part
from placement_insight.history.words import of_inventory


class MissingProvider(InPlan, code="missing_provider"):
    """Allocations on a provider that does not exist."""

    cause: str = "the provider was removed without its allocations"
    repair: str = "delete the allocations"
    provider_id: int
    resource_class: ClassName
    used: int


class OfConsumers(OfInventory):
    """A finding about consumers of a class."""

    def first_command(self, commands: Commands) -> str:
        """Return the command that lists its consumers."""
        return commands.consumers_of(self.provider)


class MissingInventory(OfConsumers, code="missing_inventory"):
    """Allocations of a class without an inventory."""

    cause: str = "the inventory was removed without its allocations"
    repair: str = "add the inventory again, or move the consumers away"
    used: int


def stray_usage(state: AuditedState) -> Iterator[Finding]:
    """Yield a finding for each sum of allocations without a provider or without an inventory."""
    for provider_id, provider, name, used in state.stray:
        if provider is None:
            yield MissingProvider(provider_id=provider_id, resource_class=name, used=used)
        else:
            yield MissingInventory(provider=provider.named, resource_class=name, used=used)


class MissingConsumer(InPlan, code="missing_consumer"):
    """Allocations of a consumer without a row."""

    repair: str = "create the consumer for the incomplete project and user"
    consumer: str
    allocations: Amounts


class EmptyConsumer(InPlan, code="empty_consumer"):
    """A consumer without allocations."""

    cause: str = "its allocations were deleted without it"
    repair: str = "delete the consumer"
    consumer: str
    generation: int


def incomplete_consumers(state: AuditedState) -> Iterator[Finding]:
    """Yield the consumers without a row, then those without allocations."""
    for uuid, allocations in sorted(state.lone_allocations.items()):
        yield MissingConsumer(consumer=uuid, allocations=allocations)
    for uuid, generation in sorted(state.empty_consumers):
        yield EmptyConsumer(consumer=uuid, generation=generation)


class UsageCounter(OfInventory, InPlan, code="usage_counter"):
    """A usage counter that is not the sum of the allocations."""

    cause: str = "another program wrote to the database: openstack-placement, or SQL"
    repair: str = "set the counter to the sum"
    counter: int
    used: int


def usage_counters(state: AuditedState) -> Iterator[UsageCounter]:
    """Yield a finding for each usage counter that is not the sum of the allocations."""
    for inventory in state.inventories:
        if inventory.counter != inventory.used:
            yield UsageCounter(
                provider=inventory.provider.named,
                resource_class=inventory.resource_class,
                counter=inventory.counter,
                used=inventory.used,
            )


class Excess(OfConsumers):
    """More usage than the capacity."""

    used: int
    capacity: int
    total: int
    reserved: int
    allocation_ratio: float


class OverCapacity(Excess, code="over_capacity"):
    """Usage that exceeds the capacity without the reserved amount as well."""

    repair: str = "raise the capacity, or move consumers away"


class ReservedInUse(Excess, code="reserved_in_use", level=NOTICE):
    """Usage that exceeds the capacity only through the reserved amount."""

    cause: str = "reserved: the usage is within the capacity without it"
    repair: str = "none if the amount was reserved on purpose, as nova reserves devices in use"


def over_capacity(state: AuditedState) -> Iterator[Excess]:
    """Yield a finding for each inventory whose usage exceeds the capacity."""
    for inventory in state.inventories:
        limits, used = inventory.limits, inventory.used
        if used and inventory.is_exceeded:
            kind = ReservedInUse if is_reserved_in_use(limits, used) else OverCapacity
            yield kind(
                provider=inventory.provider.named,
                resource_class=inventory.resource_class,
                used=used,
                capacity=integer_capacity(limits),
                total=limits.total,
                reserved=limits.reserved,
                allocation_ratio=limits.allocation_ratio,
                cause=kind.cause or _evidence(inventory),
            )


class UnitsNotAdmitted(OfConsumers, code="units_not_admitted", level=NOTICE):
    """Allocations that the current units of an inventory do not admit."""

    repair: str = "admit the amounts again, or resize: the server can be neither moved nor changed"
    smallest: int
    largest: int
    min_unit: int
    max_unit: int
    step_size: int


def units_not_admitted(state: AuditedState) -> Iterator[UnitsNotAdmitted]:
    """Yield a finding for each inventory with allocations that its units do not admit."""
    for inventory in state.inventories:
        if inventory.not_admitted:
            number, smallest, largest = inventory.not_admitted
            yield UnitsNotAdmitted(
                provider=inventory.provider.named,
                resource_class=inventory.resource_class,
                smallest=smallest,
                largest=largest,
                min_unit=inventory.limits.min_unit,
                max_unit=inventory.limits.max_unit,
                step_size=inventory.limits.step_size,
                cause=f"{number} {nouns(number, 'allocation')} that its units do not admit",
            )


def _evidence(inventory: AuditedInventory) -> str:
    """Return what is evident: the inventory was changed after its allocations were written.

    The change may have raised a value of an inventory whose usage exceeded the capacity before.
    Allocations that were written later show nothing: the write may have reduced them, or
    replaced one consumer by another.
    """
    changed_at, written_at = inventory.changed_at, inventory.newest_at
    if changed_at is None or written_at is None or written_at >= changed_at:
        return ""
    return _recorded_cause(inventory) or (
        f"the inventory was changed at {timestamp(changed_at)}, after its newest allocation; "
        "its values before are not recorded"
    )


def _recorded_cause(inventory: AuditedInventory) -> str:
    """Return the recorded change before which the usage was within the capacity, if there is one.

    No allocation was written since: the usage was not less at the time of the change.
    """
    name, uuid = str(inventory.resource_class), inventory.provider.uuid
    records = [
        replace(record, change=part(record.change, [name], NO_NAMES))
        for record in inventory.changes
    ]
    provider = Provider(0, uuid, uuid, 0, None, uuid)
    limits, used = {name: inventory.limits}, {name: inventory.used}
    state = ProviderState(provider, limits, used, frozenset(), frozenset())
    record = cause(uuid, state, records, partial(has_capacity, name, 0))
    is_known = record and inventory.newest_at and inventory.newest_at <= record.at
    if record is None or not is_known or not isinstance(record.change, InventoryChange):
        return ""
    before, after = record.change.before[name], record.change.after[name]
    return f"{of_inventory(name, before, after)} {record.origin}; {inventory.used} were in use"


class ProviderWithoutInventory(OfProvider, code="provider_without_inventory", level=NOTICE):
    """A provider without inventory, usage and children."""

    cause: str = "its service reports no inventory now, or it is left over"
    repair: str = "check that the service that created it runs; otherwise delete the provider"

    def first_command(self, commands: Commands) -> str:
        """Return the command that shows its tree."""
        return commands.of_openstack("resource provider tree --in-tree", self.provider.uuid)


def providers_without_inventory(state: AuditedState) -> Iterator[ProviderWithoutInventory]:
    """Yield a finding for each provider that has no inventory, no usage and no children."""
    used = {inventory.provider.id for inventory in state.inventories}
    used |= {usage.provider_id for usage in state.stray}
    used |= {provider.parent_id or 0 for provider in state.providers.values()}
    for provider in state.providers.values():
        if provider.id not in used:
            yield ProviderWithoutInventory(provider=provider.named)


class StaleProvider(OfProvider, code="stale_provider", level=NOTICE):
    """A provider that did not change for a long time."""

    repair: str = "check that the host exists; move its consumers away if it does not"
    updated_at: str | None

    def first_command(self, commands: Commands) -> str:
        """Return the command that lists the providers that its name could mean."""
        return commands.identity_of(self.provider)


def stale_providers(state: AuditedState, before: datetime) -> Iterator[StaleProvider]:
    """Yield the providers with allocations whose generation did not change since ``before``."""
    used = {inventory.provider.id for inventory in state.inventories if inventory.used}
    used |= {usage.provider_id for usage in state.stray if usage.used}
    for provider in state.providers.values():
        if provider.id in used and provider.updated_at and provider.updated_at < before:
            at = timestamp(provider.updated_at)
            cause = f"its generation has not changed since {at}"
            yield StaleProvider(provider=provider.named, updated_at=at, cause=cause)
