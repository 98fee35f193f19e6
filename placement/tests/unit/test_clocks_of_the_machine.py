"""Intervals are measured by the monotonic clock: the time of day can jump."""

import ast

from placement.tests.unit.test_architecture import MODULES, tree_of

# Uses of the time of day of the module ``time``, by module. Each needs a reason.
TIMES_OF_DAY: dict[str, set[str]] = {}


def times_of_day(tree):
    """Return the functions of the module ``time`` for the time of day that a module uses."""
    functions = {"time", "time_ns"}
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="time"), attr=name) if name in functions:
                yield name
            case ast.ImportFrom(module="time", names=names):
                yield from functions & {each.name for each in names}


def test_times_of_day_are_listed():
    used = {module: set(times_of_day(tree_of(module))) for module in MODULES}
    assert {module: names for module, names in used.items() if names} == TIMES_OF_DAY


def test_uses_are_found():
    code = "import time\nfrom time import time_ns\nmonotonic, now = time.monotonic(), time.time()"
    assert set(times_of_day(ast.parse(code))) == {"time", "time_ns"}
