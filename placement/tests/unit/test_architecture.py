"""The import rules, checked against the sources; the documentation is generated from them."""

import ast

import pytest

from placement.tests.support.sources import (
    ROOT,
    changes_of_state,
    check_has_no_circle,
    forbidden_imports,
    forbidden_libraries,
    imported,
    is_internal,
    is_within,
    module_level_names,
    modules_of,
    mutations,
    parts_of,
    short_modules,
    too_long,
    tree_of,
    violations,
)
from placement.tests.unit.import_rules import EXTERNAL, INTERNAL

pytestmark = pytest.mark.xdist_group("sources")  # each process would parse all modules

MOST_SHORT_MODULES = 20

# What the search must not know of, wherever it could come from.
UNKNOWN_TO_CORE = {"time", "datetime", "logging", "os", "socket", "threading", "http", "sqlite3"}
OUTPUT_OF_COMMANDS = {"placement.terminal", "placement.core.text"}
# A date as a value is no clock.
KNOWN_TO_MODEL = {"datetime"}
READINGS = {"now", "utcnow", "today"}

MODULES = modules_of("placement")
CORE = [path for path in MODULES if "core" in parts_of(path)]


def test_nothing_names_the_storey_above():
    """The service finds the add-on by its entry point; this name is in no text of it either."""
    assert [path for path in MODULES if "placement_insight" in path.read_text()] == []


def test_imports_go_downwards():
    assert forbidden_imports(MODULES, INTERNAL) == {}


@pytest.mark.parametrize("depth", [None, 1, 2])
def test_no_module_or_package_imports_itself_through_others(depth):
    check_has_no_circle(MODULES, depth)


def test_libraries_stay_in_their_layer():
    assert forbidden_libraries(MODULES, EXTERNAL) == {}


def test_the_core_imports_no_clock_no_log_and_no_machine():
    def forbidden(path):
        imports = {name.split(".")[0] for name in imported(path)}
        return imports & (UNKNOWN_TO_CORE - KNOWN_TO_MODEL)

    assert violations(forbidden, CORE) == {}


def test_the_core_reads_no_clock():
    def calls(path):
        for node in ast.walk(tree_of(path)):
            is_reading = isinstance(node, ast.Attribute) and node.attr in READINGS
            if is_reading and getattr(node.value, "id", None) in {"datetime", "date"}:
                yield node.lineno

    assert violations(calls, CORE) == {}


def test_the_comparison_is_a_package_of_its_own():
    """``placement`` does not import it; it imports the output of commands only."""

    def comparison(path):
        return (name for name in imported(path) if is_within(name, {"placement_compare"}))

    assert violations(comparison, MODULES) == {}
    paths = (ROOT / "placement_compare").glob("*.py")
    internal = {name for path in paths for name in imported(path) if is_internal(name)}
    assert {name for name in internal if not is_within(name, OUTPUT_OF_COMMANDS)} == set()


def test_no_module_is_too_long():
    assert too_long(MODULES) == {}


def test_few_modules_are_short():
    """A subject is read in one place: a short module is usually a part of its only user."""
    assert len(short_modules(MODULES)) <= MOST_SHORT_MODULES


def test_no_module_keeps_state():
    assert changes_of_state(MODULES) == {}


def test_a_change_of_module_state_would_be_seen():
    tree = ast.parse(
        "SEEN = {}\n"
        "def f(x):\n"
        "    SEEN[x] = 1\n"
        "    SEEN.pop(x)\n"
        "    mine = []\n"
        "    mine.append(x)\n"
    )
    assert set(module_level_names(tree)) == {"SEEN"}
    assert list(mutations(tree)) == [(3, "SEEN"), (4, "SEEN")]
