"""A simple model of Placement in memory, with which the service is compared.

It knows no transaction, no clock and no usage counters: used amounts are summed up anew each
time. Each command returns the name of the refusal, or None if it is accepted.
"""

from collections import Counter
from dataclasses import dataclass, field

from placement.core.model import Inventory

Amounts = dict[str, dict[str, int]]


@dataclass
class Host:
    """A provider."""

    parent: str | None
    generation: int = 0
    inventories: dict[str, Inventory] = field(default_factory=dict)
    traits: frozenset[str] = frozenset()
    aggregates: frozenset[str] = frozenset()


@dataclass
class Holder:
    """A consumer, which exists as long as it has allocations."""

    generation: int
    resources: Amounts


@dataclass
class Claim:
    """The new allocations of a consumer; ``generation`` is that of the request, or "any"."""

    consumer: str
    resources: Amounts
    generation: int | str | None


class Model:
    """Providers and consumers."""

    def __init__(self) -> None:
        self.hosts: dict[str, Host] = {}
        self.holders: dict[str, Holder] = {}

    # --- providers ------------------------------------------------------------------

    def create(self, uuid: str, parent: str | None) -> str | None:
        if parent is not None and parent not in self.hosts:
            return "CannotCreateProvider"
        self.hosts[uuid] = Host(parent)
        return None

    def move(self, uuid: str, parent: str | None) -> str | None:
        if uuid not in self.hosts:
            return "ProviderNotFound"
        if parent is not None and (parent not in self.hosts or uuid in self.line(parent)):
            return "CannotSaveProvider"
        self.hosts[uuid].parent = parent
        return None

    def line(self, uuid: str | None) -> list[str]:
        """Return the provider and its ancestors; the last one is its root."""
        return [] if uuid is None else [uuid, *self.line(self.hosts[uuid].parent)]

    def remove(self, uuid: str) -> str | None:
        if uuid not in self.hosts:
            return "ProviderNotFound"
        if any(host.parent == uuid for host in self.hosts.values()):
            return "ProviderHasChildren"
        if any(uuid in holder.resources for holder in self.holders.values()):
            return "ProviderInUse"
        del self.hosts[uuid]
        return None

    def set_inventories(
        self, uuid: str, generation: int, inventories: dict[str, Inventory]
    ) -> str | None:
        refusal = self._stale(uuid, generation, "StaleProviderGeneration")
        if refusal is None and self.used(uuid).keys() - inventories:
            refusal = "InventoryInUse"
        if refusal is None:
            self.hosts[uuid].inventories = dict(inventories)
            self.hosts[uuid].generation += 1
        return refusal

    def _stale(self, uuid: str, generation: int, refusal: str) -> str | None:
        if uuid not in self.hosts:
            return "ProviderNotFound"
        return None if self.hosts[uuid].generation == generation else refusal

    def delete_inventory(self, uuid: str, resource_class: str) -> str | None:
        if uuid not in self.hosts:
            return "ProviderNotFound"
        if resource_class not in self.hosts[uuid].inventories:
            return "InventoryNotFoundForDelete"
        if resource_class in self.used(uuid):
            return "SingleInventoryInUse"
        del self.hosts[uuid].inventories[resource_class]
        self.hosts[uuid].generation += 1
        return None

    def delete_inventories(self, uuid: str) -> str | None:
        if uuid not in self.hosts:
            return "ProviderNotFound"
        return self.set_inventories(uuid, self.hosts[uuid].generation, {})

    def add(self, uuid: str, resource_class: str, inventory: Inventory) -> str | None:
        if uuid not in self.hosts:
            return "ProviderNotFound"
        if resource_class in self.hosts[uuid].inventories:
            return "InventoryExists"
        self.hosts[uuid].inventories[resource_class] = inventory
        self.hosts[uuid].generation += 1
        return None

    def change(
        self, uuid: str, generation: int, resource_class: str, inventory: Inventory
    ) -> str | None:
        refusal = self._stale(uuid, generation, "StaleProviderGeneration")
        if refusal is None and resource_class not in self.hosts[uuid].inventories:
            refusal = "NoInventoryRecord"
        if refusal is None:
            self.hosts[uuid].inventories[resource_class] = inventory
            self.hosts[uuid].generation += 1
        return refusal

    def clear(self, uuid: str) -> str | None:
        if uuid not in self.hosts:
            return "ProviderNotFound"
        return self.replace_traits(uuid, self.hosts[uuid].generation, frozenset())

    def replace_traits(self, uuid: str, generation: int, traits: frozenset[str]) -> str | None:
        refusal = self._stale(uuid, generation, "StaleGenerationPleaseUpdate")
        if refusal is None and self.hosts[uuid].traits != traits:
            self.hosts[uuid].traits = traits
            self.hosts[uuid].generation += 1
        return refusal

    def associate(
        self, uuid: str, generation: int | None, aggregates: frozenset[str]
    ) -> str | None:
        named = self.hosts[uuid].generation if generation is None and uuid in self.hosts else -1
        named = named if generation is None else generation
        refusal = self._stale(uuid, named, "StaleGenerationPleaseUpdate")
        if refusal is None:
            self.hosts[uuid].aggregates = aggregates
            self.hosts[uuid].generation += generation is not None
        return refusal

    # --- consumers ------------------------------------------------------------------

    def used(self, uuid: str, without: tuple[str, ...] = ()) -> Counter[str]:
        """Return the amounts used on a provider by all consumers except some."""
        usage: Counter[str] = Counter()
        for consumer, holder in self.holders.items():
            if consumer not in without:
                usage.update(holder.resources.get(uuid, {}))
        return usage

    def claim(self, *claims: Claim) -> str | None:
        refusal = self._stale_claim(claims) or self._misfit(claims, self._inventories())
        if refusal is None:
            for uuid in self._grown(claims):
                self.hosts[uuid].generation += 1
            self._hold(claims)
        return refusal

    def _inventories(self) -> dict[str, dict[str, Inventory]]:
        return {uuid: host.inventories for uuid, host in self.hosts.items()}

    def _stale_claim(self, claims: tuple[Claim, ...]) -> str | None:
        for claim in claims:
            holder = self.holders.get(claim.consumer)
            if claim.generation not in {"any", holder and holder.generation}:
                return "StaleConsumerGeneration"
        return None

    def _misfit(
        self, claims: tuple[Claim, ...], inventories: dict[str, dict[str, Inventory]]
    ) -> str | None:
        if any(uuid not in inventories for claim in claims for uuid in claim.resources):
            return "ProviderToAllocateNotFound"
        query = {name for claim in claims for own in claim.resources.values() for name in own}
        wanted = [
            (uuid, name, amount)
            for claim in claims
            for uuid, own in claim.resources.items()
            for name, amount in own.items()
        ]
        if any(not query & inventories[uuid].keys() for uuid, _, _ in wanted):
            return "NoSuchInventory"
        needed: Counter[tuple[str, str]] = Counter()
        for uuid, name, amount in wanted:
            needed[uuid, name] += amount
            inventory = inventories[uuid].get(name)
            if inventory is None:
                return "NoSuchInventory"
            if not _is_portion(inventory, amount):
                return "InventoryConstraintsViolated"
            others = self.used(uuid, tuple(claim.consumer for claim in claims))[name]
            released = self.used(uuid)[name] - others
            room = (inventory.total - inventory.reserved) * inventory.allocation_ratio
            if others + needed[uuid, name] > room and needed[uuid, name] > released:
                return "CapacityExceeded"
        return None

    def _grown(self, claims: tuple[Claim, ...]) -> set[str]:
        """Return the named providers, and those on which consumers released all allocations."""
        nothing = Holder(0, {})
        return {
            uuid
            for claim in claims
            for uuid in claim.resources or self.holders.get(claim.consumer, nothing).resources
        }

    def _hold(self, claims: tuple[Claim, ...]) -> None:
        for claim in claims:
            before = self.holders.pop(claim.consumer, Holder(0, {}))
            if claim.resources:
                self.holders[claim.consumer] = Holder(before.generation + 1, claim.resources)

    def release(self, consumer: str) -> str | None:
        return "NoAllocations" if self.holders.pop(consumer, None) is None else None

    def reshape(self, source: str, target: str, claims: tuple[Claim, ...]) -> str | None:
        """Move all inventories of one provider to another, and write the claims."""
        moved = dict(self.hosts[source].inventories)
        united = self._inventories()
        united[target] = united[target] | moved
        refusal = self._misfit(claims, united)
        if refusal is None:
            consumers = tuple(claim.consumer for claim in claims)
            kept = self.used(target, consumers) + _claimed(claims, target)
            left = self.used(source, consumers) + _claimed(claims, source)
            refusal = "InventoryInUse" if left or kept.keys() - moved.keys() else None
        if refusal is None:
            for uuid in self._grown(claims):
                self.hosts[uuid].generation += 1
            self._hold(claims)
            self.hosts[source].inventories, self.hosts[target].inventories = {}, moved
            self.hosts[source].generation += 1
            self.hosts[target].generation += 2 if moved else 1
        return refusal


def _is_portion(inventory: Inventory, amount: int) -> bool:
    is_within = inventory.min_unit <= amount <= inventory.max_unit
    return is_within and amount % inventory.step_size == 0


def _claimed(claims: tuple[Claim, ...], uuid: str) -> Counter[str]:
    usage: Counter[str] = Counter()
    for claim in claims:
        usage.update(claim.resources.get(uuid, {}))
    return usage
