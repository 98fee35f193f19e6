"""The commands of the page about audit and repair work as the page shows them, in its order."""

import re
import shlex

import pytest

from placement.cmd import manage
from placement.tests.support import docs
from placement.tests.support.defects import Host
from placement.tests.support.factories import allocations_of
from placement_insight.audit.kinds import KINDS
from placement_insight.audit.repair.actions import REPAIRABLE
from placement_insight.tests.functional.docs.pages import executed
from placement_insight.tests.support.repairs import instance

PAGE = (docs.SOURCE / "admin" / "audit-and-repair.rst").read_text()
COMMANDS = [
    command.removeprefix("placement-manage ")
    # test_openstack_commands runs those that list Nova
    for command in executed("admin/audit-and-repair", matching="placement-manage(?!.* nova )")
]


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_the_commands_find_repair_and_undo(store, database_url, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", database_url)
    monkeypatch.chdir(tmp_path)
    host = Host(store)
    alive, orphan = instance(store, host), instance(store, host)
    (tmp_path / "servers").write_text(f"{alive} {host.name}\n")
    runnable = [shlex.split(each) for each in COMMANDS]
    statuses = [manage.main(arguments) for arguments in runnable]
    assert statuses == [0, 3, 3, 0, 0], capsys.readouterr()
    assert ["--plan" in each for each in runnable] == [False, False, True, False, False]
    assert allocations_of(store, orphan)
    assert (tmp_path / "repair.plan.undo").exists()


def test_the_page_says_which_findings_are_repaired():
    rows = re.findall(r"^   \* - (``.*)\n     - (.*)$", PAGE, re.MULTILINE)
    repairs = {code: text for codes, text in rows for code in re.findall(r"``(\w+)``", codes)}
    assert repairs.keys() == set(KINDS)
    left = {code for code, text in repairs.items() if text.startswith("No action")}
    assert left == KINDS.keys() - REPAIRABLE
