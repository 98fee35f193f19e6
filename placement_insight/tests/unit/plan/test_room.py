"""Room on a shared storage, and on one root."""

import time
from dataclasses import replace

from placement.core.search.deadline import Deadline
from placement.tests.support.queries import request_of, snapshot_of
from placement.tests.support.worlds import provider_uuid
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
