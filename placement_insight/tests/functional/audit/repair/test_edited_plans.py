"""Plans and undo files of repairs that were edited by hand."""

import json

import pytest

from placement.objects import provider
from placement.tests.support.defects import Host
from placement.tests.support.factories import assert_sound, new_provider
from placement_insight.audit.repair.consumers import RemoveStrayAllocations
from placement_insight.audit.repair.plan_file import plan_text
from placement_insight.audit.repair.providers import RenameProvider, SetTree


@pytest.fixture
def apply_actions(store, run_audit, plan):
    """Return a function that applies actions: the exit status, and the reasons of the skipped."""

    def applied(*actions):
        plan.write_text(plan_text(str(store.epoch()), actions, {}))
        status, printed, errors = run_audit("--apply", plan, "--json")
        assert errors == ""
        skipped = [each["reason"] for each in json.loads(printed)["actions"]]
        return status, [reason for reason in skipped if reason]

    return applied


def set_tree(moved, parent, new_parent, root):
    return SetTree(
        finding="wrong_root",
        provider=moved,
        parent=parent,
        root=root,
        new_parent=new_parent,
        new_root=root,
    )


def test_parents_cannot_form_a_loop(store, apply_actions):
    root = new_provider(store)
    child = new_provider(store, parent=root)
    grandchild = new_provider(store, parent=child)
    loops = [(root, None, root), (root, None, child), (child, root, grandchild)]
    status, reasons = apply_actions(*(set_tree(*loop, root) for loop in loops))
    assert status == 4
    assert [reason.partition(",")[0] for reason in reasons] == [
        f"The provider {moved} cannot have the parent {new}" for moved, _, new in loops
    ]
    assert provider.show(store, child).parent_uuid == root
    assert_sound(store)


def test_a_move_within_the_tree_is_applied(store, apply_actions):
    root = new_provider(store)
    child, other = new_provider(store, parent=root), new_provider(store, parent=root)
    assert apply_actions(set_tree(child, root, other, root)) == (0, [])
    assert provider.show(store, child).parent_uuid == other
    assert_sound(store)


def test_an_empty_parent_is_no_provider(store, apply_actions):
    root = new_provider(store)
    moved = set_tree(new_provider(store, parent=root), root, "", root)
    assert apply_actions(moved) == (4, ["The provider  does not exist."])


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize("name", ["", "x" * 201, "nul\0"])
def test_a_name_that_no_provider_can_have_is_refused(store, run_audit, plan, name):
    renamed = RenameProvider(
        finding="similar_names",
        provider=new_provider(store, "cn1"),
        generation=0,
        name="cn1",
        new_name=name,
    )
    plan.write_text(plan_text(str(store.epoch()), [renamed], {}))
    status, _, errors = run_audit("--apply", plan)
    assert status == 1
    assert "is not a value of rename_provider.new_name" in errors


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_deeply_nested_lines_are_refused(store, run_audit, plan):
    plan.write_text("[" * 100_000 + "\n")
    status, _, errors = run_audit("--apply", plan)
    assert status == 1
    assert "Line 1 of the file is not JSON" in errors


@pytest.mark.parametrize("id_", ["4294967296", "9" * 5000])
def test_the_id_of_a_class_that_no_table_can_have_is_no_class(apply_actions, id_):
    removal = RemoveStrayAllocations(provider_id=7, resource_class=f"id {id_}", used=4)
    assert apply_actions(removal) == (4, [f"The resource class id {id_} does not exist."])


def test_a_provider_without_a_name_is_reported_by_its_uuid(store, run_audit, plan):
    """Old databases have such providers."""
    host = Host(store)
    moved = set_tree(host.uuid, new_provider(store), None, host.uuid)
    plan.write_text(plan_text(str(store.epoch()), [moved], {}))
    host.provider(name=None)
    status, printed, _ = run_audit("--apply", plan)
    assert status == 4
    assert f"The provider {host.uuid} has parent None" in printed
