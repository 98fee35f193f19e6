"""Whoever reads requirements loops over them, and no text or code is read instead of a value."""

import ast
import sys

import pytest

from placement.core import requirement as core
from placement.core.requirement import GROUP_ORDER, ProviderRequirement
from placement.tests.support.sources import modules_of, name_of, tree_of
from placement_insight.audit.kinds import KINDS
from placement_insight.explain.records import refusals
from placement_insight.explain.requirements import CODES, REQUIREMENTS

MODULES = [*modules_of("placement"), *modules_of("placement_insight")]

# A module that names a class of requirements, and why a loop does not do: one class more has to be
# considered there. Whoever else needs to know a kind gives the class a property.
NAMED_IN = {
    "core.request": "isolate, same_subtree and nested, which the search and the responses read",
    "core.search.filters": "several MemberOf of the unsuffixed group make an InEach; Amount",
    "placement_insight.explain.causes": "what an earlier state of a provider has to have",
    "placement_insight.explain.changes": "a group without resources leaves its same_subtree",
    "placement_insight.explain.closest_assignment": "an absent inventory: counts twice, was added",
    "placement_insight.explain.groups": "with one suffixed group, isolate is no condition",
    "placement_insight.explain.provider_facts": "the facts of an amount are not those of a trait",
    "placement_insight.explain.remedies": "same_subtree that the API requires",
    "placement_insight.explain.unmet": "the facts of an amount are not those of a trait",
    "parse.candidates": "creates them",
    "parse.group": "creates them",
    "parse.resource_provider": "creates them",
}
OF_FEATURES = (
    "core",
    "parse",
    "render",
    "placement_insight.explain",
    "placement_insight.explain.records",
    "placement_insight.page.feed",
)


def kinds_below(base):
    for kind in base.__subclasses__():
        yield kind
        yield from kinds_below(kind)


def concrete():
    # dataclasses with slots replace the class in its module
    kinds = (getattr(sys.modules[each.__module__], each.__name__) for each in subclasses())
    return {kind for kind in kinds if "code" in vars(kind)}


def subclasses():
    return kinds_below(core.Requirement)


CLASSES = {kind.__name__ for kind in concrete() if kind.__module__ == core.__name__}


def modules():
    for path in MODULES:
        if name_of(path).startswith(OF_FEATURES) and name_of(path) != "core.requirement":
            yield name_of(path), tree_of(path)


def test_every_kind_has_a_place_in_the_funnel():
    assert concrete() == set(REQUIREMENTS)
    assert {kind.code for kind in concrete()} == set(CODES)


def test_every_kind_of_a_group_has_a_place_in_its_order():
    """A kind that the root or a derived condition has is not sorted."""
    of_groups = {kind for kind in concrete() if issubclass(kind, ProviderRequirement)}
    of_root = {kind for kind in of_groups if kind.parameter.startswith("root_")}
    assert of_groups - of_root - {core.InEach} == set(GROUP_ORDER)


@pytest.mark.parametrize("kind", sorted(REQUIREMENTS, key=lambda kind: kind.__name__))
def test_every_kind_has_its_words(kind):
    assert kind.__doc__
    assert "unmet_form" in dir(kind) or kind.unmet is not core.Requirement.unmet


def test_others_loop_over_requirements():
    naming = {
        name
        for name, tree in modules()
        if {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} & CLASSES
    }
    assert naming == NAMED_IN.keys()


def texts(node):
    """Yield the constant strings that an expression or a pattern compares."""
    match node:
        case ast.Compare():
            operands = [node.left, *node.comparators]
            constants = [each for operand in operands for each in ast.walk(operand)]
        case ast.MatchValue():
            constants = [node.value]
        case _:
            constants = []
    for each in constants:
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            yield each.value


def test_no_code_is_compared_as_a_string():
    compared = {
        (name, text)
        for name, tree in modules()
        for node in ast.walk(tree)
        for text in texts(node)
        if text in CODES
    }
    # the tokens of a query, which parse reads
    assert compared == {
        ("parse.candidates", "in_tree"),
        ("parse.candidates", "isolate"),
        ("parse.resource_provider", "in_tree"),
    }


def test_no_code_of_a_finding_or_a_refusal_is_compared_as_a_string():
    """Their classes have the codes, and whoever decides on one names the class."""
    codes = {*KINDS, *refusals.CODES, *refusals.RACES}
    assert not [
        (name_of(path), text)
        for path in MODULES
        for node in ast.walk(tree_of(path))
        for text in texts(node)
        if text in codes
    ]


def test_no_spelled_requirement_is_read_again():
    reading = {"partition", "rpartition", "startswith", "removeprefix", "findall", "replace"}
    found = set()
    for name, tree in modules():
        if name.startswith("parse"):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                constants = [each.value for each in node.args if isinstance(each, ast.Constant)]
                if node.func.attr in reading and set(constants) & {"=", "!", "in:", "resources"}:
                    found.add(name)
            found |= {name for text in texts(node) if text in {"=!", "!", "in:"}}
    # the value of an option: --resource VCPU=4
    assert found == {"placement_insight.explain.command"}


# A module that takes a text apart, and whose text it is: the service, and files that it wrote, are
# read as values. A sentence of the service is only divided into lines, or gets the names of UUIDs
# that only the client knows.
READ_IN = {
    "audit.command": "a number in an option",
    "audit.live_sources": "a list in a file of the operator",
    "audit.names": "names of providers and consumer types, for similar ones",
    "audit.nova": "the first line of an error of openstacksdk",
    "audit.repair.plan_file": "the lines of a plan, of JSON each",
    "cli.client": "a URL in an error of keystoneauth",
    "cli.command": "the docstring of a command, for its help",
    "cli.consumers": "a number in an option",
    "cli.mixes": "values of options",
    "cli.names": "the value of an option; the first line of an error of openstacksdk",
    "cli.tables": "lines that are too long for a table",
    "cli.whatif": "values of options, an output of nova-manage, and lines",
    "explain.command": "values of options",
    "explain.explain": "the suffix of a group in a request",
    "explain.records.recorder": "the first line of an error of a database driver",
    "explain.records.summary": "names in a column, as the same module joined them",
    "explain.unknown_names": "an unknown name, for similar ones",
    "fitted_tables": "lines that are too long for a terminal",
    "http": "a header of a request",
    "names": "names of hosts; UUIDs in a sentence or a query, whose names are added",
    "page.feed.http": "a parameter of a request",
    "page.proxy": "a path and a header of a request",
    "plan.capacity.flavors": "extra specs of a flavor; an error of openstacksdk",
    "plan.capacity.http": "parameters of a request",
    "plan.http": "a parameter of a request",
    "plan.sql": "rows that the database grouped in one text",
    "times": "a time in an option or a parameter",
}
READING = {
    *("partition", "rpartition", "split", "rsplit", "splitlines"),
    *("fullmatch", "findall", "finditer", "match", "search", "sub"),
}


def test_no_text_is_taken_apart_again():
    found = {
        name_of(path).removeprefix("placement_insight.")
        for path in modules_of("placement_insight")
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in READING
    }
    assert found == READ_IN.keys()
