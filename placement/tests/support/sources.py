"""The sources of both storeys as the tests of their structure see them.

The dotted name of a module of ``placement`` has no prefix: ``core.search``. Other names are whole:
``placement_insight.audit``.
"""

import ast
import sys
from collections import defaultdict
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import placement

ROOT = Path(placement.__file__).parents[1]
OURS = {"placement", "placement_insight"}
LONGEST_MODULE = 600
SHORT_MODULE = 40

MUTATORS = {
    *("append", "add", "update", "pop", "popitem", "clear", "setdefault"),
    *("extend", "insert", "remove", "discard"),
}


def modules_of(package):
    """Return the paths of the modules of a package, without its tests."""
    paths = sorted((ROOT / package).rglob("*.py"))
    return [path for path in paths if "tests" not in parts_of(path)]


def parts_of(path):
    """Return package, folders and file: the checkout may have any path."""
    return path.relative_to(ROOT).parts


def name_of(path):
    """Return the dotted name of a module: ``core.search``, ``placement_insight.audit``."""
    return short(module_of(path))


def module_of(path):
    """Return the name by which a module is imported."""
    return ".".join(parts_of(path.with_suffix(""))).removesuffix(".__init__")


def short(name):
    return name.removeprefix("placement.")


@cache
def tree_of(path):
    return ast.parse(path.read_text(), str(path))


def imported(path):
    """Yield the dotted names of what a module imports, anywhere in it, except for annotations."""
    for node in imports_of(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        else:
            assert not node.level, f"{path}: imports are absolute"
            is_package = (ROOT / node.module.replace(".", "/")).is_dir()
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from names if is_package else [node.module]


def imports_of(tree):
    """Yield the imports of a tree, without the block of ``TYPE_CHECKING``."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and getattr(node.test, "id", None) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        else:
            yield from imports_of(node)


def is_internal(name):
    return name.split(".")[0] in OURS


def rule_for(name, rules):
    parts = name.split(".")
    ends = range(len(parts), 0, -1)
    return next((rules[key] for end in ends if (key := ".".join(parts[:end])) in rules), None)


def is_within(name, packages):
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def violations(rule, paths):
    """Return what a rule yields for each module that violates it."""
    checked = {name_of(path): list(rule(path)) for path in paths}
    return {name: violating for name, violating in checked.items() if violating}


def forbidden_imports(paths, internal):
    """Return the imports of ours that the rules do not allow, by module."""

    def forbidden(path):
        allowed = rule_for(name_of(path), internal)
        imports = {short(name) for name in imported(path) if is_internal(name)}
        for name in sorted(imports - {"placement"}):
            if allowed is not None and not is_within(name, allowed):
                yield name

    return violations(forbidden, paths)


def forbidden_libraries(paths, external):
    """Return the libraries that the rules do not allow, by module."""

    def forbidden(path):
        allowed = rule_for(name_of(path), external)
        libraries = {name.split(".")[0] for name in imported(path) if not is_internal(name)}
        return () if allowed is None else libraries - sys.stdlib_module_names - allowed

    return violations(forbidden, paths)


def check_has_no_circle(paths, depth=None):
    """Raise CycleError if a module, or a package of this depth, imports itself through others.

    ``db.claims`` and ``db.resources`` are packages of depth 2, and ``db`` is one of depth 1.
    """
    graph = defaultdict(set)
    for name, imports in imports_of_modules(paths).items():
        package = package_of(name, depth)
        graph[package] |= {package_of(each, depth) for each in imports} - {package}
    TopologicalSorter(graph).prepare()


def imports_of_modules(paths):
    """Return the modules that each module imports; the faces of packages import their parts."""
    names = {name_of(path) for path in paths}
    return {
        name_of(path): {
            target
            for name in imported(path)
            if is_internal(name)
            and (target := module_named(name, names)) not in {name_of(path), None}
        }
        for path in paths
    }


def module_named(name, names):
    """Return the module among the names to which a dotted name belongs, or None."""
    name = short(name)
    return next((each for each in (name, name.rpartition(".")[0]) if each in names), None)


def package_of(name, depth):
    parts = name.split(".")
    is_above = parts[0] in OURS
    return ".".join(parts[: None if depth is None else depth + is_above])


def too_long(paths):
    """Return the lengths of the modules that are too long."""
    lengths = {name_of(path): len(path.read_text().splitlines()) for path in paths}
    return {name: lines for name, lines in lengths.items() if lines > LONGEST_MODULE}


def short_modules(paths):
    """Return the modules that are usually a part of their only user."""
    return [
        name_of(path)
        for path in paths
        if path.name != "__init__.py" and "alembic" not in parts_of(path)
        if len(path.read_text().splitlines()) < SHORT_MODULE
    ]


def changes_of_state(paths):
    """Return what changes after the import at module level, as far as the source shows."""

    def changed(path):
        tree = tree_of(path)
        yield from (node.lineno for node in ast.walk(tree) if isinstance(node, ast.Global))
        names = set(module_level_names(tree))
        yield from (f"{line}: {name}" for line, name in mutations(tree) if name in names)

    return violations(changed, paths)


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
