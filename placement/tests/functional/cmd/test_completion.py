"""Completion in bash, as a shell calls it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from placement.tests.support.processes import ROOT
from placement.tests.support.waiting import SECONDS_OF_COMMANDS

SCRIPT = """
source "$1"; shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_placement "$1"
printf '%s\\n' "${COMPREPLY[@]}"
"""


def completed(*words):
    """Return the completions of the last word."""
    programs = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    result = subprocess.run(
        ["bash", "-c", SCRIPT, "bash", ROOT / "etc/bash-completion/placement", *words],
        env=os.environ | programs,
        capture_output=True,
        text=True,
        check=True,
        timeout=SECONDS_OF_COMMANDS,
    )
    assert result.stderr == ""
    return result.stdout.split()


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["placement-manage", "d"], ["db"]),
        (["placement-manage", "--debug", "db", "s"], ["stamp", "sync"]),
        (["placement-manage", "--config-file", os.devnull, "db", "v"], ["version"]),
        (["placement-manage", "db", "unheard", ""], []),
        (["placement-manage", "db", "sync", "--", ""], []),
        (["placement-status", "upgrade", "c"], ["check"]),
        (["placement-compare", "--st"], ["--state"]),
    ],
)
def test_commands_and_options_are_completed(words, expected):
    assert sorted(completed(*words)) == expected
