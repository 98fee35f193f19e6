"""Which recorded change explains a state of a provider, and when none does."""

from datetime import datetime
from functools import partial

import pytest

from placement.core.changes import AllocationsChange, InventoryChange, ProviderChange
from placement.core.model import Inventory, Provider, ProviderState
from placement_insight.history.causes import cause, has_capacity, has_inventories
from placement_insight.history.model import Record

PLACE = {"name": "cn1", "parent_provider_uuid": None}
RENAMED = ProviderChange("u1", "cn1", {**PLACE, "name": "cn0"}, PLACE)


def state(used=0, **totals):
    provider = Provider(1, "u1", "cn1", 0, None, "u1")
    inventories = {name: Inventory(total=total) for name, total in totals.items()}
    return ProviderState(provider, inventories, {"VCPU": used}, frozenset(), frozenset())


def newest_cause(current, is_met, *changes):
    """Return the change that is the cause; the changes are of different requests, newest first."""
    numbers = range(len(changes), 0, -1)
    records = (
        Record(number, datetime(2026, 1, 2), f"req-{number}", None, None, None, change)
        for number, change in zip(numbers, changes, strict=True)
    )
    record = cause("u1", current, records, is_met)
    return record and record.change


def placed(before, after):
    return AllocationsChange("c", "INSTANCE", {"u1": {"VCPU": before}}, {"u1": {"VCPU": after}})


def test_the_only_inventory_was_removed():
    removed = InventoryChange("u1", "cn1", {"VCPU": {"total": 8}}, {"VCPU": None})
    assert newest_cause(state(), partial(has_inventories, ["VCPU"]), removed) is removed


@pytest.mark.parametrize(("used", "is_recorded"), [(6, True), (5, False)])
def test_usage_that_was_less_than_a_consumer_took_is_of_others(used, is_recorded):
    """Another program wrote since: what was used before is not known."""
    is_met = partial(has_capacity, "VCPU", 4)
    found = newest_cause(state(used, VCPU=8), is_met, placed(0, 6))
    assert (found is not None) is is_recorded


def test_changes_of_a_provider_that_was_created_again_are_not_recorded():
    """A deletion after which the provider exists is not the last change of its place."""
    deleted = ProviderChange("u1", "cn1", PLACE, None)
    exists = partial(has_inventories, [])
    assert newest_cause(None, exists, deleted) is deleted
    assert newest_cause(None, exists, RENAMED) is None
