"""The table of the rules that each service needs is true, and the check beside it works."""

import csv
import json
import re
import subprocess

import pytest

from placement import policies
from placement.tests.support import docs
from placement.tests.support.processes import BIN, environment
from placement_insight.tests.functional.docs.pages import executed

PAGE = (docs.SOURCE / "configuration" / "policy.rst").read_text()
COMMANDS = executed("configuration/policy", "Permissions")
ROWS = [
    [cell.strip("` ") for cell in row]
    for row in csv.reader(
        re.findall(r"^   (\w+, ``placement:.+)$", PAGE, re.MULTILINE), skipinitialspace=True
    )
]
RULES = {
    rule.name: {f"{each['method']} {each['path']}" for each in rule.operations}
    for rule in policies.list_rules()
    if hasattr(rule, "operations")
}


def test_each_row_has_a_rule_and_one_of_its_operations():
    for service, rule, call, purpose in ROWS:
        assert call in RULES[rule], (service, rule)
        assert purpose
    assert len(ROWS) == len(set(map(tuple, ROWS))) == 59
    assert {row[0] for row in ROWS} == {"nova", "neutron", "cyborg", "blazar"}


@pytest.fixture
def check(tmp_path):
    """Return a function that runs the commands of the page for these roles."""
    (tmp_path / "placement.conf").write_text("[DEFAULT]\n")
    (document,) = re.findall(r"^   (\{\"token\".+)$", PAGE, re.MULTILINE)

    def run(*roles):
        named = json.loads(document)
        if roles:
            named["token"]["roles"] = [{"name": role} for role in roles]
        (tmp_path / "token.json").write_text(json.dumps(named))
        directory, *commands = COMMANDS
        assert directory == "cd /opt/placement/bin"
        script = "\n".join(command.replace("./", f"{BIN}/") for command in commands)
        done = subprocess.run(
            script,
            shell=True,
            check=False,
            cwd=tmp_path,
            env=environment(OS_PLACEMENT_CONFIG_DIR=str(tmp_path)),
            capture_output=True,
            text=True,
        )
        assert done.stderr == ""
        return done.stdout.splitlines()

    return run


def test_the_check_prints_what_the_page_shows(check):
    shown = re.findall(r"^   (failed: .+)$", PAGE, re.MULTILINE)
    assert check() == shown


@pytest.mark.long
def test_each_rule_of_the_table_is_evaluated(check):
    assert check("service") == []
    failed = {line.removeprefix("failed: ") for line in check("member")}
    assert failed >= {rule for _, rule, _, _ in ROWS}


@pytest.mark.long
def test_the_policy_files_count(check, tmp_path):
    assert "failed: placement:usages" not in check("admin")
    (tmp_path / "policy.yaml").write_text('"placement:usages": "role:accountant"\n')
    assert "failed: placement:usages" in check("admin")
