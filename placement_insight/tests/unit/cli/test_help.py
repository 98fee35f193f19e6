"""The help of the commands of ``openstack``: examples on their lines, no markup."""

import re
from importlib.metadata import entry_points

import pytest

COMMANDS = {
    each.name: each
    for each in entry_points(group="openstack.placement.v1")
    if each.value.startswith("placement_insight.cli")
}


@pytest.mark.xdist_group("help")  # the first parser of a process takes a second
@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("columns", ["80", "200"])
def test_examples_have_their_lines_and_no_markup(name, columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    command = COMMANDS[name].load()
    text = command(None, None).get_parser("openstack command").format_help()
    assert "`" not in text
    examples = re.findall(r"\$ openstack.*", command.__doc__)
    assert re.findall(r"^  (\$ openstack.*)$", text, re.MULTILINE) == examples
    assert max(map(len, text.split("options:")[0].splitlines())) <= max(int(columns), 100)
