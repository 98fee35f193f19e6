"""The list of consumers on each database: filters, and pages that neither skip nor repeat."""

from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from placement.core.insight.consumers import ConsumerFilter
from placement.db.sqlalchemy.models import allocations, consumers
from placement.insight.consumers import page
from placement.tests.functional.db.factories import claim, new_provider, uuid

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def listed(store, **wanted):
    return page(store, ConsumerFilter(**wanted)).consumers


def uuids(store, **wanted):
    return {each.uuid for each in listed(store, **wanted)}


@pytest.fixture
def cloud(store):
    """A tree, another host, and the consumers on each, by name."""
    root = new_provider(store, VCPU=100)
    child = new_provider(store, parent=root, VCPU=100)
    other = new_provider(store, VCPU=100, DISK_GB=100)
    names = {"root": uuid(), "child": uuid(), "both": uuid(), "other": uuid()}
    claim(store, names["root"], {root: {"VCPU": 1}}, project_id="a", user_id="one")
    claim(store, names["child"], {child: {"VCPU": 2}}, project_id="a", user_id="two")
    both = {root: {"VCPU": 3}, child: {"VCPU": 4}}
    claim(store, names["both"], both, project_id="b", user_id="one", type="INSTANCE")
    rest = {other: {"VCPU": 5, "DISK_GB": 6}}
    claim(store, names["other"], rest, project_id="b", user_id="two", type="MIGRATION")
    return {**names, "on_root": root, "on_child": child, "on_other": other}


def test_consumer_is_listed_with_all_its_allocations(store, cloud):
    (found,) = listed(store, provider=cloud["on_other"])
    assert found.uuid == cloud["other"]
    assert (found.project_id, found.user_id, found.type) == ("b", "two", "MIGRATION")
    assert (found.generation, found.updated_at) == (1, None)
    assert found.created_at is not None
    assert found.allocations == {cloud["on_other"]: {"VCPU": 5, "DISK_GB": 6}}
    (both,) = listed(store, type="INSTANCE")
    assert both.allocations == {
        cloud["on_root"]: {"VCPU": 3},
        cloud["on_child"]: {"VCPU": 4},
    }


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        ({}, "root child both other"),
        ({"project_id": "a"}, "root child"),
        ({"user_id": "two"}, "child other"),
        ({"project_id": "b", "user_id": "two"}, "other"),
        ({"type": "INSTANCE"}, "both"),
        ({"type": "unknown"}, "root child"),
        ({"provider": "on_root"}, "root both"),
        ({"in_tree": "on_root"}, "root child both"),
        ({"in_tree": "on_child"}, "root child both"),
        ({"in_tree": "on_other", "project_id": "a"}, ""),
        ({"project_id": "nobody"}, ""),
        ({"user_id": "nobody"}, ""),
        ({"type": "NOTHING"}, ""),
        ({"provider": "nowhere"}, ""),
        ({"in_tree": "nowhere"}, ""),
    ],
)
def test_all_conditions_must_hold(store, cloud, wanted, names):
    known = {key: cloud.get(value, value) for key, value in wanted.items()}
    assert uuids(store, **known) == {cloud[name] for name in names.split()}


def test_consumers_are_listed_by_age(store, cloud):
    old, ancient = cloud["root"], cloud["both"]

    def age(tx):
        for consumer, at in ((old, NOW - timedelta(days=30)), (ancient, None)):
            tx.connection.execute(
                consumers.update()
                .where(consumers.c.uuid == consumer)
                .values(created_at=at and at.replace(tzinfo=None))
            )

    store.write(age)
    assert uuids(store, created_before=NOW - timedelta(days=29)) == {old, ancient}
    assert uuids(store, created_before=NOW - timedelta(days=31)) == {ancient}


def test_pages_neither_skip_nor_repeat_with_concurrent_writes(store, cloud):
    host = cloud["on_other"]
    known = set(uuids(store)) | {uuid() for _ in range(20)}
    for consumer in known - uuids(store):
        claim(store, consumer, {host: {"VCPU": 1}})
    marker, seen = None, []
    while True:
        found = page(store, ConsumerFilter(limit=5, marker=marker))
        seen += [each.uuid for each in found.consumers]
        marker = found.next_marker
        if marker is None:
            break
        assert marker == seen[-1]
        claim(store, seen[0], {})  # pages that were read may change
    assert len(seen) == len(known)
    assert set(seen) == known


def test_last_page_has_no_marker(store, cloud):
    assert page(store, ConsumerFilter(limit=4)).next_marker is None
    assert page(store, ConsumerFilter(limit=3)).next_marker is not None
    assert page(store, ConsumerFilter(marker="~")).consumers == []


def test_legacy_rows_are_listed_with_the_available_data(store, cloud):
    """Consumers without allocations, and duplicate allocations."""
    emptied = cloud["other"]

    def leave(tx):
        tx.connection.execute(allocations.delete().where(allocations.c.consumer_id == emptied))
        row = sa.select(allocations).where(allocations.c.consumer_id == cloud["root"])
        values = dict(tx.connection.execute(row).mappings().one())
        del values["id"]
        tx.connection.execute(allocations.insert().values(**{**values, "used": 7}))

    store.write(leave)
    found = {each.uuid: each.allocations for each in listed(store)}
    assert found[emptied] == {}
    assert found[cloud["root"]] == {cloud["on_root"]: {"VCPU": 8}}
