"""Each command of each page is run by a test, or is in the table of exceptions with a check."""

import importlib
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from bench import __main__ as bench
from bench import growth
from placement.tests.support import docs
from placement_insight.tests.functional.docs import pages
from placement_insight.tests.functional.docs.exceptions import EXCEPTIONS

FUNCTIONAL = Path(__file__).parents[1]
COMMENT = re.compile(r"\s+# .*")


def all_commands():
    return [command for name in pages.page_names() for command in pages.commands(name)]


def bare(command):
    """Return a command as the table has it, without its comment."""
    return COMMENT.sub("", command)


@pytest.fixture(scope="module")
def executed():
    """The commands that tests have declared to run, when their modules were imported."""
    for path in sorted(FUNCTIONAL.rglob("test_*.py")):
        if re.search(r"import .*\bexecuted\b", path.read_text(), re.MULTILINE):
            parts = path.relative_to(docs.ROOT).with_suffix("").parts
            importlib.import_module(".".join(parts))
    return pages.executed_commands()


def test_each_command_is_run_or_has_a_reason(executed):
    commands = all_commands()
    left = [
        each for each in commands if each not in executed and bare(each.text) not in EXCEPTIONS
    ]
    assert left == []
    assert len(commands) > 140


def test_each_exception_is_a_command_of_a_page():
    assert EXCEPTIONS.keys() <= {bare(command.text) for command in all_commands()}


def test_commands_are_in_blocks_that_are_read():
    """A prompt in another kind of block would not be noticed."""
    for name in pages.page_names():
        text = pages.path_of(name).read_text()
        prompts = re.findall(r"^ +[$] \S", text, re.MULTILINE)
        assert len(prompts) <= len(list(pages.commands(name))), name


def accepted_by_make(command):
    variables, words = {}, shlex.split(command)
    while "=" in words[0]:
        name, _, variables[name] = words.pop(0).partition("=")
    dry = subprocess.run(
        [*words, "--dry-run"], cwd=docs.ROOT, capture_output=True, text=True, check=False
    )
    assert dry.returncode == 0, dry.stderr
    for option in words[2:]:  # each variable of the command line changes what is run
        assert option.partition("=")[2] in dry.stdout or "RECORD" in option or "QUICK" in option
    for name in variables:
        sources = [
            path
            for storey in ("placement", "placement_insight")
            for path in (docs.ROOT / storey / "tests").rglob("*.py")
        ]
        assert any(f'"{name}"' in path.read_text() for path in sources), name
    for path in re.findall(r"placement\w*/tests/[\w/.]+", command):
        assert (docs.ROOT / path).exists(), path


def accepted_by_bench(command):
    _python, _m, module, *arguments = shlex.split(command)
    parse = {"bench": bench, "bench.growth": growth}[module]
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(sys, "argv", [module, *arguments])
        parse.arguments()


def configured_for_reno(command):
    assert shlex.split(command)[:2] == ["reno", "new"]
    assert (docs.ROOT / "releasenotes" / "notes").is_dir()
    assert '"reno' in (docs.ROOT / "pyproject.toml").read_text()


def run_by_buildah(command):
    """``packaging/build-image`` builds the same image; test_container runs it."""
    script = (docs.ROOT / "packaging" / "build-image").read_text()
    for option in re.findall(r"--\w+ \S+", command):
        assert option in script, option


def accepted_by_podman(command):
    """The path and the port are those of the image; test_container has the other options."""
    containerfile = (docs.ROOT / "packaging" / "Containerfile").read_text()
    for inside in re.findall(r"--publish \d+:(\d+)", command):
        assert f"EXPOSE {inside}\n" in containerfile
    (folder,) = re.findall(r"--volume \S+?:(\S+)/placement.conf:ro", command)
    assert f"mkdir {folder}\n" in containerfile
    runner = (FUNCTIONAL / "packaging" / "test_container.py").read_text()
    assert f"{folder}/placement.conf" in runner
    assert "remount,bind,ro" in runner  # as --read-only


CHECKS = {
    "buildah runs": run_by_buildah,
    "podman accepts": accepted_by_podman,
    "make accepts": accepted_by_make,
    "bench accepts": accepted_by_bench,
    "reno is configured": configured_for_reno,
}


@pytest.mark.parametrize("command", EXCEPTIONS)
def test_a_command_that_is_not_run_is_checked(command):
    CHECKS[EXCEPTIONS[command].check](command)
