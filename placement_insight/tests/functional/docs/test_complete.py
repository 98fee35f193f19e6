"""The documentation is complete: options, rules, routes, errors, versions, commands, modules."""

import argparse
import ast
import csv
import importlib.util
import inspect
import re
import tomllib
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from oslo_config import cfg

from bench.services import UPSTREAM_PACKAGES
from placement import conf, errors, policies
from placement.cmd import status
from placement.core.model import IncompleteConsumer
from placement.db.maintenance import data_migrations
from placement.handler import all_routes
from placement.microversion import VERSIONS
from placement.tests.support import docs
from placement.tests.unit.import_rules import INTERNAL
from placement_compare import command as compare
from placement_insight.tests.unit import import_rules as upper

PACKAGE = docs.ROOT / "placement"
STOREYS = (PACKAGE, docs.ROOT / "placement_insight")


def page(name):
    return (docs.SOURCE / f"{name}.rst").read_text()


@pytest.fixture(scope="module")
def reference():
    """The Sphinx extension that generates reference documentation."""
    spec = importlib.util.spec_from_file_location(
        "reference", docs.SOURCE / "_ext" / "reference.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def options_by_group():
    registered = cfg.ConfigOpts()
    before = set(registered._opts)
    conf.register_opts(registered)
    for name, group in registered._groups.items():
        yield name, set(group._opts)
    yield "DEFAULT", set(registered._opts) - before


def test_each_metric_of_the_service_is_listed():
    modules = (
        *("placement/events.py", "placement/observability/metrics.py"),
        "placement/observability/inventory_metrics.py",
        "placement_insight/explain/records/reports.py",
    )
    code = "".join((docs.ROOT / module).read_text() for module in modules)
    names = re.findall(r'"((?:openstack_)?placement_[a-z_]+)"', code)
    listed = page("admin/operations")
    assert len(names) > 15
    assert [name for name in names if not re.search(rf"``{name}(_total)?``", listed)] == []


def test_each_option_is_listed(reference):
    shown = re.findall(r"^\.\. options:: (\w+)$", page("configuration/options"), re.MULTILINE)
    listed = "\n".join(
        line for group in shown for line in reference.option_lines(reference.PLACEMENT, group)
    )
    for group, names in options_by_group():
        if group == "oslo_policy":  # described by oslo.policy
            continue
        missing = {name for name in names if f".. confval:: [{group}]{name}\n" not in listed}
        assert missing == set(), group


def test_each_policy_rule_is_listed(reference):
    listed = set(reference.rule_lines())
    assert {f"``{rule.name}``" for rule in policies.list_rules()} <= listed


def test_each_route_has_a_section_and_its_row():
    pages = [path.read_text() for path in (docs.SOURCE / "api").glob("*.rst")]
    sections = Counter(
        route
        for text in pages
        for route in re.findall(r"^``([A-Z]+ /\S*)``\n=+$", text, re.MULTILINE)
    )
    declared = {f"{method} {path}" for path, methods in all_routes().items() for method in methods}
    assert sections == Counter(declared - {"GET "})
    rows = re.findall(r"^``(/\S*)`` +((?:[A-Z]+(?:, )?)+) ", page("api/index"), re.MULTILINE)
    assert {path: set(methods.split(", ")) for path, methods in rows} == {
        path: set(methods) for path, methods in all_routes().items() if path
    }


def test_each_error_code_is_explained():
    explained = set(re.findall(r"^``(placement\.[a-z_.]+)``", page("api/errors"), re.MULTILINE))
    assert explained == {wire.code for wire in errors.TABLE.values()}


def test_each_status_is_explained():
    statuses = set(re.findall(r"^(\d{3}) ", page("api/errors"), re.MULTILINE))
    returned = {str(wire.status) for wire in errors.TABLE.values()} | {"401", "500"}
    assert statuses == returned


def test_each_microversion_is_in_the_history_in_order():
    listed = re.findall(r"^(\d+\.\d+)$", page("api/microversions"), re.MULTILINE)
    assert listed == [str(version) for version in VERSIONS]


def test_supported_versions_are_stated():
    newest = str(VERSIONS[-1])
    assert f"microversions 1.0 to {newest}\n" in page("index")
    rows = re.findall(r"^(\w[\w. ]*?) {2,}(1\.\d+)$", page("admin/upgrade"), re.MULTILINE)
    latest = [int(version.partition(".")[2]) for _, version in rows]
    assert rows[-1] == ("Yoga to 2026.2", newest)
    assert latest == sorted(set(latest))
    assert {release for release, _ in rows} >= {"Newton", "Stein", "Xena"}
    compared = UPSTREAM_PACKAGES[0]
    assert compared.replace("==", " ") + " only" in page("admin/upgrade")
    requirements = docs.ROOT / "placement/tests/functional/keystone/requirements.txt"
    assert f"{compared} " in requirements.read_text()


def test_each_command_has_a_page():
    settings = tomllib.loads((docs.ROOT / "pyproject.toml").read_text())
    files = {Path(path).name for path in settings["tool"]["setuptools"]["script-files"]}
    commands = files | set(settings["project"]["scripts"])
    assert {path.stem for path in (docs.SOURCE / "cli").glob("placement-*.rst")} == commands


def test_each_option_of_placement_api_is_described(capsys):
    from placement.cmd import api  # noqa: PLC0415  starts slowly

    with pytest.raises(SystemExit):
        api.parse(["--help"])
    options = set(re.findall(r"(--[a-z0-9-]+)", capsys.readouterr().out)) - {"--help"}
    described = set(re.findall(r"^\.\. option:: (\S+)", page("cli/placement-api"), re.MULTILINE))
    assert described == options


def test_each_option_of_placement_compare_is_described():
    declared = {name for action in compare._parser()._actions for name in action.option_strings}
    described = re.findall(r"^\.\. option:: (\S+)", page("cli/placement-compare"), re.MULTILINE)
    assert set(described) == declared - {"-h", "--help"}


def test_each_subcommand_of_placement_manage_has_a_section():
    from placement.cmd import manage  # noqa: PLC0415  starts slowly

    categories = argparse.ArgumentParser().add_subparsers()
    manage._add_categories(categories)
    (names,) = [
        action.choices
        for action in categories.choices["db"]._actions
        if isinstance(action, argparse._SubParsersAction)
    ]
    text = page("cli/placement-manage")
    sections = set(re.findall(r"^placement-manage db (\w+).*\n=+$", text, re.MULTILINE))
    assert sections == set(names)


def test_each_upgrade_check_and_data_migration_is_described():
    for name, _ in status.Checks._upgrade_checks:
        assert name in page("cli/placement-status")
    for name in data_migrations.all_of(IncompleteConsumer("", "")):
        assert name in page("cli/placement-manage")


def test_each_revision_of_the_schema_is_described():
    files = (PACKAGE / "db/schema/alembic/versions").glob("*_*.py")
    revisions = {path.name.partition("_")[0] for path in files} - {""}
    assert all(f"``{revision}``" in page("admin/upgrade") for revision in revisions)


def test_the_code_map_names_each_package_and_module_once():
    entries = r"^``(placement(?:_insight)?\.[\w.]+|placement_insight)``$"
    named = Counter(re.findall(entries, page("contributor/architecture"), re.MULTILINE))
    modules = {f"placement.{path.stem}" for path in PACKAGE.glob("*.py")} - {"placement.__init__"}
    assert named == Counter(packages() | modules)


def packages():
    """Return the packages of the code map, without the packages of the tests."""
    names = {
        ".".join(path.parent.relative_to(docs.ROOT).parts)
        for storey in STOREYS
        for path in storey.rglob("__init__.py")
    }
    outside = ("placement.tests.", "placement_insight.tests.", "placement.db.schema.alembic.")
    kept = {name for name in names if not name.startswith(outside)}
    return kept - {"placement", "placement_insight.tests"}


def test_the_import_table_has_a_row_for_each_rule(reference):
    rows = re.findall(r"^   \* - ``(.+)``$", "\n".join(reference.import_lines()), re.MULTILINE)
    assert rows == sorted(INTERNAL | upper.INTERNAL)
    assert "     - ``core``, ``exception``" in reference.import_lines()


def test_each_module_has_a_docstring(reference):
    undocumented = [
        path
        for package in packages() - {"placement.schemas", "placement.db.schema.alembic"}
        for path in (docs.ROOT / package.replace(".", "/")).glob("*.py")
        if path.stem != "__init__" and not reference.first_sentence(path)
    ]
    assert undocumented == []


def test_the_interface_for_other_projects_is_described():
    from placement.tests.functional.fixtures.placement import (  # noqa: PLC0415
        PlacementFixture,
    )

    text = page("contributor/tests-of-other-projects")
    arguments = set(inspect.signature(PlacementFixture).parameters)
    with PlacementFixture() as fixture:
        attributes = {name for name in vars(fixture) if not name.startswith("_")}
    assert {name for name in arguments | attributes if f"``{name}``" not in text} == set()


def test_each_example_for_other_projects_is_shown():
    examples = PACKAGE / "tests" / "functional" / "fixtures" / "test_as_documented.py"
    classes = re.findall(r"^class (\w+)", examples.read_text(), re.MULTILINE)
    shown = re.findall(
        r":pyobject: (\w+)$", page("contributor/tests-of-other-projects"), re.MULTILINE
    )
    assert sorted(shown) == sorted(classes)


def test_each_message_quoted_in_troubleshooting_is_one_of_the_service():
    constants = {
        node.value
        for storey in STOREYS
        for path in storey.rglob("*.py")
        if "tests" not in path.relative_to(storey).parts
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    quoted = re.findall(r'"([^"]+)"', page("admin/troubleshooting"))
    fragments = [part.strip() for text in quoted for part in text.split("...") if part]
    of_nova = {"No valid host was found"}
    unknown = [part for part in fragments if not any(part in text for text in constants)]
    assert set(unknown) - of_nova == set()
    assert len(fragments) >= 7


def test_the_memory_of_the_sizing_page_covers_what_is_measured():
    text = " ".join(page("admin/sizing").split())
    plan = re.search(
        r"Plan (\d+) MB per process and ([\d.]+) kB per nested provider.*and ([\d.]+) kB per host",
        text,
    )
    process, nested, flat = map(float, plan.groups())
    growth = re.findall(
        r'^"([\d,]+)",.*,(\d+) MB,\d+ MB,\d+$',
        (docs.SOURCE / "contributor" / "performance-growth-memory.csv").read_text(),
        re.MULTILINE,
    )
    served = re.findall(  # the first column is that of openstack-placement
        r'^"memory of a process, ([\d,]+) flat hosts",[\d.]+ MB,,([\d.]+) MB',
        (docs.SOURCE / "contributor" / "performance.csv").read_text(),
        re.MULTILINE,
    )
    assert len(growth) == 5
    assert len(served) == 3
    for rows, of_provider in ((growth, nested), (served, flat)):
        for providers, measured in rows:
            planned = process + of_provider * int(providers.replace(",", "")) / 1000
            assert float(measured) < planned < 2 * float(measured), providers


def test_the_cores_of_the_sizing_page_are_those_of_the_service_and_of_the_database():
    measured = re.search(
        r'^"nova\'s minute.*this service: ([\d.]+) of it the service, ([\d.]+) the database',
        (docs.SOURCE / "contributor" / "performance.csv").read_text(),
        re.MULTILINE,
    )
    rows = re.findall(
        r"^ +\* - ([\d,]+)\n +- [\d,]+\n +- ([\d.]+)\n +- ([\d.]+)$",
        page("admin/sizing"),
        re.MULTILINE,
    )
    assert len(rows) == 3
    for computes, *planned in rows:
        factor = int(computes.replace(",", "")) / 10_000
        expected = [float(cores) * factor for cores in measured.groups()]
        assert list(map(float, planned)) == pytest.approx(expected, abs=0.006), computes


def test_the_comparison_names_each_row_in_which_this_service_is_not_clearly_better():
    rows = csv.reader((docs.SOURCE / "contributor" / "performance.csv").read_text().splitlines())
    _, _, disadvantages = page("admin/comparison").partition("Disadvantages")
    poor = [row[0] for row in rows if re.fullmatch(r"0\.\d+|1(\.\d)?", row[5])]
    assert len(poor) == 5
    assert [row for row in poor if f"   {row}\n" not in disadvantages] == []


def test_the_glossary_defines_the_terms_of_the_api():
    terms = set(re.findall(r"^   (\w[\w /-]*)$", page("glossary"), re.MULTILINE))
    assert terms >= {"provider", "inventory", "allocation", "consumer", "candidate", "generation"}
    assert len(terms) >= 40


def test_links_lead_to_this_machine_or_reserved_names():
    """The documentation has no links to other sites, which the tests could not check."""
    files = [docs.ROOT / "README.rst", *docs.SOURCE.rglob("*.rst")]
    files += (docs.ROOT / "releasenotes" / "notes").glob("*.yaml")
    urls = [
        url for path in files for url in re.findall(r"https?://[^\s`'\"<>)\]]+", path.read_text())
    ]
    hosts = Counter(urlsplit(url).hostname for url in urls)
    foreign = {host for host in hosts if host is None or not is_reserved(host)}
    assert foreign == {"UUID".lower()}  # a header in the page of error codes
    assert hosts["127.0.0.1"] > 5


def is_reserved(host):
    return host == "127.0.0.1" or host.endswith((".example.org", ".example.com"))


def test_each_module_of_the_tests_support_is_listed():
    lines = re.findall(r"^``.*``$", page("contributor/testing"), re.MULTILINE)
    modules = {
        path.stem for storey in STOREYS for path in (storey / "tests/support").glob("[a-z]*.py")
    }
    assert modules <= set(re.findall(r"``(\w+)``", "".join(lines)))


SECURITY = (docs.SOURCE / "admin" / "security.rst").read_text()


def test_the_tests_that_hold_the_protections_exist():
    named = set(re.findall(r"``(test_\w+)``", SECURITY))
    tests = "".join(
        path.read_text() for storey in STOREYS for path in (storey / "tests").rglob("test_*.py")
    )
    assert {name for name in named if f"def {name}(" not in tests} == set()


def test_each_section_and_each_row_of_the_threat_model_names_its_tests():
    threat_model, *sections = re.split(r"\n.+\n[=-]{3,}\n", SECURITY)[3:]
    rows = [row.rpartition("\n     - ")[2] for row in threat_model.split("\n   * - ")[2:]]
    assert (len(rows), len(sections)) == (11, 6)
    assert [each for each in (*rows, *sections) if "``test_" not in each] == []
