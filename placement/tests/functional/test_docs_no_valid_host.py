"""The examples of the page about "No valid host was found" are what the service prints."""

import argparse
import json
import os
import re
import shlex
import textwrap
import time
from pathlib import Path
from typing import NamedTuple

import os_resource_classes
import os_traits
import pytest

from placement.cmd.explain import add_arguments
from placement.core.insight.explain import explain
from placement.core.insight.explanation import CODES
from placement.core.snapshot.snapshot import Snapshot
from placement.microversion import MAX_VERSION, parse
from placement.parse.candidates import candidate_request
from placement.render.explanation import as_json
from placement.render.explanation_text import as_text
from placement.tests.worlds import aggregate_uuid, provider_uuid, world

PAGE = Path(__file__).parents[3] / "doc/source/admin/troubleshooting-no-valid-host.rst"
BLOCK = re.compile(
    r"^\.\. world:: \w+\n\n(?P<world>(?:(?:   .*)?\n)+)"
    r"|^   \$ placement-manage explain (?P<command>.*)\n(?P<output>(?:(?:   .*)?\n)+)",
    re.MULTILINE,
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


def run(example):
    """Return the document and the text that the command prints, with names for UUIDs."""
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    arguments = parser.parse_args(shlex.split(example.command))
    states = world(textwrap.dedent(example.diagram))
    names = {}
    for name in re.findall(r"\{(\w+)\}", arguments.query):
        names[provider_uuid(name) if "host" in name else aggregate_uuid(name)] = name
    query = arguments.query
    for uuid, name in names.items():
        query = query.replace(f"{{{name}}}", uuid)
    version = parse(arguments.microversion or str(MAX_VERSION))
    explanation = explain(
        Snapshot.of(
            states,
            class_names=[*os_resource_classes.STANDARDS, "CUSTOM_GPU"],
            trait_names=[*os_traits.get_traits(), "CUSTOM_NUMA", "CUSTOM_FAST"],
        ),
        candidate_request([tuple(pair.split("=", 1)) for pair in query.split("&")], version),
        query=query,
        now=time.monotonic,
        budget_seconds=60,
        remedies=arguments.remedies,
    )
    text = json.dumps(as_json(explanation))
    for uuid, name in names.items():
        text = text.replace(uuid, f"{{{name}}}")
    document = json.loads(text)
    return document, as_text(document)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.section)
def test_an_example_prints_what_the_page_shows(example):
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
