"""Resource providers and their trees, on each database."""

import pytest

from placement import exception
from placement.core.model import UpdateProvider
from placement.db import tables
from placement.objects import aggregate, provider, trait
from placement.tests.support.factories import (
    assert_sound,
    claim,
    generation,
    new_provider,
    rows,
    set_inventories,
    uuid,
)


def move(store, moved, parent, *, may_move=True):
    name = provider.show(store, moved).name
    return provider.update(store, UpdateProvider(moved, name, parent, may_move=may_move))


def updated_at(store, moved):
    records = rows(store, tables.resource_providers)
    return next(record.updated_at for record in records if record.uuid == moved)


def test_a_new_provider_is_its_own_root_at_generation_0(store):
    created = provider.create(store, uuid(), "cn1", None)
    assert (created.name, created.generation, created.parent_uuid) == ("cn1", 0, None)
    assert created.root_uuid == created.uuid
    assert provider.show(store, created.uuid) == created


def test_a_child_has_the_root_of_its_parent(store):
    root = new_provider(store)
    child = new_provider(store, parent=root)
    grandchild = provider.show(store, new_provider(store, parent=child))
    assert (grandchild.parent_uuid, grandchild.root_uuid) == (child, root)
    assert_sound(store)


def test_creation_sets_updated_at_of_roots_only(store):
    root = new_provider(store)
    new_provider(store, parent=root)
    first, second = rows(store, tables.resource_providers)
    assert first.updated_at is not None
    assert second.updated_at is None


@pytest.mark.parametrize("name", ["unknown", "", "\U0001f680", "A" * 300])
def test_missing_provider_is_not_found(store, name):
    with pytest.raises(exception.ProviderNotFound):
        provider.show(store, name)


def test_uuid_lookup_is_case_sensitive(store):
    host = new_provider(store)
    with pytest.raises(exception.ProviderNotFound):
        provider.show(store, host.upper())


def test_uuid_is_unique(store):
    host = new_provider(store)
    with pytest.raises(exception.DuplicateProvider, match=f"uuid: {host}"):
        provider.create(store, host, "another", None)


def test_name_is_unique(store):
    new_provider(store, "cn1")
    with pytest.raises(exception.DuplicateProvider, match="name: cn1 already exists"):
        provider.create(store, uuid(), "cn1", None)


def test_a_new_provider_needs_a_name(store):
    with pytest.raises(exception.CannotCreateProvider, match='provider "", '):
        provider.create(store, uuid(), "", None)


def test_name_with_characters_beyond_the_bmp_is_stored_or_refused(store):
    host = uuid()
    try:
        provider.create(store, host, "\U0001f680", None)
    except exception.BadRequest:
        assert store.engines().writer.dialect.name == "mysql"
    else:
        assert provider.show(store, host).name == "\U0001f680"


def test_parent_must_exist_and_differ(store):
    own = uuid()
    with pytest.raises(exception.CannotCreateProvider, match="cannot be same as UUID"):
        provider.create(store, own, "child", own)
    with pytest.raises(exception.CannotCreateProvider, match="does not exist"):
        provider.create(store, own, "child", uuid())


def test_a_rename_keeps_the_generation(store):
    host = new_provider(store, "old", VCPU=1)
    renamed = provider.update(
        store, UpdateProvider(host, "new", None, has_parent=False, may_move=False)
    )
    assert (renamed.name, renamed.generation) == ("new", 1)
    assert provider.show(store, host) == renamed


def test_a_rename_to_a_name_that_is_taken_is_refused(store):
    new_provider(store, "taken")
    host = new_provider(store)
    with pytest.raises(exception.DuplicateProvider, match="name: taken already exists"):
        provider.update(
            store, UpdateProvider(host, "taken", None, has_parent=False, may_move=True)
        )
    with pytest.raises(exception.DuplicateProvider, match="name: taken"):
        provider.update(store, UpdateProvider(host, "taken", None, may_move=True))


def test_name_of_an_existing_provider_may_be_empty(store):
    assert (
        provider.update(
            store, UpdateProvider(new_provider(store), "", None, has_parent=False, may_move=False)
        ).name
        == ""
    )


def test_update_without_changes_is_not_recorded(store):
    host = provider.show(store, new_provider(store, parent=new_provider(store)))
    before = rows(store, tables.resource_providers)
    assert (
        provider.update(
            store, UpdateProvider(host.uuid, host.name, host.parent_uuid, may_move=False)
        )
        == host
    )
    assert (
        provider.update(
            store, UpdateProvider(host.uuid, host.name, None, has_parent=False, may_move=False)
        )
        == host
    )
    assert rows(store, tables.resource_providers) == before


def test_missing_provider_cannot_be_updated(store):
    for values in ((None, False), (None, True), (new_provider(store), True)):
        parent, has_parent = values
        with pytest.raises(exception.ProviderNotFound):
            provider.update(
                store, UpdateProvider(uuid(), "name", parent, has_parent=has_parent, may_move=True)
            )


def test_root_may_move_with_its_tree(store):
    root, other = new_provider(store), new_provider(store)
    child = new_provider(store, parent=root)
    moved = move(store, root, other, may_move=False)
    assert (moved.parent_uuid, moved.root_uuid, moved.generation) == (other, other, 0)
    assert provider.show(store, child).root_uuid == other
    assert_sound(store)


def test_a_subtree_may_move_to_another_tree(store):
    root, other = new_provider(store), new_provider(store)
    child = new_provider(store, parent=root)
    grandchild = new_provider(store, parent=child)
    new_provider(store, parent=root)
    move(store, child, other)
    assert provider.show(store, grandchild).root_uuid == other
    assert_sound(store)


def test_subtree_may_become_a_root(store):
    child = new_provider(store, parent=new_provider(store))
    grandchild = new_provider(store, parent=child)
    assert move(store, child, None).root_uuid == child
    assert provider.show(store, grandchild).root_uuid == child
    assert_sound(store)


def test_a_move_to_another_tree_is_an_update_of_all_that_move(store):
    root, other = new_provider(store), new_provider(store)
    child = new_provider(store, parent=new_provider(store, parent=root))
    grandchild = new_provider(store, parent=child)
    assert updated_at(store, grandchild) is None
    move(store, child, root)
    assert updated_at(store, grandchild) is None, "its root is the same"
    move(store, child, other)
    assert updated_at(store, grandchild) is not None, "its root is another one"


def test_parent_cannot_change_before_1_37(store):
    child = new_provider(store, parent=new_provider(store))
    with pytest.raises(exception.CannotSaveProvider, match="un-parenting a provider is not"):
        move(store, child, None, may_move=False)
    with pytest.raises(exception.CannotSaveProvider, match="re-parenting a provider is not"):
        move(store, child, new_provider(store), may_move=False)


def test_new_parent_must_exist(store):
    with pytest.raises(exception.CannotSaveProvider, match="parent provider UUID does not exist"):
        move(store, new_provider(store), uuid())


def test_provider_cannot_be_its_own_descendant(store):
    root = new_provider(store)
    child = new_provider(store, parent=root)
    for below in (root, child):
        with pytest.raises(exception.CannotSaveProvider, match="creating loop in the provider"):
            move(store, root, below)


def test_removal_deletes_dependent_rows(store):
    host = new_provider(store, VCPU=1)
    trait.replace(store, host, 1, ["HW_CPU_X86_VMX"])
    aggregate.replace(store, host, [uuid()], None)
    provider.delete(store, host)
    with pytest.raises(exception.ProviderNotFound):
        provider.show(store, host)
    for table in (
        tables.inventories,
        tables.resource_provider_traits,
        tables.resource_provider_aggregates,
    ):
        assert rows(store, table) == []


def test_a_child_may_be_removed(store):
    root = new_provider(store)
    provider.delete(store, new_provider(store, parent=root))
    provider.delete(store, root)


def test_missing_provider_cannot_be_removed(store):
    with pytest.raises(exception.ProviderNotFound, match="found for delete"):
        provider.delete(store, uuid())


def test_a_parent_cannot_be_removed(store):
    root = new_provider(store)
    child = new_provider(store, parent=root)
    new_provider(store, parent=root)
    sentence = (
        rf"It has child resource providers\. Delete them first: 2 in all, among them .*{child}"
    )
    with pytest.raises(exception.ProviderHasChildren, match=sentence):
        provider.delete(store, root)


def test_a_provider_in_use_cannot_be_removed(store):
    host = new_provider(store, VCPU=2)
    consumers = sorted(uuid() for _ in range(2))
    for consumer in consumers:
        claim(store, consumer, {host: {"VCPU": 1}})
    sentence = (
        rf"Resource provider has allocations\. .* first: 2 in all, among them {consumers[0]}\."
    )
    with pytest.raises(exception.ProviderInUse, match=sentence):
        provider.delete(store, host)


def test_provider_without_root_is_not_returned(store):
    host = new_provider(store, VCPU=1)
    store.write(
        lambda tx: tx.connection.execute(
            tables.resource_providers.update().values(root_provider_id=None)
        )
    )
    with pytest.raises(exception.ProviderNotFound):
        provider.show(store, host)


def test_an_increase_of_the_generation_is_an_update(store):
    host = provider.show(store, new_provider(store, parent=new_provider(store)))
    set_inventories(store, host.uuid, VCPU=1)
    assert generation(store, host.uuid) == 1
    assert rows(store, tables.resource_providers)[1].updated_at is not None


# --- the order of errors ------------------------------------------------------------------


def raising(error):
    def parse():
        raise error

    return parse


def test_a_missing_provider_is_reported_before_an_invalid_body(store):
    with pytest.raises(exception.ProviderNotFound):
        provider.parsed(store, uuid(), raising(exception.BadRequest("invalid")))
    with pytest.raises(exception.BadRequest):
        provider.parsed(store, new_provider(store), raising(exception.BadRequest("invalid")))
