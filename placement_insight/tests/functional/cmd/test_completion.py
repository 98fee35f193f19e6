"""Completion of the commands that the operator surface adds to ``placement-manage``."""

import os

import pytest

from placement.tests.functional.cmd.test_completion import completed


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["placement-manage", "audit", "--ap"], ["--apply"]),
        (["placement-manage", "--config-file", os.devnull, "audit", "--pl"], ["--plan"]),
    ],
)
def test_commands_and_options_are_completed(words, expected):
    assert sorted(completed(*words)) == expected
