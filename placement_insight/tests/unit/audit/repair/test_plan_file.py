"""Files of repairs are read, and written again, byte for byte."""

import json

import pytest

from placement_insight.audit.finding import Commands
from placement_insight.audit.kinds import Audit
from placement_insight.audit.repair import actions
from placement_insight.audit.repair.action import InvalidRepairFile
from placement_insight.audit.repair.plan_file import (
    latest_entries,
    line,
    planned_actions,
    read_file,
)

HEADER = (
    '{"format": "placement-repair", "version": 1, "kind": "%s", "database": "36283883716609", '
    '"created_at": "2026-11-22T02:03:04Z"%s}\n'
)
END = '{"end": true}\n'
HOST = "a7c1f9e2-5b34-4c68-9d0e-2f4b6a8c0d10"
OTHER = "a7c1f9e2-5b34-4c68-9d0e-2f4b6a8c0d11"
CONSUMER = "5e08ea53-c4c6-448e-9334-ac4953de3cf1"
AMOUNTS = f'{{"{HOST}": {{"VCPU": 4}}}}'
ACTIONS = [
    f'{{"action": "create_consumer", "finding": "missing_consumer", "consumer": "{CONSUMER}"}}',
    f'{{"action": "remove_consumer", "finding": "empty_consumer", "consumer": "{CONSUMER}", '
    '"generation": 1}',
    f'{{"action": "remove_allocations", "finding": "orphaned_consumer", "consumer": "{CONSUMER}", '
    f'"generation": 3, "written_at": "2026-11-20T17:00:09Z", "allocations": {AMOUNTS}, '
    f'"providers": ["{HOST}"]}}',
    f'{{"action": "remove_allocations", "finding": "doubled_consumer", "consumer": "{CONSUMER}", '
    f'"generation": 3, "written_at": null, "allocations": {AMOUNTS}, "providers": ["{HOST}"]}}',
    f'{{"action": "take_over_allocations", "finding": "allocations_on_other_host", '
    f'"consumer": "{CONSUMER}", "generation": null, "written_at": null, "allocations": {{}}, '
    f'"migration": "{OTHER}", "migration_generation": 2, "migration_allocations": {AMOUNTS}}}',
    '{"action": "remove_stray_allocations", "finding": "missing_provider", "provider_id": 7, '
    '"resource_class": 10004, "used": 4}',
    f'{{"action": "set_tree", "finding": "missing_root", "provider": "{HOST}", '
    f'"parent": null, "root": null, "new_parent": null, "new_root": "{HOST}"}}',
    f'{{"action": "set_tree", "finding": "wrong_root", "provider": "{HOST}", '
    f'"parent": "{OTHER}", "root": "{HOST}", "new_parent": "{OTHER}", "new_root": "{OTHER}"}}',
    f'{{"action": "make_root", "finding": "nested_compute_node", "provider": "{HOST}", '
    f'"parent": "{OTHER}", "root": "{OTHER}"}}',
    f'{{"action": "set_usage_counter", "finding": "usage_counter", "provider": "{HOST}", '
    '"resource_class": "VCPU", "counter": 7, "used": 4}',
    '{"action": "delete_resource_class", "finding": "unused_class", "resource_class": "CUSTOM_A"}',
    '{"action": "delete_trait", "finding": "unused_trait", "trait": "CUSTOM_A"}',
    '{"action": "delete_consumer_type", "finding": "unused_type", "type": "POD"}',
    f'{{"action": "move_allocations", "finding": "similar_names", "consumer": "{CONSUMER}", '
    f'"generation": 3, "allocations": {AMOUNTS}, "source": "{HOST}", "target": "{OTHER}"}}',
    f'{{"action": "rename_provider", "finding": "similar_names", "provider": "{HOST}", '
    '"generation": 7, "name": "cn1", "new_name": "ship\\u00e9"}',
    f'{{"action": "delete_provider", "finding": "similar_names", "provider": "{HOST}", '
    '"generation": null, "name": "cn1"}',
]
RECORDED = (
    f'"scope": {{"consumers": {{"uuid": ["{CONSUMER}"]}}}}, '
    '"before": {"consumers": [{"created_at": "2026-11-20T17:00:09", "updated_at": null, "id": 7, '
    f'"uuid": "{CONSUMER}", "project_id": 1, "user_id": 1, "generation": 3, '
    '"consumer_type_id": null}]}, "after": {"consumers": []}, '
    f'"providers": {{"12": "{HOST}"}}, "classes": {{"0": "VCPU"}}'
)


def test_there_is_a_line_of_each_action():
    assert {json.loads(text)["action"] for text in ACTIONS} == actions._BY_KIND.keys()


def test_plans():
    text = "".join((HEADER % ("plan", ""), *(f"{action}\n" for action in ACTIONS), END))
    document = read_file(text)
    written = [line(action.as_json()) for action in planned_actions(document)]
    assert "".join((document.header.line(), *written, END)) == text


def test_undo_files():
    """The last run may have been killed before the end of the file."""
    lines = [f'{{"action": {action}, {RECORDED}}}\n' for action in ACTIONS]
    text = HEADER % ("undo", ', "plan": "3a7bd3e2360a3d"') + "".join(lines)
    document = read_file(f'{text}{{"action": {{"act')
    entries = latest_entries(document)
    assert "".join((document.header.line(), *(e.line() for e in entries.values()))) == text
    assert list(entries) == [f"{action}\n" for action in ACTIONS]
    assert not document.has_end


@pytest.mark.parametrize(
    ("lines", "in_effect"),
    [((), None), ((True,), True), ((True, False), False), ((True, None), None)],
)
def test_the_last_line_of_an_action_says_whether_it_is_in_effect(lines, in_effect):
    """An operator can delete the entry of an action and leave its other lines."""
    other = f'{{"action": {ACTIONS[1]}, "in_effect": true}}\n'
    entry = f'{{"action": {ACTIONS[0]}, {RECORDED}}}\n'
    later = f'{{"action": {ACTIONS[0]}, "in_effect": %s}}\n'
    text = HEADER % ("undo", "") + entry + other
    text += "".join(entry if each is None else later % json.dumps(each) for each in lines)
    (found,) = latest_entries(read_file(text)).values()
    assert (found.in_effect, found.line() == entry) == (in_effect, in_effect is None)


@pytest.mark.parametrize(
    ("action", "name", "value"),
    [
        (2, "consumer", None),
        (2, "generation", True),
        (2, "allocations", {"a": {"VCPU": "4"}}),
        (2, "providers", "a"),
        (2, "written_at", 0),
        (4, "migration", None),
        (4, "migration_allocations", None),
        (5, "provider_id", "7"),
        (5, "resource_class", 2**31),
        (5, "resource_class", None),
        (5, "provider_id", 2**31),
        (5, "used", 2**63),
        (6, "new_root", None),
        (11, "trait", 7),
        (12, "type", None),
        (14, "new_name", "x" * 201),
    ],
)
def test_values_that_a_field_does_not_accept(action, name, value):
    values = {**json.loads(ACTIONS[action]), name: value}
    with pytest.raises(InvalidRepairFile, match=rf"is not a value of {values['action']}\.{name}"):
        actions.from_json(values)


@pytest.mark.parametrize("action", [None, 7, "set_tree", [7], ["set_tree"]])
def test_an_entry_whose_action_is_no_object_is_refused(action):
    entry = json.loads(f'{{"action": null, {RECORDED}}}') | {"action": action}
    document = read_file(HEADER % ("undo", "") + line(entry))
    with pytest.raises(InvalidRepairFile, match="An entry of the undo file cannot be read"):
        latest_entries(document)


def test_an_entry_that_lacks_a_name_is_refused():
    entry = json.loads(f'{{"action": {ACTIONS[0]}, {RECORDED}}}')
    del entry["scope"]
    document = read_file(HEADER % ("undo", "") + line(entry))
    with pytest.raises(InvalidRepairFile, match=r"cannot be read: .* argument: 'scope'"):
        latest_entries(document)


def test_findings_of_a_later_release_are_not_planned():
    finding = {"code": "new_code", "rows": {"host": {"uuid": "u", "name": "cn1"}}, "cause": ""}
    finding["repair_command"] = "openstack new command"
    document = {"at": "2026-11-22T02:03:04Z", "truncated": [], "skipped": [], "more": 1}
    audit = Audit.from_json({**document, "findings": [{**finding, "repair": "", "new": []}]})
    assert actions.plan(audit.findings).actions == []
    (read,) = audit.findings
    assert read.as_json()["rows"] == finding["rows"]
    listed = read.listed(read.names, Commands(openstack="openstack --os-cloud east"))
    assert listed.repair_command == finding["repair_command"]


@pytest.mark.parametrize("amounts", [{"a\0": {"VCPU": 1}}, {HOST: {"V\0": 1}}, {HOST: {"": "1"}}])
def test_amounts_that_cannot_be_stored_are_refused(amounts):
    removal = json.loads(ACTIONS[2]) | {"allocations": amounts}
    text = r"\} is not a value of remove_allocations\.allocations\."
    with pytest.raises(InvalidRepairFile, match=text):
        actions.from_json(removal)


def test_the_fields_of_an_action_are_named():
    text = r"create_consumer has the fields consumer, finding; the file has consumer, finding, x\."
    with pytest.raises(InvalidRepairFile, match=text):
        actions.from_json(json.loads(ACTIONS[0]) | {"x": 1})


def test_an_empty_file_is_refused():
    with pytest.raises(InvalidRepairFile):
        read_file("")
