"""The import rules, checked against the sources; the documentation is generated from them."""

import ast
import subprocess
import sys
from collections import defaultdict
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import placement
from placement.tests.unit.import_rules import EXTERNAL, INTERNAL

ROOT = Path(placement.__file__).parent
LONGEST_MODULE = 600
SHORT_MODULE = 40
MOST_SHORT_MODULES = 25

# What the search must not know of, wherever it could come from.
UNKNOWN_TO_CORE = {"time", "datetime", "logging", "os", "socket", "threading", "http", "sqlite3"}
OUTPUT_OF_COMMANDS = {"placement.terminal", "placement.core.text"}
# A date as a value is no clock.
KNOWN_TO_MODEL = {"datetime"}

MUTATORS = {
    *("append", "add", "update", "pop", "popitem", "clear", "setdefault"),
    *("extend", "insert", "remove", "discard"),
}


READINGS = {"now", "utcnow", "today"}


def parts_of(path):
    """Return the folders below ``placement``, and the file: the checkout may have any path."""
    return path.relative_to(ROOT).parts


MODULES = sorted(path for path in ROOT.rglob("*.py") if "tests" not in parts_of(path))
CORE = [path for path in MODULES if "core" in parts_of(path)]


def name_of(path):
    """Return the dotted name below ``placement``: ``core.search``."""
    return ".".join(parts_of(path.with_suffix(""))).removesuffix(".__init__")


@cache
def tree_of(path):
    return ast.parse(path.read_text(), str(path))


def imported(path):
    """Yield the dotted names of what a module imports, anywhere in it."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: imports are absolute"
            is_package = (ROOT.parent / node.module.replace(".", "/")).is_dir()
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from names if is_package else [node.module]


def rule_for(name, rules):
    parts = name.split(".")
    ends = range(len(parts), 0, -1)
    return next((rules[key] for end in ends if (key := ".".join(parts[:end])) in rules), None)


def is_within(name, packages):
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def violations(rule, paths=MODULES):
    """Return what a rule yields for each module that violates it."""
    checked = {name_of(path): list(rule(path)) for path in paths}
    return {name: violating for name, violating in checked.items() if violating}


def test_imports_go_downwards():
    def forbidden(path):
        allowed = rule_for(name_of(path), INTERNAL)
        internal = {
            name.removeprefix("placement.") for name in imported(path) if is_internal(name)
        }
        for name in sorted(internal - {"placement"}):
            if allowed is not None and not is_within(name, allowed):
                yield name

    assert violations(forbidden) == {}


def test_no_module_imports_itself_through_others():
    TopologicalSorter(imports_of_modules()).prepare()


@pytest.mark.parametrize("depth", [1, 2])
def test_no_package_imports_itself_through_others(depth):
    """``db.claims`` and ``db.resources`` are packages of depth 2, and ``db`` is one of depth 1."""
    graph = defaultdict(set)
    for name, imports in imports_of_modules().items():
        package = package_of(name, depth)
        graph[package] |= {package_of(each, depth) for each in imports} - {package}
    TopologicalSorter(graph).prepare()


def imports_of_modules():
    """Return the modules that each module imports; the faces of packages import their parts."""
    names = {name_of(path) for path in MODULES}
    return {
        name_of(path): {
            target
            for name in imported(path)
            if is_internal(name)
            and (target := module_named(name, names)) not in {name_of(path), None}
        }
        for path in MODULES
    }


def module_named(name, names):
    """Return the module among the names to which a dotted name belongs, or None."""
    name = name.removeprefix("placement.")
    return next((each for each in (name, name.rpartition(".")[0]) if each in names), None)


def package_of(name, depth):
    return ".".join(name.split(".")[:depth])


def test_libraries_stay_in_their_layer():
    def forbidden(path):
        allowed = rule_for(name_of(path), EXTERNAL)
        libraries = {name.split(".")[0] for name in imported(path) if not is_internal(name)}
        return () if allowed is None else libraries - sys.stdlib_module_names - allowed

    assert violations(forbidden) == {}


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

    assert violations(comparison) == {}
    paths = (ROOT.parent / "placement_compare").glob("*.py")
    internal = {name for path in paths for name in imported(path) if is_internal(name)}
    assert {name for name in internal if not is_within(name, OUTPUT_OF_COMMANDS)} == set()


def test_commands_of_the_client_do_not_import_numpy():
    """The client imports the modules of all commands at each start; numpy takes 0.1 s."""
    modules = [f"placement.{name_of(path)}" for path in MODULES if "cli" in parts_of(path)]
    program = f"import sys, {', '.join(modules)}; print('numpy' in sys.modules)"
    command = [sys.executable, "-W", "ignore", "-c", program]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout == "False\n"


def test_no_module_is_too_long():
    lengths = {name_of(path): len(path.read_text().splitlines()) for path in MODULES}
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_MODULE} == {}


def test_few_modules_are_short():
    """A subject is read in one place: a short module is usually a part of its only user."""
    lengths = {name_of(path): len(path.read_text().splitlines()) for path in MODULES}
    short = [
        name
        for path in MODULES
        if path.name != "__init__.py" and "alembic" not in parts_of(path)
        if lengths[name := name_of(path)] < SHORT_MODULE
    ]
    assert len(short) <= MOST_SHORT_MODULES


def test_no_module_keeps_state():
    """Nothing at module level changes after the import, as far as the source shows."""

    def changed(path):
        tree = tree_of(path)
        yield from (node.lineno for node in ast.walk(tree) if isinstance(node, ast.Global))
        names = set(module_level_names(tree))
        yield from (f"{line}: {name}" for line, name in mutations(tree) if name in names)

    assert violations(changed) == {}


def is_internal(name):
    return name.split(".")[0] == "placement"


def module_level_names(tree):
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        yield from (target.id for target in targets if isinstance(target, ast.Name))


def mutations(tree):
    """Yield line and name of what is changed inside functions, unless it is local to them."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            local = {
                node.id
                for node in ast.walk(function)
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            }
            local |= {
                argument.arg
                for argument in ast.walk(function.args)
                if isinstance(argument, ast.arg)
            }
            yield from ((line, name) for line, name in changes(function) if name not in local)


def changes(function):
    for node in ast.walk(function):
        changed = None
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
            changed = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            # Without arguments, an update or insert is the statement of SQL.
            mutators = MUTATORS if node.args else MUTATORS & {"pop", "popitem", "clear"}
            changed = node.func.value if node.func.attr in mutators else None
        if isinstance(changed, ast.Name):
            yield node.lineno, changed.id


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
