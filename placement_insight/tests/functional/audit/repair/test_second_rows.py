"""An action changes the rows that it names, not those beside them."""

import pytest

from placement.core.text import timestamp
from placement.db.tables import allocations, inventories
from placement.tests.functional.db.interleavings.kinds import INCOMPLETE
from placement.tests.support.defects import Host, missing_consumer
from placement.tests.support.factories import (
    claim,
    new_provider,
    set_inventories,
    statements,
    uuid,
)
from placement_insight.audit.model import AuditSettings
from placement_insight.audit.repair.action import Action
from placement_insight.audit.repair.apply import apply_action, undo_action
from placement_insight.audit.repair.consumers import RemoveAllocations, RemoveStrayAllocations
from placement_insight.audit.repair.providers import SetUsageCounter
from placement_insight.audit.report import audit

pytestmark = pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
MISSING = 999_999


@pytest.fixture
def host(store):
    """A host with two classes, beside another one with the same classes."""
    new_provider(store, VCPU=8, MEMORY_MB=100)
    host = Host(store)
    set_inventories(store, host.uuid, VCPU=8, MEMORY_MB=100)
    return host


@pytest.fixture
def applied(store):
    """Return a function that applies an action: its status and its entry in the undo file."""

    def apply(action: Action):
        entries = []
        outcome = apply_action(store, action, INCOMPLETE, entries.append)
        return outcome.status, entries[-1] if entries else None

    return apply


def test_a_counter_is_set_beside_another_wrong_one(host, applied):
    host.inventory(used=7)
    counter = SetUsageCounter(provider=host.uuid, resource_class="MEMORY_MB", counter=7, used=0)
    assert applied(counter)[0] == "applied"
    of_class = {name: host.values(inventories.c.used, resource_class_id=id_)[-1]
                for name, id_ in (("VCPU", 0), ("MEMORY_MB", 1))}  # fmt: skip
    assert of_class == {"VCPU": 7, "MEMORY_MB": 0}


def test_stray_allocations_of_another_class_remain(host, applied):
    for class_id in (0, 1):
        host.run(host.allocation(resource_provider_id=MISSING, resource_class_id=class_id))
    removal = RemoveStrayAllocations(provider_id=MISSING, resource_class="MEMORY_MB", used=1)
    assert applied(removal)[0] == "applied"
    assert host.values(allocations.c.resource_class_id, resource_provider_id=MISSING) == [0]
    assert host.values(allocations.c.used, resource_provider_id=host.id) == [4]


def test_an_undo_needs_the_inventory_of_each_class(store, host, applied):
    consumer, amounts = uuid(), {host.uuid: {"VCPU": 1, "MEMORY_MB": 5}}
    claim(store, consumer, amounts)
    with store.read() as tx:
        written_at = timestamp(tx.consumers.written_at(consumer))
    removal = RemoveAllocations(
        consumer=consumer, generation=1, allocations=amounts, providers=[host.uuid],
        written_at=written_at,
    )  # fmt: skip
    status, entry = applied(removal)
    assert status == "applied"
    set_inventories(store, host.uuid, VCPU=8)
    with statements(store) as executed:
        undone = undo_action(store, entry, lambda _: None)
    locked = [
        next(number for number, text in enumerate(executed) if f"FROM {table}" in text)
        for table in ("consumers", "resource_providers")
    ]
    assert locked == sorted(locked)  # like every write
    assert undone.status == "skipped"
    assert "has no inventory of MEMORY_MB" in undone.reason
    assert host.values(allocations.c.used, consumer_id=consumer) == []


def test_two_rows_of_one_class_are_added_up(host, store):
    """Another program can have written them."""
    missing_consumer(host)
    host.run(host.allocation(used=3))
    (finding,) = audit(store, AuditSettings(codes=["missing_consumer"])).findings
    assert finding.rows["allocations"] == {host.uuid: {"VCPU": 7}}
