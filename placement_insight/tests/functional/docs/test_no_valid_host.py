"""The examples of the page about "No valid host was found" are what the service prints."""

import json
import os
import re
import shlex
import textwrap
from pathlib import Path
from typing import NamedTuple

import os_traits
import pytest

from placement.cmd import manage
from placement.objects import aggregate, provider, resource_class, trait
from placement.tests.support.factories import claim, generation, set_inventories, uuid
from placement.tests.support.worlds import aggregate_uuid, provider_uuid, world
from placement_insight.explain.model import (
    CODES,
)
from placement_insight.explain.text import as_text
from placement_insight.tests.functional.docs.pages import executed

PAGE = Path(__file__).parents[4] / "doc/source/admin/troubleshooting-no-valid-host.rst"
BLOCK = re.compile(
    r"^\.\. world:: \w+\n\n(?P<world>(?:(?:   .*)?\n)+)"
    r"|^   \$ placement-manage explain (?P<command>.*)\n(?P<output>(?:(?:   .*)?\n)+)",
    re.MULTILINE,
)
COMMANDS = executed("admin/troubleshooting-no-valid-host", matching="placement-manage")
MANUAL = executed("cli/placement-manage")
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


@pytest.fixture
def run(store, database_url, monkeypatch, capsys):
    """Return a function that runs the command of an example; it prints names for UUIDs."""
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", database_url)

    def run(example):
        created(store, world(textwrap.dedent(example.diagram)))
        names = {
            provider_uuid(name) if "host" in name else aggregate_uuid(name): name
            for name in re.findall(r"\{(\w+)\}", example.command)
        }
        command = example.command
        for own, name in names.items():
            command = command.replace(f"{{{name}}}", own)
        texts = []
        for option in ([], ["--json"]):
            assert manage.main(["explain", *shlex.split(command), *option]) == 0
            texts.append(capsys.readouterr().out)
        text, document = texts
        assert text.strip() == as_text(json.loads(document)).strip()
        for own, name in names.items():  # the width of columns depends on them
            document = document.replace(own, f"{{{name}}}")
        named = json.loads(document)
        return named, as_text(named).strip()

    return run


MANUAL_HOSTS = """
   host1  VCPU=64(used=52)  +HW_CPU_X86_AVX2
   host2  VCPU=64
"""


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_the_example_of_the_manual_prints_what_it_shows(run):
    text = (PAGE.parents[1] / "cli" / "placement-manage.rst").read_text()
    shown = re.search(r"^   \$ placement-manage explain .*\n((?:   .+\n)+)", text, re.MULTILINE)[1]
    (command,) = MANUAL
    _, printed = run(
        Example("", MANUAL_HOSTS, command.removeprefix("placement-manage explain "), "")
    )
    assert printed == textwrap.dedent(shown).strip()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.section)
@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_an_example_prints_what_the_page_shows(example, run):
    document, text = run(example)
    if WRITE:
        shown = f"explain {example.command}\n{example.output}"
        printed = f"explain {example.command}\n{textwrap.indent(text, '   ')}\n\n"
        PAGE.write_text(PAGE.read_text().replace(shown, printed))
    else:
        assert textwrap.dedent(example.output).strip() == text
    assert example.section in {row["code"] for row in document["funnel"]}
    assert document["fits"] == 0


def test_each_reason_code_has_an_example():
    assert [example.section for example in EXAMPLES] == list(CODES)
    assert [f"placement-manage explain {example.command}" for example in EXAMPLES] == COMMANDS
