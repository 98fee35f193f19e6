"""The actions that no finding plans: move allocations, rename and delete a provider."""

import re

import pytest

from placement.engine.engine import Engine
from placement.objects import aggregate, allocation, provider, trait
from placement.tests.functional.db.interleavings.kinds import INCOMPLETE
from placement.tests.support.defects import Host
from placement.tests.support.factories import (
    allocations_of,
    assert_sound,
    generation,
    new_provider,
    set_inventories,
    uuid,
)
from placement.tests.support.snapshots import contents
from placement_insight.audit.repair.apply import apply_action
from placement_insight.audit.repair.consumers import MoveAllocations
from placement_insight.audit.repair.plan_file import plan_text
from placement_insight.audit.repair.providers import DeleteProvider, MakeRoot, RenameProvider
from placement_insight.tests.support.repairs import image, without_generations


@pytest.fixture
def apply_actions(store, plan, apply):
    """Return a function that applies actions; it returns how many were applied and skipped."""

    def run(*actions):
        text = plan_text(str(store.epoch()), actions, {})
        # The same actions are the same plan, in any second.
        plan.write_text(re.sub('"created_at": "[^"]+"', '"created_at": "now"', text))
        applied, already, skipped = apply(plan)
        return applied, already + skipped

    return run


def undo_path(plan):
    return plan.with_name("plan.undo")


def move(host, target, **values):
    defaults = {"generation": 1, "allocations": {host.uuid: {"VCPU": 4}}}
    return MoveAllocations(
        consumer=host.consumer, source=host.uuid, target=target, **{**defaults, **values}
    )


def without_providers(rows):
    """Return rows without those of providers, whose generations an undo leaves."""
    return without_generations({**rows, "resource_providers": []})


def test_a_provider_is_replaced_and_comes_back(store, apply, apply_actions, plan):
    """Its allocations are moved, it is deleted, and the other one gets its name."""
    old, new = Host(store), Host(store)
    trait.replace(store, old.uuid, generation(store, old.uuid), ["HW_CPU_X86_VMX"])
    aggregate.replace(store, old.uuid, [uuid()], generation(store, old.uuid))
    before, at = image(store), generation(store, new.uuid)
    actions = [
        move(old, new.uuid),
        DeleteProvider(provider=old.uuid, generation=None, name=old.name),
        RenameProvider(provider=new.uuid, generation=at + 1, name=new.name, new_name=old.name),
    ]
    assert apply_actions(*actions) == (3, 0)
    assert allocations_of(store, old.consumer) == {new.uuid: {"VCPU": 4}}
    assert provider.show(store, new.uuid).name == old.name
    assert_sound(store)
    assert apply(undo_path(plan)) == (3, 0, 0)
    assert without_providers(image(store)) == without_providers(before)
    assert provider.show(store, old.uuid).name == old.name
    assert provider.show(store, new.uuid).name == new.name
    assert_sound(store)
    assert apply(undo_path(plan)) == (0, 3, 0)


def test_a_move_is_a_claim_and_respects_capacity(store, apply_actions, plan):
    old, new = Host(store), Host(store)
    set_inventories(store, new.uuid, VCPU=7)
    assert apply_actions(move(old, new.uuid)) == (0, 1)
    assert allocations_of(store, old.consumer) == {old.uuid: {"VCPU": 4}}
    assert undo_path(plan).read_text().count("\n") == 1
    assert_sound(store)


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("values", [{"generation": 2}, {"allocations": {}}])
def test_a_move_is_skipped_if_the_consumer_has_changed(store, apply_actions, values):
    old, new = Host(store), Host(store)
    assert apply_actions(move(old, new.uuid, **values)) == (0, 1)


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_a_provider_in_use_is_not_deleted(store, apply_actions):
    host = Host(store)
    child = new_provider(store, parent=host.uuid)
    at = generation(store, host.uuid)
    delete = DeleteProvider(provider=host.uuid, generation=at, name=host.name)
    assert apply_actions(delete) == (0, 1)  # it has a child, and allocations
    provider.delete(store, child)
    assert apply_actions(delete) == (0, 1)
    allocation.delete(store, host.consumer)
    assert apply_actions(delete) == (1, 0)
    assert apply_actions(delete) == (0, 1)


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_a_provider_with_children_is_not_deleted(store):
    parent = new_provider(store, "parent")
    child = new_provider(store, "child", parent)
    for uuid_, name, reason in (
        (parent, "parent", f"The provider {parent} has children."),
        (child, "child", ""),
    ):
        at = generation(store, uuid_)
        delete = DeleteProvider(provider=uuid_, generation=at, name=name)
        assert apply_action(store, delete, INCOMPLETE, lambda _: None).reason == reason


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_a_name_that_is_taken_is_skipped(store, apply_actions):
    one, other = Host(store), Host(store)
    at = generation(store, one.uuid)
    rename = RenameProvider(provider=one.uuid, generation=at, name=one.name, new_name=other.name)
    assert apply_actions(rename) == (0, 1)
    assert provider.show(store, one.uuid).name == one.name


def test_a_running_process_sees_what_a_repair_changed(store, other_store, apply_actions):
    old, new = Host(store), Host(store)
    engine = Engine(other_store)
    engine.current()
    assert apply_actions(move(old, new.uuid)) == (1, 0)
    snapshot = engine.current()
    assert snapshot.state(old.uuid).used.get("VCPU", 0) == 0
    assert snapshot.state(new.uuid).used == {"VCPU": 8}


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_a_running_process_sees_what_is_below_a_new_root(store, apply, apply_actions, plan):
    host = Host(store)
    node = new_provider(store, parent=host.uuid, VCPU=4)
    below = new_provider(store, parent=new_provider(store, parent=node), VGPU=2)
    engine = Engine(store)
    before = contents(engine.current())
    assert apply_actions(MakeRoot(provider=node, parent=host.uuid, root=host.uuid)) == (1, 0)
    snapshot = engine.current()
    assert snapshot.state(below).provider.root_uuid == node
    assert contents(snapshot) == contents(Engine(store).current())
    assert apply(undo_path(plan)) == (1, 0, 0)
    assert contents(engine.current()) == contents(Engine(store).current())
    assert contents(engine.current())["roots"] == before["roots"]
