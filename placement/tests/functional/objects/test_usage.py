"""Used amounts, on each database."""

import pytest

from placement.core.model import TypeUsage
from placement.objects import allocation, usage
from placement.tests.support.factories import claim, new_provider, uuid


@pytest.fixture
def host(store):
    host = new_provider(store, VCPU=8, DISK_GB=100)
    other = new_provider(store, VCPU=8)
    for resources, values in (
        ({host: {"VCPU": 1, "DISK_GB": 10}, other: {"VCPU": 1}}, {"type": "INSTANCE"}),
        ({host: {"VCPU": 2}}, {"type": "INSTANCE", "user_id": "u2"}),
        ({host: {"DISK_GB": 5}}, {"type": "MIGRATION"}),
        ({other: {"VCPU": 4}}, {}),
        ({host: {"VCPU": 1}}, {"project_id": "another", "type": "INSTANCE"}),
    ):
        claim(store, uuid(), resources, **values)
    return host


def test_a_provider_lists_each_class_it_has(store, host):
    assert usage.of_provider(store, host).usages == {"VCPU": 4, "DISK_GB": 15}
    assert usage.of_provider(store, new_provider(store, VCPU=1)).usages == {"VCPU": 0}
    assert usage.of_provider(store, new_provider(store)).usages == {}


def test_project_lists_its_usage(store, host):
    assert usage.of_project(store, "project", None) == {"VCPU": 8, "DISK_GB": 15}
    assert usage.of_project(store, "project", "u2") == {"VCPU": 2}
    assert usage.of_project(store, "another", None) == {"VCPU": 1}


def test_unknown_project_or_user_has_no_usage(store, host):
    for name in ("unknown", "\U0001f680"):
        for usages in (
            usage.of_project(store, name, None),
            usage.of_project(store, "project", name),
            usage.of_project_by_type(store, name, None, None),
            usage.of_project_by_type(store, name, None, "all"),
            usage.of_project_by_type(store, "project", name, "unknown"),
        ):
            assert usages == {}, ascii(name)


def test_usage_by_type_counts_each_consumer_once(store, host):
    assert usage.of_project_by_type(store, "project", None, None) == {
        "INSTANCE": TypeUsage(2, {"VCPU": 4, "DISK_GB": 10}),
        "MIGRATION": TypeUsage(1, {"DISK_GB": 5}),
        "unknown": TypeUsage(1, {"VCPU": 4}),
    }


def test_usage_of_all_types_together(store, host):
    assert usage.of_project_by_type(store, "project", None, "all") == {
        "all": TypeUsage(4, {"VCPU": 8, "DISK_GB": 15})
    }
    assert usage.of_project_by_type(store, "project", "u2", "all") == {
        "all": TypeUsage(1, {"VCPU": 2})
    }


def test_usage_of_one_type(store, host):
    for name, count in (("MIGRATION", 1), ("unknown", 1), ("INSTANCE", 2)):
        usages = usage.of_project_by_type(store, "project", None, name)
        assert [(key, value.consumer_count) for key, value in usages.items()] == [(name, count)]
    for name in ("instance", "UNKNOWN", "allfoo", "NONE"):
        assert usage.of_project_by_type(store, "project", None, name) == {}


def test_released_usage_is_not_listed(store, host):
    consumer = uuid()
    claim(store, consumer, {host: {"VCPU": 1}}, project_id="gone", type="ALL")
    assert usage.of_project_by_type(store, "gone", None, None)["ALL"].resources == {"VCPU": 1}
    allocation.delete(store, consumer)
    assert usage.of_project(store, "gone", None) == {}
    assert usage.of_project_by_type(store, "gone", None, "all") == {}
