"""Findings about inventories, their usage, and consumers."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime

from placement.core.capacity import integer_capacity, is_reserved_in_use, is_within_capacity
from placement.core.text import timestamp
from placement.insight.audit.finding import (
    CONSUMERS,
    IDENTITY,
    NOTICE,
    Amounts,
    Finding,
    OfInventory,
    OfProvider,
)
from placement.insight.audit.model import (
    AuditedInventory,
    AuditedProvider,
    AuditedState,
    UsageSum,
)

_NO_USAGE = UsageSum(0, None)


class MissingProvider(Finding, code="missing_provider"):
    """Allocations on a provider that does not exist."""

    cause: str = "the provider was removed without its allocations"
    repair: str = "delete the allocations"
    provider_id: int
    resource_class: str
    used: int


class MissingInventory(OfInventory, code="missing_inventory", command=CONSUMERS):
    """Allocations of a class without an inventory."""

    cause: str = "the inventory was removed without its allocations"
    repair: str = "add the inventory again, or move the consumers away"
    used: int


def without_provider_or_inventory(state: AuditedState) -> Iterator[Finding]:
    """Yield a finding for each sum of allocations without a provider or without an inventory."""
    present = {(inventory.provider_id, inventory.class_id) for inventory in state.inventories}
    for (provider_id, class_id), usage in sorted(state.usage.items()):
        provider, name = state.provider(provider_id), state.class_name(class_id)
        if provider is None:
            yield MissingProvider(provider_id=provider_id, resource_class=name, used=usage.amount)
        elif (provider_id, class_id) not in present:
            yield MissingInventory(provider=provider.named, resource_class=name, used=usage.amount)


class MissingConsumer(Finding, code="missing_consumer"):
    """Allocations of a consumer without a row."""

    repair: str = "create the consumer for the incomplete project and user"
    consumer: str
    allocations: Amounts


def missing_consumers(state: AuditedState) -> Iterator[MissingConsumer]:
    """Yield a finding for each consumer that has allocations and no row."""
    amounts: dict[str, dict[str, dict[str, int]]] = defaultdict(dict)
    for allocation in state.lone_allocations:
        provider = state.provider(allocation.provider_id)
        uuid = provider.uuid if provider else f"id {allocation.provider_id}"
        by_class = amounts[allocation.consumer_uuid].setdefault(uuid, {})
        by_class[state.class_name(allocation.class_id)] = allocation.amount
    for uuid, allocations in sorted(amounts.items()):
        yield MissingConsumer(consumer=uuid, allocations=allocations)


class EmptyConsumer(Finding, code="empty_consumer"):
    """A consumer without allocations."""

    cause: str = "its allocations were deleted without it"
    repair: str = "delete the consumer"
    consumer: str
    generation: int


def empty_consumers(state: AuditedState) -> Iterator[EmptyConsumer]:
    """Yield a finding for each consumer that has a row and no allocations."""
    for uuid, generation in sorted(state.empty_consumers):
        yield EmptyConsumer(consumer=uuid, generation=generation)


class UsageCounter(OfInventory, code="usage_counter"):
    """A usage counter that is not the sum of the allocations."""

    cause: str = "another program wrote to the database: openstack-placement, or SQL"
    repair: str = "set the counter to the sum"
    counter: int
    used: int


def usage_counters(state: AuditedState) -> Iterator[UsageCounter]:
    """Yield a finding for each usage counter that is not the sum of the allocations."""
    for provider, inventory, usage in _inventories(state):
        if inventory.used != usage.amount:
            yield UsageCounter(
                provider=provider.named,
                resource_class=state.class_name(inventory.class_id),
                counter=inventory.used,
                used=usage.amount,
            )


class Excess(OfInventory, command=CONSUMERS):
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

    repair: str = "none if the amount was reserved on purpose, as nova does in use"


def over_capacity(state: AuditedState) -> Iterator[Excess]:
    """Yield a finding for each inventory whose usage exceeds the capacity."""
    for provider, inventory, usage in _inventories(state):
        limits = inventory.limits
        if usage.amount and not is_within_capacity(limits, usage.amount, 0):
            is_reserved = is_reserved_in_use(limits, usage.amount)
            kind = ReservedInUse if is_reserved else OverCapacity
            reserved = "reserved: the usage is within the capacity without it"
            yield kind(
                provider=provider.named,
                resource_class=state.class_name(inventory.class_id),
                used=usage.amount,
                capacity=integer_capacity(limits),
                total=limits.total,
                reserved=limits.reserved,
                allocation_ratio=limits.allocation_ratio,
                cause=reserved if is_reserved else _cause_of_excess(inventory, usage),
            )


def _cause_of_excess(inventory: AuditedInventory, usage: UsageSum) -> str:
    """Return why the usage exceeds the capacity; empty without evidence.

    Allocations that were written before the last change of the inventory were there when it
    changed. Allocations that were written later show nothing: the write may have reduced them, or
    replaced one consumer by another.
    """
    changed_at, written_at = inventory.changed_at, usage.newest_at
    if changed_at is None or written_at is None or written_at >= changed_at:
        return ""
    return f"total or allocation_ratio: the inventory was changed at {timestamp(changed_at)}"


def _inventories(
    state: AuditedState,
) -> Iterator[tuple[AuditedProvider, AuditedInventory, UsageSum]]:
    """Yield the inventories of existing providers, with their usage."""
    for inventory in state.inventories:
        provider = state.provider(inventory.provider_id)
        if provider is not None:
            key = (inventory.provider_id, inventory.class_id)
            yield provider, inventory, state.usage.get(key, _NO_USAGE)


class ProviderWithoutInventory(
    OfProvider,
    code="provider_without_inventory",
    level=NOTICE,
    command="openstack resource provider tree --in-tree {provider.uuid}",
):
    """A provider without inventory, usage and children."""

    cause: str = "nothing has reported it, or it is left over"
    repair: str = "check that the service that created it runs; otherwise delete the provider"


def providers_without_inventory(state: AuditedState) -> Iterator[ProviderWithoutInventory]:
    """Yield a finding for each provider that has no inventory, no usage and no children."""
    used = {inventory.provider_id for inventory in state.inventories}
    used |= {provider_id for provider_id, _ in state.usage}
    used |= {provider.parent_id or 0 for provider in state.providers.values()}
    for provider in state.providers.values():
        if provider.id not in used:
            yield ProviderWithoutInventory(provider=provider.named)


class StaleProvider(OfProvider, code="stale_provider", level=NOTICE, command=IDENTITY):
    """A provider that did not change for a long time."""

    repair: str = "check that the host exists; move its consumers away if it does not"
    updated_at: str | None


def stale_providers(state: AuditedState, before: datetime) -> Iterator[StaleProvider]:
    """Yield the providers with allocations whose generation did not change since ``before``."""
    used = {provider_id for (provider_id, _), usage in state.usage.items() if usage.amount}
    for provider in state.providers.values():
        if provider.id in used and provider.updated_at and provider.updated_at < before:
            at = timestamp(provider.updated_at)
            cause = f"its generation has not changed since {at}"
            yield StaleProvider(provider=provider.named, updated_at=at, cause=cause)
