"""What an audit finds in data that is wrong in one way."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from placement.insight.audit.findings import findings
from placement.insight.audit.model import (
    SEVERITIES,
    AuditedInventory,
    AuditedProvider,
    AuditedState,
    EmptyConsumer,
    LoneAllocation,
    UsageSum,
)

NOW = datetime(2026, 11, 21, 2, 14)
HOUR = timedelta(hours=1)


def provider(id_, name=None, root=None, parent=None, updated_at=NOW):
    return AuditedProvider(
        id_, f"uuid-{id_}", name or f"host{id_}", root or id_, parent, updated_at
    )


def inventory(used=4, changed_at=NOW, **values):
    values = {"total": 8, "reserved": 0, "allocation_ratio": 1.0} | values
    return AuditedInventory(1, 0, used=used, changed_at=changed_at, **values)


HEALTHY = AuditedState(
    providers=[provider(1), provider(2, root=1, parent=1), provider(3)],
    inventories=[inventory()],
    usage={(1, 0): UsageSum(4, NOW)},
    class_names={0: "VCPU", 1: "MEMORY_MB"},
    lone_allocations=[],
    empty_consumers=[],
    young={},
    unused_classes=[],
    unused_traits=[],
)


def only(**changes):
    (finding,) = findings(replace(HEALTHY, **changes))
    return finding


def codes(**changes):
    return [finding.code for finding in findings(replace(HEALTHY, **changes))]


def test_nothing_is_wrong_with_healthy_data():
    assert codes() == []


@pytest.mark.parametrize(
    ("row", "code"),
    [
        (AuditedProvider(2, "u", "n", None, None, NOW), "missing_root"),
        (AuditedProvider(2, "u", "n", 77, None, NOW), "missing_root"),
        (AuditedProvider(2, "u", "n", 1, 77, NOW), "missing_parent"),
        (AuditedProvider(2, "u", "n", 3, 1, NOW), "wrong_root"),
        (AuditedProvider(2, "u", "n", 3, None, NOW), "wrong_root"),
    ],
)
def test_trees_that_do_not_hold_together(row, code):
    finding = only(providers=[provider(1), row, provider(3)])
    assert (finding.code, finding.severity) == (code, "error")
    assert finding.rows["provider"] == {"uuid": "u", "name": "n"}
    assert finding.rows["expected_root"] == ("uuid-1" if row.parent_id == 1 else "u")
    assert finding.cause


def test_allocations_without_inventory_or_provider():
    usage = {**HEALTHY.usage, (3, 1): UsageSum(5, NOW), (77, 5): UsageSum(6, NOW)}
    missing_inventory, missing_provider = findings(replace(HEALTHY, usage=usage))
    assert missing_inventory.code == "missing_inventory"
    assert missing_inventory.rows == {
        "provider": {"uuid": "uuid-3", "name": "host3"},
        "resource_class": "MEMORY_MB",
        "used": 5,
    }
    assert missing_provider.code == "missing_provider"
    assert missing_provider.rows == {"provider_id": 77, "resource_class": "id 5", "used": 6}


@pytest.mark.parametrize("counter", [0, 3, 5])
def test_a_usage_counter_that_is_not_the_sum(counter):
    finding = only(inventories=[inventory(used=counter)])
    assert finding.code == "usage_counter"
    assert (finding.rows["counter"], finding.rows["used"]) == (counter, 4)


@pytest.mark.parametrize(
    ("values", "changed_at", "cause"),
    [
        ({"reserved": 5}, NOW - HOUR, "reserved: 5 are reserved of 8"),
        ({"total": 3}, NOW + HOUR, "total or allocation_ratio: the inventory was changed at 20"),
        ({"allocation_ratio": 0.25}, NOW + HOUR, "total or allocation_ratio"),
        ({"total": 3}, NOW - HOUR, "race: claims after"),
    ],
)
def test_over_capacity_is_found_with_its_cause(values, changed_at, cause):
    finding = only(inventories=[inventory(changed_at=changed_at, **values)])
    assert (finding.code, finding.rows["used"]) == ("over_capacity", 4)
    assert finding.cause.startswith(cause)


def test_what_fits_exactly_is_not_too_much():
    assert codes(inventories=[inventory(total=4)]) == []
    assert codes(inventories=[inventory(total=2, allocation_ratio=2.0)]) == []


def test_consumers_without_rows_and_without_allocations():
    lone = [LoneAllocation("c", 1, 0, 2), LoneAllocation("c", 1, 1, 512)]
    empty_ones = [EmptyConsumer("d", 2)]
    missing, empty = findings(replace(HEALTHY, lone_allocations=lone, empty_consumers=empty_ones))
    assert missing.rows == {
        "consumer": "c",
        "allocations": {"uuid-1": {"VCPU": 2, "MEMORY_MB": 512}},
    }
    assert (missing.code, empty.code) == ("missing_consumer", "empty_consumer")
    assert empty.rows == {"consumer": "d", "generation": 2}


@pytest.mark.parametrize(
    ("names", "similar"),
    [
        (["cn1", "CN1"], True),
        (["cn1", "cn1.example.org"], True),
        (["cn1", "CN1.example.org", "cn1.other.org"], True),
        (["cn1.example.org", "cn1.other.org"], False),
        (["cn1", "cn10"], False),
        (["cn1.example.org", "CN1.EXAMPLE.ORG"], True),
    ],
)
def test_names_that_may_be_one_host(names, similar):
    rows = [provider(number, name) for number, name in enumerate(names, start=1)]
    found_codes = codes(providers=rows)
    assert found_codes == (["similar_names"] if similar else [])
    if similar:
        assert only(providers=rows).severity == "notice"


def test_names_of_children_may_be_alike():
    rows = [provider(1, "cn1"), provider(2, "CN1.gpu", root=1, parent=1), provider(3)]
    assert codes(providers=rows) == []


def test_names_that_nobody_uses():
    reported = list(
        findings(replace(HEALTHY, unused_classes=["CUSTOM_A"], unused_traits=["CUSTOM_B"]))
    )
    assert [(each.code, each.severity) for each in reported] == [
        ("unused_class", "notice"),
        ("unused_trait", "notice"),
    ]


def test_providers_that_nothing_reports_are_found_on_demand():
    old = NOW - timedelta(days=91)
    rows = [provider(1, updated_at=old), provider(3, updated_at=old)]
    data = replace(HEALTHY, providers=rows)
    assert list(findings(data, now=NOW)) == []
    assert list(findings(data, now=NOW, stale_days=92)) == []
    (finding,) = findings(data, now=NOW, stale_days=90)
    assert (finding.code, finding.rows["provider"]["name"]) == ("stale_provider", "host1")


def test_each_code_has_a_severity():
    assert set(SEVERITIES.values()) == {"error", "notice"}
