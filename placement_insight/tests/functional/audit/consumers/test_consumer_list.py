"""The list of consumers on each database: filters, and pages that neither skip nor repeat."""

from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from placement.db.tables import allocations, consumers
from placement.tests.support.factories import claim, new_provider, uuid
from placement_insight.audit.consumers.model import ConsumerFilter
from placement_insight.audit.consumers.sql import page

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def listed(store, **conditions):
    return page(store, ConsumerFilter(**conditions))[0]


def uuids(store, **conditions):
    return {each.uuid for each in listed(store, **conditions)}


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
    (consumer,) = listed(store, provider=cloud["on_other"])
    assert consumer.uuid == cloud["other"]
    assert (consumer.project_id, consumer.user_id, consumer.type) == ("b", "two", "MIGRATION")
    assert (consumer.generation, consumer.updated_at) == (1, None)
    assert consumer.created_at is not None
    assert consumer.allocations == {cloud["on_other"]: {"VCPU": 5, "DISK_GB": 6}}
    (both,) = listed(store, type="INSTANCE")
    assert both.allocations == {
        cloud["on_root"]: {"VCPU": 3},
        cloud["on_child"]: {"VCPU": 4},
    }
    assert both.providers == provider_names(store, cloud["on_root"], cloud["on_child"])


def provider_names(store, *uuids):
    with store.read() as tx:
        return {uuid: tx.providers.find(uuid).name for uuid in uuids}


CONDITIONS = [
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
    ({"resource_class": "DISK_GB"}, "other"),
    ({"resource_class": "VCPU", "in_tree": "on_root"}, "root child both"),
    ({"resource_class": "PCPU"}, ""),
    ({"resource_class": "CUSTOM_UNKNOWN"}, ""),
    ({"project_id": "nobody"}, ""),
    ({"user_id": "nobody"}, ""),
    ({"type": "NOTHING"}, ""),
    ({"provider": "nowhere"}, ""),
    ({"in_tree": "nowhere"}, ""),
]


def test_all_conditions_must_hold(store, cloud):
    for wanted, names in CONDITIONS:
        conditions_by_uuid = {key: cloud.get(value, value) for key, value in wanted.items()}
        expected = {cloud[name] for name in names.split()}
        assert uuids(store, **conditions_by_uuid) == expected, wanted


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
    expected = set(uuids(store)) | {uuid() for _ in range(20)}
    for consumer in expected - uuids(store):
        claim(store, consumer, {host: {"VCPU": 1}})
    marker, listed_uuids = None, []
    while True:
        listed, marker = page(store, ConsumerFilter(limit=5, marker=marker))
        listed_uuids += [each.uuid for each in listed]
        if marker is None:
            break
        assert marker == listed_uuids[-1]
        claim(store, listed_uuids[0], {})  # pages that were read may change
    assert len(listed_uuids) == len(expected)
    assert set(listed_uuids) == expected


def test_last_page_has_no_marker(store, cloud):
    assert page(store, ConsumerFilter(limit=4))[1] is None
    assert page(store, ConsumerFilter(limit=3))[1] is not None
    assert page(store, ConsumerFilter(marker="~")) == ([], None)


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
    allocations_by_consumer = {each.uuid: each.allocations for each in listed(store)}
    assert allocations_by_consumer[emptied] == {}
    assert allocations_by_consumer[cloud["root"]] == {cloud["on_root"]: {"VCPU": 8}}
