"""Resource classes, on each database."""

import os_resource_classes
import pytest

from placement import exception
from placement.db import tables
from placement.objects import inventory, resource_class
from placement.tests.support.factories import new_provider, rows, set_inventories
from placement.tests.support.sql import execute


def ids(store) -> dict:
    return {row.name: row.id for row in rows(store, tables.resource_classes)}


def test_standard_classes_exist_in_order(store):
    assert resource_class.list_all(store).names == tuple(os_resource_classes.STANDARDS)


def test_custom_classes_get_the_next_id_from_10000(store):
    for name in ("CUSTOM_A", "CUSTOM_B"):
        resource_class.create(store, name)
    assert (ids(store)["CUSTOM_A"], ids(store)["CUSTOM_B"]) == (10000, 10001)
    assert resource_class.list_all(store).names[-2:] == ("CUSTOM_A", "CUSTOM_B")


def test_class_name_is_unique(store):
    resource_class.create(store, "CUSTOM_A")
    with pytest.raises(exception.ResourceClassExists):
        resource_class.create(store, "CUSTOM_A")
    assert not resource_class.ensure(store, "CUSTOM_A")
    assert resource_class.ensure(store, "CUSTOM_B")


def test_a_class_is_shown(store):
    resource_class.create(store, "CUSTOM_A")
    shown = resource_class.show(store, "CUSTOM_A")
    assert shown.names == ("CUSTOM_A",)
    assert shown.modified_at is not None


@pytest.mark.parametrize("name", ["CUSTOM_A", "vcpu", ""])
def test_missing_class_is_not_found(store, name):
    for attempt in (
        lambda: resource_class.show(store, name),
        lambda: resource_class.rename(store, name, "VCPU"),
        lambda: resource_class.delete(store, name),
    ):
        with pytest.raises(exception.ResourceClassNotFound):
            attempt()


def test_a_renamed_class_is_the_same_class(store):
    resource_class.create(store, "CUSTOM_A")
    provider = new_provider(store, CUSTOM_A=1)
    resource_class.rename(store, "CUSTOM_A", "CUSTOM_B")
    assert list(inventory.list_of(store, provider).inventories) == ["CUSTOM_B"]
    assert "CUSTOM_A" not in ids(store)


def test_a_standard_class_keeps_its_name_whether_or_not_the_new_one_is_taken(store):
    resource_class.create(store, "CUSTOM_A")
    for name in ("CUSTOM_A", "CUSTOM_B"):
        with pytest.raises(exception.StandardClassNotRenamable, match="VCPU"):
            resource_class.rename(store, "VCPU", name)


def test_only_custom_classes_can_be_removed(store):
    resource_class.create(store, "CUSTOM_A")
    resource_class.delete(store, "CUSTOM_A")
    assert "CUSTOM_A" not in ids(store)
    with pytest.raises(exception.StandardClassNotDeletable):
        resource_class.delete(store, "VCPU")


def test_a_class_in_use_cannot_be_removed(store):
    resource_class.create(store, "CUSTOM_A")
    provider = new_provider(store, CUSTOM_A=1)
    sentence = rf"in use in inventory: CUSTOM_A\. .* 1 in all, among them .*\({provider}\)"
    with pytest.raises(exception.ResourceClassInUse, match=sentence):
        resource_class.delete(store, "CUSTOM_A")
    set_inventories(store, provider)
    resource_class.delete(store, "CUSTOM_A")


def test_a_class_in_use_by_a_provider_that_does_not_exist_cannot_be_removed(store):
    """An older database may have such inventories: they do not refer to providers by a key."""
    resource_class.create(store, "CUSTOM_A")
    new_provider(store, CUSTOM_A=1)
    execute(store, "UPDATE inventories SET resource_provider_id = 987")
    with pytest.raises(exception.ResourceClassInUse, match=r"1 in all, among them id 987\."):
        resource_class.delete(store, "CUSTOM_A")


def test_class_cannot_be_renamed_to_an_existing_name(store):
    resource_class.create(store, "CUSTOM_A")
    resource_class.create(store, "CUSTOM_B")
    with pytest.raises(exception.ResourceClassNameTaken, match="CUSTOM_A"):
        resource_class.rename(store, "CUSTOM_B", "CUSTOM_A")
