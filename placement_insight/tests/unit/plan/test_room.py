"""Room on a shared storage, and on one root."""

import time
from dataclasses import replace

import pytest

from placement.core.search.deadline import Deadline
from placement.tests.support.queries import request_of, snapshot_of
from placement.tests.support.worlds import provider_uuid
from placement_insight.plan import hypothetical, room
from placement_insight.plan.model import Holder, Keep
from placement_insight.plan.room import Task, rooms


def test_moves_that_take_the_freed_amounts_again_make_no_room():
    """The consumer can move to the other host, but its disk stays on the shared storage."""
    snapshot = snapshot_of("""
        full   VCPU=1(used=1)      @rack
        other  VCPU=1              @rack
        disks  DISK_GB=10(used=6)  @rack  +MISC_SHARES_VIA_AGGREGATE
    """)
    full, disks = (snapshot.forest.row_of[provider_uuid(name)] for name in ("full", "disks"))
    consumer = Holder("c", "INSTANCE", "p", {("VCPU", full): 1, ("DISK_GB", disks): 6})
    moving = Task(
        request_of("resources=VCPU:1,DISK_GB:8"),
        Keep(),
        lambda rows: [consumer] if rows[full] else [],
        limit=10,
    )
    evicting = replace(moving, evictable=lambda _: True)
    found = [rooms(snapshot, task, Deadline(20, time.monotonic)) for task in (moving, evicting)]
    assert [[room.root for room in each.rooms] for each in found] == [[], [full]]


def test_only_the_named_root_is_considered():
    snapshot = snapshot_of("a VCPU=1(used=1)\nb VCPU=1(used=1)\nfree VCPU=1")
    b = snapshot.forest.row_of[provider_uuid("b")]
    consumer = Holder("c", "INSTANCE", "p", {("VCPU", b): 1})
    task = Task(request_of("resources=VCPU:1"), Keep(), lambda _: [consumer], 10, lambda _: True)
    anywhere, there = (
        rooms(snapshot, each, Deadline(20, time.monotonic))
        for each in (task, replace(task, root=b))
    )
    assert (anywhere.fits_now, there.fits_now) == (1, 0)
    assert [room.root for room in there.rooms] == [b]


def test_blocks_of_roots_are_tried_until_as_many_as_the_limit_have_room():
    """A block has 16 roots: the consumers of the 17th are read only if they are needed."""
    snapshot = snapshot_of("\n".join(f"h{number:02} VCPU=1(used=1)" for number in range(17)))
    first, *_, last = range(17)
    consumers = {row: Holder(f"c{row}", "INSTANCE", "p", {("VCPU", row): 1}) for row in (0, 16)}

    def found(*rows, limit=1):
        read = lambda mask: [consumers[row] for row in rows if mask[row]]  # noqa: E731
        task = Task(request_of("resources=VCPU:1"), Keep(), read, limit, lambda _: True)
        result = rooms(snapshot, task, Deadline(20, time.monotonic))
        return [room.root for room in result.rooms], result.undetermined

    assert found(last) == ([last], 0)
    assert found(first, last) == ([first], 1)
    assert found(first, last, limit=2) == ([first, last], 0)


@pytest.mark.parametrize(
    ("first", "others"),
    [
        ("VCPU=2(used=1)  MEMORY_MB=1000", "VCPU=2  MEMORY_MB=1000(used=100)"),
        ("VCPU=10  MEMORY_MB=1000(used=500)", "VCPU=10(used=1)  MEMORY_MB=1000"),
    ],
)
def test_the_roots_that_lack_the_smallest_shares_of_the_amounts_are_tried_first(first, others):
    """Half of a class is more than a tenth of another one, whatever their units are."""
    hosts = [first, *[others] * 16]
    snapshot = snapshot_of("\n".join(f"h{row:02} {host}" for row, host in enumerate(hosts)))
    amounts = snapshot.entries.state(0).inventories
    name, used = next(iter(snapshot.entries.state(0).used.items()))
    consumer = Holder("c", "INSTANCE", "p", {(name, 0): used})
    query = ",".join(f"{each}:{limits.total}" for each, limits in amounts.items())
    task = Task(
        *(request_of(f"resources={query}"), Keep(), lambda mask: [consumer] if mask[0] else []),
        *(1, lambda _: True),
    )
    result = rooms(snapshot, task, Deadline(20, time.monotonic))
    assert ([room.root for room in result.rooms], result.undetermined) == ([0], 0)


def test_the_usage_beyond_the_capacity_must_be_released_as_well():
    """Three large consumers must leave: the sets of three of the small ones are not searched."""
    amounts = [*[100] * 3, *range(1, 21)]
    snapshot = snapshot_of(f"full VCPU=220(used={sum(amounts)})")
    consumers = [
        Holder(f"c{number}", "INSTANCE", "p", {("VCPU", 0): amount})
        for number, amount in enumerate(amounts)
    ]
    task = Task(
        request_of("resources=VCPU:10"), Keep(), lambda _: consumers, 1, evictable=lambda _: True
    )
    (found,) = rooms(snapshot, task, Deadline(20, time.monotonic)).rooms
    assert {each.holder.uuid for each in found.leaving} == {"c0", "c1", "c2"}
    assert found.is_minimal


def test_each_set_of_consumers_with_the_missing_amounts_is_tried_once(monkeypatch):
    """The other host has the capacity for one of "a" and "b", and both must leave."""
    snapshot = snapshot_of("""
        full   VCPU=2(used=2)  MEMORY_MB=9(used=1)
        other  VCPU=1          MEMORY_MB=1
    """)
    full = snapshot.forest.row_of[provider_uuid("full")]
    held = {"a": "VCPU", "b": "VCPU", "c": "MEMORY_MB"}
    consumers = [Holder(uuid, "INSTANCE", "p", {(name, full): 1}) for uuid, name in held.items()]
    tried = []

    def allocated(snapshot, taken):
        tried.append({name: -amount for (name, _), amount in taken.items()})
        return hypothetical.allocated(snapshot, taken)

    monkeypatch.setattr(room, "allocated", allocated)
    task = Task(
        request_of("resources=VCPU:2,MEMORY_MB:1"),
        Keep(),
        lambda rows: consumers if rows[full] else [],
        limit=1,
    )
    assert rooms(snapshot, task, Deadline(20, time.monotonic)).reason == "nowhere_to_move"
    all_, *sets = tried
    assert all_ == {"VCPU": 2, "MEMORY_MB": 1}
    assert sets == [{"VCPU": 2}, {"VCPU": 2, "MEMORY_MB": 1}]
