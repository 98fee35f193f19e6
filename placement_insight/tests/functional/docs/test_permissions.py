"""The examples of the chapter about permissions are what the command prints."""

import re
import shlex
import textwrap

import pytest

from placement.cmd import manage
from placement.tests.support import docs
from placement_insight.tests.functional.docs.pages import executed

PAGE = docs.SOURCE / "configuration" / "policy.rst"
COMMANDS = executed("configuration/policy", "Permissions")
EXAMPLE = re.compile(
    r"^   \$ placement-manage (?P<command>permission .*)\n(?P<output>(?:   .+\n)+)", re.MULTILINE
)
EXAMPLES = [(found["command"], found["output"]) for found in EXAMPLE.finditer(PAGE.read_text())]


@pytest.mark.parametrize(("command", "output"), EXAMPLES)
def test_an_example_prints_what_the_page_shows(command, output, capsys, tmp_path, monkeypatch):
    (tmp_path / "placement.conf").write_text("[DEFAULT]\n")
    monkeypatch.setenv("OS_PLACEMENT_CONFIG_DIR", str(tmp_path))
    manage.main(shlex.split(command))
    assert capsys.readouterr().out == textwrap.dedent(output)


def test_the_page_has_examples():
    assert [f"placement-manage {command}" for command, _ in EXAMPLES] == COMMANDS
