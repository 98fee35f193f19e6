"""What the nouns look like as JSON, at each version that changed it."""

import json

import pytest

from placement.core.model import (
    AllocatedResources,
    Consumer,
    ConsumerAllocations,
    Inventory,
    NameList,
    ProviderAggregates,
    ProviderAllocations,
    ProviderInventories,
    ProviderUsages,
    TypeUsage,
)
from placement.microversion import MAX_VERSION, Version
from placement.render import allocation, names, resource_provider

A = "aaaaaaaa-1111-2222-3333-444444444444"
C = "cccccccc-1111-2222-3333-444444444444"


def shown(document):
    return json.loads(json.dumps(document))


INVENTORIES = ProviderInventories(7, {"VCPU": Inventory(4, reserved=1)}, None)
VCPU = {
    "total": 4,
    "reserved": 1,
    "min_unit": 1,
    "max_unit": 2147483647,
    "step_size": 1,
    "allocation_ratio": 1.0,
}


def test_an_inventory_has_six_fields_and_the_generation_of_its_provider():
    body = resource_provider.inventory(INVENTORIES, "VCPU")
    assert shown(body) == {**VCPU, "resource_provider_generation": 7}


def test_inventories_are_by_class():
    assert shown(resource_provider.inventories(INVENTORIES)) == {
        "inventories": {"VCPU": VCPU},
        "resource_provider_generation": 7,
    }


def test_a_class_links_to_itself_below_the_mount_point():
    href = "/placement/resource_classes/CUSTOM_A"
    expected = {"name": "CUSTOM_A", "links": [{"rel": "self", "href": href}]}
    assert shown(names.resource_class("CUSTOM_A", "/placement")) == expected
    body = names.resource_classes(["CUSTOM_A"], "/placement")
    assert shown(body) == {"resource_classes": [expected]}


def test_traits_are_a_list():
    assert shown(names.traits(("A", "B"))) == {"traits": ["A", "B"]}
    body = names.of_provider(7, NameList(("A",), None))
    assert shown(body) == {"traits": ["A"], "resource_provider_generation": 7}


def test_aggregates_come_with_a_generation_since_1_19():
    aggregates = ProviderAggregates(7, (A,))
    assert shown(resource_provider.of_provider(aggregates, Version(1, 18))) == {"aggregates": [A]}
    assert shown(resource_provider.of_provider(aggregates, Version(1, 19))) == {
        "aggregates": [A],
        "resource_provider_generation": 7,
    }


def test_usages_are_by_class():
    body = allocation.of_provider(ProviderUsages(7, {"VCPU": 0}))
    assert shown(body) == {"usages": {"VCPU": 0}, "resource_provider_generation": 7}
    assert shown(allocation.of_project({"VCPU": 1})) == {"usages": {"VCPU": 1}}


def test_the_number_of_consumers_stands_beside_the_classes():
    body = allocation.of_project_by_type({"INSTANCE": TypeUsage(2, {"VCPU": 3})})
    assert shown(body) == {"usages": {"INSTANCE": {"consumer_count": 2, "VCPU": 3}}}


HELD = {A: AllocatedResources(7, {"VCPU": 2})}
OF_CONSUMER = ConsumerAllocations(Consumer(C, "p", "u", 3, None), HELD, None)


@pytest.mark.parametrize(
    ("minor", "keys"),
    [
        (11, set()),
        (12, {"project_id", "user_id"}),
        (27, {"project_id", "user_id"}),
        (28, {"project_id", "user_id", "consumer_generation"}),
        (37, {"project_id", "user_id", "consumer_generation"}),
        (38, {"project_id", "user_id", "consumer_generation", "consumer_type"}),
    ],
)
def test_a_consumer_is_described_more_and_more(minor, keys):
    body = shown(allocation.of_consumer(OF_CONSUMER, Version(1, minor)))
    assert body.keys() == {"allocations"} | keys
    assert body["allocations"] == {A: {"generation": 7, "resources": {"VCPU": 2}}}


def test_a_consumer_without_type_is_of_type_unknown():
    assert shown(allocation.of_consumer(OF_CONSUMER, MAX_VERSION))["consumer_type"] == "unknown"


def test_missing_consumer_is_not_described():
    body = allocation.of_consumer(ConsumerAllocations(None, {}, None), MAX_VERSION)
    assert shown(body) == {"allocations": {}}


def test_allocations_on_a_provider_tell_the_consumers_generation_since_1_28():
    allocations = ProviderAllocations(7, {C: AllocatedResources(3, {"VCPU": 2})}, None)
    for minor, more in (
        (27, {}),
        (28, {"consumer_generation": 3}),
        (39, {"consumer_generation": 3}),
    ):
        assert shown(allocation.on_provider(allocations, Version(1, minor))) == {
            "allocations": {C: {"resources": {"VCPU": 2}} | more},
            "resource_provider_generation": 7,
        }
