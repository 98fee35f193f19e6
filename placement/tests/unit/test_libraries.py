"""Libraries are used by their public names, and their objects are not changed."""

import ast
import importlib
import inspect

import pytest

from placement.tests.support.sources import (
    is_internal,
    module_of,
    modules_of,
    name_of,
    parts_of,
    tree_of,
)

pytestmark = pytest.mark.xdist_group("sources")  # each process would parse all modules

MODULES = modules_of("placement")

# Names with an underscore that are documented: of named tuples, rows of SQLAlchemy, and `os`.
DOCUMENTED_NAMES = {"_asdict", "_exit", "_fields", "_make", "_mapping", "_replace"}

# Private names of library classes that subclasses replace, by module. Each needs a reason.
REPLACED_NAMES = {
    "cmd.status": {"_upgrade_checks"},  # the documented way to add checks to oslo.upgradecheck
}

# Attributes that libraries document as settable.
SETTABLE = {
    *("required", "group", "groups"),  # argparse: subparsers; a namespace
    *("description", "formatter_class"),  # of a parser that cliff's get_parser() returns
    "daemon",  # threading.Timer
    *("msg", "args"),  # logging.LogRecord, in a filter
    "strerror",  # OSError
    *("check_hostname", "verify_mode"),  # ssl.SSLContext
    "isolation_level",  # sqlite3.Connection
    "writeable",  # the flags of an array of numpy
    *("body", "app_iter", "content_length"),  # webob.Response
    "is_disconnect",  # SQLAlchemy's ExceptionContext
    "instance",  # jsonschema's ValidationError
    *("use_conf", "suppress_default_change_warnings"),  # oslo.policy's Enforcer
}

# Objects of libraries that are changed, by module. Each needs a reason.
CHANGES = {
    # oslo.upgradecheck looks for --json there; its own `main` sets it, and reports each error of
    # the configuration or the database by a traceback
    "cmd.status": {"upgradecheck.CONF"},
}


def is_private(name):
    return name.startswith("_") and not name.startswith("__") and name not in DOCUMENTED_NAMES


def defined(tree):
    """Return the names that a module defines, with the attributes of its objects."""
    return {name for node in ast.walk(tree) for name in defined_by(node)}


def defined_by(node):
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield node.name
        case ast.Name(id=name, ctx=ast.Store()):
            yield name
        case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name, ctx=ast.Store()):
            yield name


def is_own(node):
    return isinstance(node, ast.Name) and node.id in {"self", "cls"}


def private_names(tree, inherited):
    """Yield the private names that a module imports or reads, and does not define itself.

    ``inherited`` has the names that other modules of ours define: a class may inherit them.
    """
    names = defined(tree)
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=value, attr=name) if is_private(name):
                if name not in (names | inherited if is_own(value) else names):
                    yield name
            case ast.Call(func=ast.Name(id=reader), args=[_, ast.Constant(value=str(name)), *_]):
                if reader in {"getattr", "hasattr", "setattr", "delattr"} and is_private(name):
                    yield name
            case ast.ImportFrom(module=module, names=aliases) if not is_internal(module):
                parts = [*module.split("."), *(alias.name for alias in aliases)]
                yield from filter(is_private, parts)
            case ast.Import(names=aliases):
                parts = [part for alias in aliases for part in alias.name.split(".")]
                yield from filter(is_private, parts)


def changes(tree, defined_names):
    """Yield what a module sets on objects, except for attributes that our classes define."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="setattr" | "delattr" as name), args=[changed, *_]):
                yield f"{name}({ast.unparse(changed)})"
            case ast.Attribute(value=value, attr=name, ctx=ast.Store() | ast.Del()):
                if not is_own(value) and name not in defined_names | SETTABLE:
                    yield ast.unparse(node)


def found(search, paths):
    """Return what a function finds in each module."""
    results = {name_of(path): set(search(tree_of(path))) for path in paths}
    return {name: result for name, result in results.items() if result}


def names_in(paths):
    return set().union(*(defined(tree_of(path)) for path in paths))


def private_names_used(paths, own_names):
    own_private_names = set(filter(is_private, own_names))
    return found(lambda tree: private_names(tree, own_private_names), paths)


def objects_changed(paths, own_names):
    """Return the changes: an attribute with the name of one of ours is taken for it."""
    return found(lambda tree: changes(tree, own_names), paths)


def test_private_names_of_libraries_are_not_used():
    assert private_names_used(MODULES, names_in(MODULES)) == {}


def test_private_names_of_library_classes_are_not_replaced():
    """A subclass that happens to use the name of a private attribute is one of these, too."""
    assert names_replaced(MODULES) == REPLACED_NAMES


def names_replaced(paths):
    replaced = {}
    for path in paths:
        if "alembic" in parts_of(path):  # its scripts run within a migration
            continue
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef):
                module = importlib.import_module(module_of(path))
                names = replaced_names(getattr(module, node.name, object), defined(node))
                if names:
                    replaced[name_of(path)] = names
    return replaced


def replaced_names(cls, names):
    """Return the private names of the class that a base class of a library has, too."""
    bases = [base for base in inspect.getmro(cls) if not is_internal(base.__module__)]
    return {name for name in filter(is_private, names) for base in bases if name in vars(base)}


def test_objects_of_libraries_are_not_changed():
    assert objects_changed(MODULES, names_in(MODULES)) == CHANGES


def test_each_exception_would_be_seen():
    tree = ast.parse(
        "import lib._hidden\n"
        "from lib import _name\n"
        "import other\n"
        "def f(connection):\n"
        "    getattr(connection, '_sock')\n"
        "    connection._timeout = 1\n"
        "    other.CONF = connection\n"
        "    setattr(connection.dialect, 'do_commit', f)\n"
        "class Own:\n"
        "    def f(self, row):\n"
        "        self._value = self._inherited = row._asdict()\n"
    )
    assert set(private_names(tree, {"_inherited"})) == {"_hidden", "_name", "_sock", "_timeout"}
    expected = {"connection._timeout", "other.CONF", "setattr(connection.dialect)"}
    assert set(changes(tree, defined(tree))) == expected

    base = type("Base", (), {"_private": None, "__module__": "library"})
    replaced = type("Replaced", (base,), {"_private": 1, "__module__": "placement.any"})
    assert replaced_names(replaced, {"_private", "_other"}) == {"_private"}
