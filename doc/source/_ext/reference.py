"""Reference documentation generated from the code: options, policy rules, modules, import
rules, measurements, and sample files.

Each function yields lines of reStructuredText, which ``directives`` inserts into pages.
"""

import ast
import csv
import re
import runpy
import tempfile
from collections.abc import Iterator, Sequence
from importlib.metadata import entry_points
from inspect import cleandoc
from pathlib import Path

from oslo_config import cfg
from oslo_config import generator as config_generator
from oslo_policy import generator as policy_generator
from oslo_policy import policy

from placement import policies

ROOT = Path(__file__).parents[3]
RULES = [
    ROOT / package / "tests" / "unit" / "import_rules.py"
    for package in ("placement", "placement_insight")
]
PLACEMENT = "placement.conf"

# --- options ----------------------------------------------------------------------------


def option_lines(namespace: str, group: str) -> Iterator[str]:
    """Yield an entry, with a link target, for each option of a group."""
    options = of_group(namespace, group)
    if not options:
        raise ValueError(f"{namespace} has no options in [{group}]")
    for option in options:
        yield from _entry(option, group, is_ours=namespace == PLACEMENT)


def of_group(namespace: str, group: str) -> Sequence[cfg.Opt]:
    """Return the options of a group that are not deprecated, sorted by name."""
    (listing,) = entry_points(group="oslo.config.opts", name=namespace)
    by_name = {}
    for owner, options in listing.load()():
        if (getattr(owner, "name", owner) or "DEFAULT") == group:
            by_name |= {option.dest: option for option in options}
    return [by_name[name] for name in sorted(by_name) if not by_name[name].deprecated_for_removal]


def _entry(option: cfg.Opt, group: str, *, is_ours: bool) -> Iterator[str]:
    yield f".. confval:: [{group}]{option.dest}"
    yield f"   :type: {_kind(option)}"
    yield f"   :default: {_default(option)}"
    yield ""
    for line in _help(option, is_ours=is_ours):
        yield f"   {line}".rstrip()
    yield ""


def _help(option: cfg.Opt, *, is_ours: bool) -> Iterator[str]:
    text = cleandoc(option.help or "")
    yield from text.splitlines() if is_ours else _plain(text)
    if option.deprecated_opts:
        old = ", ".join(
            f"``[{o.group or 'DEFAULT'}]{o.name or option.dest}``" for o in option.deprecated_opts
        )
        yield from ("", f"Also read from {old}.")
    for value, meaning in (getattr(option.type, "choices", None) or {}).items():
        if meaning:
            yield from ("", f"``{value}``", f"   {meaning}")


def _plain(text: str) -> Iterator[str]:
    """Yield a help text literally: the texts of libraries are not reStructuredText."""
    for line in text.splitlines():
        yield "| " + re.sub(r"([\\`*_|<>])", r"\\\1", line.strip())


def _kind(option: cfg.Opt) -> str:
    kind = f"{option.type}".split("(", 1)[0].lower()
    low, high = getattr(option.type, "min", None), getattr(option.type, "max", None)
    if low is not None:
        kind += f", from {low}"
    if high is not None:
        kind += f" up to {high}"
    if option.required:
        kind += "; required"
    return kind


def _default(option: cfg.Opt) -> str:
    default = option.sample_default if option.sample_default is not None else option.default
    return "none" if default in (None, "", []) else f"``{_text(default).strip()}``"


def _text(default: object) -> str:
    if isinstance(default, list):
        return ",".join(map(str, default))
    return str(default).lower() if isinstance(default, bool) else str(default)


# --- policy rules -----------------------------------------------------------------------


def rule_lines() -> Iterator[str]:
    """Yield a definition for each rule, roles first."""
    for rule in policies.list_rules():
        yield f"``{rule.name}``"
        for line in _described(rule):
            yield f"   {line}".rstrip()
        yield ""


def _described(rule: policy.RuleDefault) -> Iterator[str]:
    yield from (rule.description, "", f"| Default: ``{rule.check_str}``")
    if rule.scope_types:
        yield f"| Scope: {', '.join(rule.scope_types)}"
    for operation in getattr(rule, "operations", ()):
        yield f"| Operation: ``{operation['method']} {operation['path']}``"
    if rule.deprecated_rule:
        yield f"| With ``enforce_new_defaults = false`` also: ``{rule.deprecated_rule.check_str}``"


# --- modules ----------------------------------------------------------------------------


def module_lines(package: str) -> Iterator[str]:
    """Yield a definition for each module of the package, without subpackages."""
    for path in sorted((ROOT / package.replace(".", "/")).glob("*.py")):
        if path.stem != "__init__":
            yield from (f"``{path.stem}``", f"   {first_sentence(path)}", "")


def first_sentence(path: Path) -> str:
    """Return the first sentence of the docstring of a module."""
    text = ast.get_docstring(ast.parse(path.read_text())) or ""
    paragraph = " ".join(text.split("\n\n", 1)[0].split())
    # Other modules have no page: a role would have no target.
    return re.sub(r":\w+:(`[^`]+`)", r"`\1`", re.split(r"(?<=\.) ", paragraph)[0])


# --- import rules -----------------------------------------------------------------------


def import_lines() -> Iterator[str]:
    """Yield a table of the packages and libraries that each package may import."""
    internal, others = _rules("INTERNAL"), _rules("EXTERNAL")
    yield from (".. list-table::", "   :header-rows: 1", "   :widths: 20 50 30", "")
    yield from _row("package", "may import", "libraries")
    for package in sorted(internal):
        libraries = others.get(package)
        yield from _row(
            f"``{package}``",
            ", ".join(f"``{name}``" for name in sorted(internal[package])) or "none",
            "any" if libraries is None else ", ".join(sorted(libraries)) or "standard library",
        )


def _row(*cells: str) -> Iterator[str]:
    yield f"   * - {cells[0]}"
    yield from (f"     - {cell}" for cell in cells[1:])


def _rules(name: str) -> dict[str, set[str]]:
    """Return a constant of the import rules of both storeys, modules without imports."""
    return {key: value for path in RULES for key, value in runpy.run_path(str(path))[name].items()}


# --- measurements -----------------------------------------------------------------------


def measurement_lines(names: Sequence[str]) -> Iterator[str]:
    """Yield a table of rows of the benchmark.  Raises: KeyError if there is no such row."""
    with (ROOT / "doc/source/contributor/performance.csv").open(newline="") as file:
        rows = {row[0]: row for row in csv.reader(file)}
    yield from (".. list-table::", "   :header-rows: 1", "   :widths: 52 16 16 16", "")
    yield from _row("workload", "openstack-placement", "this service", "ratio")
    for name in names:
        workload, upstream, _, measured, _, ratio, *_ = rows[name]
        yield from _row(workload, upstream, measured, ratio)


# --- sample files -----------------------------------------------------------------------


def sample_configuration() -> str:
    """Return the sample configuration file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "placement.conf.sample"
        file = ROOT / "etc" / "placement" / "config-generator.conf"
        config_generator.main([f"--config-file={file}", f"--output-file={path}"])
        return path.read_text()


def sample_policy() -> str:
    """Return the sample policy file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy.yaml.sample"
        arguments = ["--namespace=placement", f"--output-file={path}"]
        policy_generator.generate_sample(arguments, cfg.ConfigOpts())
        return path.read_text()
