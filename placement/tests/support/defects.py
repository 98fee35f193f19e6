"""Defects of each kind, made by SQL as other implementations and people leave them.

A defect is a function of a healthy host; it makes one finding of its code.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from placement.db.tables import (
    allocations,
    consumer_types,
    consumers,
    inventories,
    resource_providers,
)
from placement.objects import aggregate, resource_class, trait
from placement.tests.support.factories import claim, generation, new_provider, uuid

NOW = datetime(2026, 1, 2, 3, 4, 5)
LONG_AGO = datetime(2020, 1, 1)
LATER = datetime(2026, 1, 3)
TYPE = "POD"
"""Of consumers that no list of instances has."""


class Host:
    """A host of 8 VCPU, of which a consumer has 4."""

    def __init__(self, store: Any) -> None:
        self.store = store
        self.name = f"host-{uuid()}"
        self.uuid = new_provider(store, self.name, VCPU=8)
        self.consumer = uuid()
        claim(store, self.consumer, {self.uuid: {"VCPU": 4}}, type=TYPE)
        (self.id,) = self.values(resource_providers.c.id, uuid=self.uuid)

    def values(self, column: sa.Column[Any], **where: object) -> list[Any]:
        with self.store.read() as tx:
            statement = sa.select(column)
            for name, value in where.items():
                statement = statement.where(column.table.c[name] == value)
            return list(tx.connection.execute(statement).scalars())

    def run(self, *statements: Any) -> None:
        """Execute statements in one transaction, behind the back of the service."""

        def work(tx: Any) -> None:
            for statement in statements:
                tx.connection.execute(statement)

        self.store.write(work)

    def inventory(self, **values: object) -> None:
        own = inventories.c.resource_provider_id == self.id
        self.run(inventories.update().where(own).values(values))

    def provider(self, **values: object) -> None:
        own = resource_providers.c.id == self.id
        self.run(resource_providers.update().where(own).values(values))

    def allocation(self, **values: object) -> Any:
        return allocations.insert().values(
            {"created_at": NOW, "resource_provider_id": self.id, "resource_class_id": 0,
             "consumer_id": self.consumer, "used": 1} | values
        )  # fmt: skip


def missing_root(host: Host) -> None:
    host.provider(root_provider_id=None)


def wrong_root(host: Host) -> None:
    other = Host(host.store)
    host.provider(root_provider_id=other.id)


def missing_provider(host: Host) -> None:
    host.run(host.allocation(resource_provider_id=999_999))


def missing_inventory(host: Host) -> None:
    own = inventories.c.resource_provider_id == host.id
    host.run(inventories.delete().where(own))


def missing_consumer(host: Host) -> None:
    own = allocations.c.consumer_id == host.consumer
    host.run(
        consumers.delete().where(consumers.c.uuid == host.consumer),
        allocations.update().where(own).values(created_at=NOW, updated_at=None),
    )


def empty_consumer(host: Host) -> None:
    own = consumers.c.uuid == host.consumer
    host.run(
        allocations.delete().where(allocations.c.consumer_id == host.consumer),
        consumers.update().where(own).values(created_at=NOW, updated_at=None),
    )
    host.inventory(used=0)


def usage_counter(host: Host) -> None:
    host.inventory(used=3)


def over_capacity_by_reserved(host: Host) -> None:
    host.inventory(reserved=6)


def over_capacity_by_total(host: Host) -> None:
    host.run(allocations.update().values(created_at=NOW))
    host.inventory(total=3, updated_at=LATER)


def over_capacity_without_evidence(host: Host) -> None:
    host.run(host.allocation(used=5, created_at=LATER))
    host.inventory(used=9, created_at=NOW, updated_at=NOW)


def units_not_admitted(host: Host) -> None:
    host.inventory(max_unit=3)


def lost_parent(host: Host) -> None:
    compute_node(host.store, host.uuid)
    aggregate.replace(host.store, host.uuid, [uuid()], None)
    new_provider(host.store, f"{host.name}:Open vSwitch agent", VCPU=8)


def similar_names(host: Host) -> None:
    new_provider(host.store, f"{host.name}.example.org", VCPU=8)


def compute_node(store: Any, node: str) -> str:
    trait.replace(store, node, generation(store, node), ["COMPUTE_NODE"])
    return node


def nested_compute_node(host: Host) -> None:
    compute_node(host.store, host.uuid)
    nested = compute_node(host.store, new_provider(host.store, parent=host.uuid, VCPU=8))
    new_provider(host.store, parent=new_provider(host.store, parent=nested, VCPU=1), VCPU=1)


def provider_without_inventory(host: Host) -> None:
    new_provider(host.store)


def host_without_aggregate(host: Host) -> None:
    aggregates = [uuid()]
    for number in range(4):
        node = compute_node(host.store, new_provider(host.store, VCPU=8))
        aggregate.replace(host.store, node, aggregates if number else [], None)


def unused_type(host: Host) -> None:
    host.run(consumer_types.insert().values(name="VOLUME"))


def untyped_consumers(host: Host) -> None:
    claim(host.store, uuid(), {host.uuid: {"VCPU": 1}}, type=None)


def unused_class(host: Host) -> None:
    resource_class.ensure(host.store, "CUSTOM_UNUSED")


def unused_trait(host: Host) -> None:
    trait.ensure(host.store, "CUSTOM_UNUSED")


def stale_provider(host: Host) -> None:
    host.provider(updated_at=LONG_AGO)


DEFECTS: Mapping[str, tuple[str, Callable[[Host], None]]] = {
    "missing_root": ("missing_root", missing_root),
    "wrong_root": ("wrong_root", wrong_root),
    "missing_provider": ("missing_provider", missing_provider),
    "missing_inventory": ("missing_inventory", missing_inventory),
    "missing_consumer": ("missing_consumer", missing_consumer),
    "empty_consumer": ("empty_consumer", empty_consumer),
    "usage_counter": ("usage_counter", usage_counter),
    "reserved": ("reserved_in_use", over_capacity_by_reserved),
    "total": ("over_capacity", over_capacity_by_total),
    "written later": ("over_capacity", over_capacity_without_evidence),
    "units_not_admitted": ("units_not_admitted", units_not_admitted),
    "lost_parent": ("lost_parent", lost_parent),
    "similar_names": ("similar_names", similar_names),
    "nested_compute_node": ("nested_compute_node", nested_compute_node),
    "provider_without_inventory": ("provider_without_inventory", provider_without_inventory),
    "host_without_aggregate": ("host_without_aggregate", host_without_aggregate),
    "unused_type": ("unused_type", unused_type),
    "untyped_consumers": ("untyped_consumers", untyped_consumers),
    "unused_class": ("unused_class", unused_class),
    "unused_trait": ("unused_trait", unused_trait),
    "stale_provider": ("stale_provider", stale_provider),
}
"""By the name of the defect: the code of the finding, and what makes it."""
