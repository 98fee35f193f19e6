"""The examples of the page about "No valid host was found" are what the service prints."""

import json
import os
import re
import shlex
import textwrap
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import os_traits
import pytest
import webob

from placement.objects import aggregate, provider, resource_class, trait
from placement.tests.support.factories import claim, generation, set_inventories, uuid
from placement.tests.support.worlds import aggregate_uuid, provider_uuid, world
from placement_insight.explain.requirements import CODES
from placement_insight.tests.functional.docs.pages import executed
from placement_insight.tests.support.openstack_client import Client, served

PAGE = Path(__file__).parents[4] / "doc/source/admin/troubleshooting-no-valid-host.rst"
BLOCK = re.compile(
    r"^\.\. world:: \w+\n\n(?P<world>(?:(?:   .*)?\n)+)"
    r"|^   \$ (?P<command>openstack .* explain -c (?:.*\\\n)+.*)\n(?P<output>(?:   .*\n)+)",
    re.MULTILINE,
)
COMMANDS = executed(
    "admin/troubleshooting-no-valid-host", *(f"``{code}``" for code in CODES), matching="openstack"
)
WRITE = os.environ.get("DOCS_SAMPLES") == "write"


class Example(NamedTuple):
    section: str
    diagram: str
    command: str
    output: str


def examples():
    text, diagram = PAGE.read_text(), ""
    for block in BLOCK.finditer(text):
        if block["world"]:
            diagram = block["world"]
            continue
        section = re.findall(r"^``(\w+)``\n-+$", text[: block.start()], re.MULTILINE)[-1]
        yield Example(section, diagram, block["command"], block["output"])


EXAMPLES = list(examples())


def created(store, states):
    """Create these providers; their usage is that of one consumer each."""
    for state in states:
        own, name = state.provider.uuid, state.provider.name
        provider.create(store, own, name, state.provider.parent_uuid)
        for kind in state.inventories:
            if kind.startswith("CUSTOM_"):
                resource_class.ensure(store, kind)
        for custom in state.traits - set(os_traits.get_traits()):
            trait.ensure(store, custom)
        set_inventories(store, own, **state.inventories)
        trait.replace(store, own, generation(store, own), sorted(state.traits))
        aggregate.replace(store, own, sorted(state.aggregates), generation(store, own))
        used = {kind: amount for kind, amount in state.used.items() if amount}
        if used:
            claim(store, uuid(), {own: used})


def with_names(application, uuids):
    """Return a service whose clients send and receive ``{name}`` in place of these UUIDs."""

    def service(environ, start_response):
        for name, own in uuids.items():
            sent = environ["QUERY_STRING"].replace(quote(f"{{{name}}}"), own)
            environ["QUERY_STRING"] = sent
        response = webob.Request(environ).get_response(application)
        for name, own in uuids.items():  # the width of columns depends on them
            response.text = response.text.replace(own, f"{{{name}}}")
        return response(environ, start_response)

    return service


@pytest.fixture
def run(store, application):
    """Return a function that runs the command of an example: the table, and the document."""

    def run(example):
        created(store, world(textwrap.dedent(example.diagram)))
        uuids = {
            name: provider_uuid(name) if "host" in name else aggregate_uuid(name)
            for name in re.findall(r"\{(\w+)\}", example.command)
        }
        _, *words = shlex.split(example.command.replace("\\\n   >", ""))
        with served(with_names(application, uuids)) as url:
            openstack = Client(url, version=None)
            shown, document = (openstack.run(*words, *format_) for format_ in ((), ("-f", "json")))
        assert shown.returncode == 0, shown.stderr
        return shown.stdout, json.loads(document.stdout)

    return run


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.section)
@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_an_example_prints_what_the_page_shows(example, run):
    table, document = run(example)
    printed = textwrap.indent(table, "   ")
    if WRITE:
        shown = f"{example.command}\n{example.output}"
        PAGE.write_text(PAGE.read_text().replace(shown, f"{example.command}\n{printed}"))
    else:
        assert printed == example.output
    assert example.section in {row["code"] for row in document["funnel"]}
    assert document["funnel"][-1]["left"] == 0


def test_each_reason_code_has_an_example():
    assert [example.section for example in EXAMPLES] == list(CODES)
    shown = [re.sub(r" *\\\n   > *", " ", example.command) for example in EXAMPLES]
    assert shown == [re.sub(" +", " ", command) for command in COMMANDS]
