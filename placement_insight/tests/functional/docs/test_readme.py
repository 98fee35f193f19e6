"""The commands of the README print the output that it shows."""

import csv
import os
import re
import shutil
import subprocess
import sys
from typing import NamedTuple

import pytest

from placement.tests.support import docs
from placement.tests.support.processes import ApiProcess
from placement_insight.tests.functional.docs.pages import executed

README = docs.ROOT / "README.rst"
WRITE = os.environ.get("DOCS_SAMPLES") == "write"
SHOWN_URL = "http://127.0.0.1:8778"
COMMANDS = executed("README")
# The packages are installed here, so pip does nothing; its messages are not those of the page.
QUIET_PIP = {"PIP_QUIET": "1", "PIP_ROOT_USER_ACTION": "ignore", "PIP_NO_INDEX": "1"}
MARK = "--- next command ---"
BLOCK = re.compile(r"^\.\. code-block:: console\n\n((?:   .*\n|\n)+)", re.MULTILINE)


class Command(NamedTuple):
    line: str
    output: str


def commands(text):
    """Return the commands, with continuation lines ``> ``, and the output shown for each."""
    lines = [line[3:] for block in BLOCK.findall(text) for line in block.splitlines()]
    parsed = []
    for line in lines:
        if line.startswith("$ "):
            parsed.append(Command(line[2:], ""))
        elif line.startswith("> "):
            parsed[-1] = parsed[-1]._replace(line=f"{parsed[-1].line}\n{line[2:]}")
        elif parsed and line:
            parsed[-1] = parsed[-1]._replace(output=f"{parsed[-1].output}{line}\n")
    return parsed


def ran(shown, url, folder):
    """Run the commands in one shell; return the output of each."""
    script = f"; echo '{MARK}'\n".join(command.line.replace(SHOWN_URL, url) for command in shown)
    result = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=os.environ | QUIET_PIP,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert result.stderr == ""
    return result.stdout.split(f"{MARK}\n")


def rewritten(text, shown, outputs):
    """Return the README with these outputs."""
    for command, output in zip(shown, outputs, strict=True):
        shown_output = "".join(f"   {line}\n" for line in command.output.splitlines())
        new_output = "".join(f"   {line}\n" for line in output.splitlines())
        line = "   $ {}\n".format(command.line.replace("\n", "\n   > "))
        text = text.replace(line + shown_output, line + new_output)
    return text


@pytest.fixture
def service(tmp_path):
    with ApiProcess(tmp_path, "--development", "--port", "0") as process:
        process.get()
        yield process


@pytest.mark.skipif(
    shutil.which("curl") is None and os.environ.get("CI") != "true",
    reason="needs curl: apt-get install curl",
)
@pytest.mark.long
def test_the_commands_of_the_readme_print_what_it_shows(service, tmp_path):
    (tmp_path / ".venv").symlink_to(sys.prefix)
    text = README.read_text()
    shown = commands(text)
    assert len(shown) == len(COMMANDS)
    outputs = [
        "".join(f"{line.rstrip()}\n" for line in output.splitlines())
        for output in ran(shown, service.url, tmp_path)
    ]
    if WRITE:
        text = rewritten(text, shown, outputs)
        README.write_text(text)
    assert [command.output for command in commands(text)] == outputs


def test_make_has_the_targets_that_the_readme_names():
    targets = set(re.findall(r"^([a-z-]+):", (docs.ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"``make ([a-z-]+)``", README.read_text()))
    assert named >= {"serve", "test", "docs"}
    assert named <= targets


def test_the_measured_rows_are_those_of_the_last_run():
    table = README.read_text().split(" this service\n", 1)[1].split("\n\n", 1)[0]
    shown = [tuple(re.split("  +", line)) for line in table.splitlines() if "==" not in line]
    with (docs.SOURCE / "contributor/performance.csv").open() as file:
        measured = {
            (row["work"], row["openstack-placement"], row["this service"])
            for row in csv.DictReader(file)
        }
    assert len(shown) == 3
    assert set(shown) <= measured
