"""The import rules of the operator surface; its tests see both storeys."""

import subprocess
import sys

import pytest

from placement.tests.support.sources import (
    changes_of_state,
    check_has_no_circle,
    forbidden_imports,
    forbidden_libraries,
    modules_of,
    name_of,
    parts_of,
    short_modules,
    too_long,
)
from placement_insight.tests.unit.import_rules import EXTERNAL, INTERNAL

pytestmark = pytest.mark.xdist_group("sources")  # each process would parse all modules

MOST_SHORT_MODULES = 10

MODULES = modules_of("placement_insight")
BOTH = [*modules_of("placement"), *MODULES]


def test_imports_go_downwards():
    assert forbidden_imports(MODULES, INTERNAL) == {}


@pytest.mark.parametrize("depth", [None, 1])
def test_no_module_or_package_imports_itself_through_others(depth):
    check_has_no_circle(BOTH, depth)


def test_libraries_stay_in_their_layer():
    assert forbidden_libraries(MODULES, EXTERNAL) == {}


def test_commands_of_the_client_do_not_import_numpy():
    """The client imports the modules of all commands at each start; numpy takes 0.1 s."""
    modules = [name_of(path) for path in MODULES if "cli" in parts_of(path)]
    program = f"import sys, {', '.join(modules)}; print('numpy' in sys.modules)"
    command = [sys.executable, "-W", "ignore", "-c", program]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout == "False\n"


def test_no_module_is_too_long():
    assert too_long(MODULES) == {}


def test_few_modules_are_short():
    """A subject is read in one place: a short module is usually a part of its only user."""
    assert len(short_modules(MODULES)) <= MOST_SHORT_MODULES


def test_no_module_keeps_state():
    assert changes_of_state(MODULES) == {}
