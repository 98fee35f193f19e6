"""Impossible and surprising requests as operators try them, on a realistic cloud.

``requests_of_operators.txt`` has each request with the text that explains it; ``{name}`` is the
UUID of the provider or aggregate with this name. DOCS_SAMPLES=write writes the texts again.
"""

import json
import os
import re
import time
from pathlib import Path
from textwrap import indent
from typing import NamedTuple
from urllib.parse import parse_qsl

import numpy as np
import os_resource_classes
import os_traits
import pytest

from placement.core.search.deadline import Deadline
from placement.core.search.fitting_roots import FittingRoots
from placement.core.search.search import check_names
from placement.core.search.slots import SlottedRequest
from placement.exception import UnknownResourceClass, UnknownTrait
from placement.microversion import MAX_VERSION
from placement.parse.candidates import candidate_request
from placement.tests.support.provider_tables import snapshot_of_states
from placement.tests.support.worlds import aggregate_uuid, provider_uuid
from placement_insight.cli.explanation import current
from placement_insight.demo.cloud import MODELS, TENANTS, ZONES, cloud
from placement_insight.explain import unknown_names
from placement_insight.explain.explain import Question, explain

FILE = Path(__file__).with_name("requests_of_operators.txt")
CASE = re.compile(r"^# (?P<title>.*)\n\$ (?P<query>.*)\n(?P<text>(?:.+\n)*)", re.MULTILINE)
WRITE = os.environ.get("DOCS_SAMPLES") == "write"


class Case(NamedTuple):
    title: str
    query: str
    text: str


CASES = [Case(**case.groupdict()) for case in CASE.finditer(FILE.read_text())]

FIELDS = ("funnel", "near_misses", "remedies", "undetermined")
"""The fields of the openstack command."""

AGGREGATES = [*TENANTS, "tenant-empty", *ZONES, *(model.prefix for model in MODELS)]


class SmallCloud:
    """The cloud of 300 hosts, and the names of its providers and aggregates by UUID."""

    def __init__(self) -> None:
        built = cloud()
        providers = [state.provider for state in built.states]
        self.names = {provider.uuid: provider.name for provider in providers}
        self.names |= {aggregate_uuid(name): name for name in AGGREGATES}
        traits = {name for state in built.states for name in state.traits}
        self.snapshot = snapshot_of_states(
            built.states,
            class_names={*os_resource_classes.STANDARDS, "CUSTOM_GPU"},
            trait_names={*os_traits.get_traits(), *traits},
        )

    def uuid(self, name: str) -> str:
        provider = provider_uuid(name)
        return provider if provider in self.names else aggregate_uuid(name)

    def request(self, query: str):
        return candidate_request(parse_qsl(self.with_uuids(query)), MAX_VERSION)

    def with_uuids(self, query: str) -> str:
        return re.sub(r"\{(.*?)\}", lambda match: self.uuid(match[1]), query)

    def with_names(self, text: str) -> str:
        for uuid, name in self.names.items():
            text = text.replace(uuid, f"{{{name}}}")
        return text

    def explained(self, query: str):
        question = Question(
            self.request(query), self.with_uuids(query), MAX_VERSION, remedies=True
        )
        return explain(self.snapshot, question, Deadline(60, time.monotonic))

    def text(self, query: str) -> str:
        request = self.request(query)
        try:
            check_names(self.snapshot, request)
        except (UnknownTrait, UnknownResourceClass) as error:
            return unknown_names.unknown(error, self.snapshot, request).sentence
        document = json.dumps(self.explained(query).document())
        fields = current({**json.loads(self.with_names(document)), "microversion": "", "at": ""})
        texts = [(name, fields[name].human_readable()) for name in FIELDS]
        return "\n".join(f"{name}:\n{indent(text, '  ')}" for name, text in texts if text)


@pytest.fixture(scope="module")
def small_cloud():
    return SmallCloud()


@pytest.fixture(params=CASES, ids=lambda case: case.title.replace(" ", "-"))
def case(request):
    return request.param


def test_the_text_says_what_helps(small_cloud, case):
    text = small_cloud.text(case.query)
    if WRITE:
        before = f"# {case.title}\n$ {case.query}\n{case.text}"
        after = f"# {case.title}\n$ {case.query}\n{text}\n"
        FILE.write_text(FILE.read_text().replace(before, after))
    else:
        assert text == case.text.strip("\n")


def test_the_numbers_are_those_of_the_search(small_cloud, case):
    """The losses add up; each remedy is a query with as many hosts as the search finds."""
    try:
        explanation = small_cloud.explained(case.query)
    except (UnknownTrait, UnknownResourceClass):
        return
    assert not explanation.undetermined
    assert explanation.fits == 0
    assert sum(row.lost for row in explanation.funnel) == explanation.roots
    for remedy in explanation.remedies:
        slotted = SlottedRequest.of(small_cloud.request(remedy.query))
        fitting = FittingRoots(small_cloud.snapshot, Deadline(60, time.monotonic)).of(slotted)
        assert np.count_nonzero(fitting) == remedy.roots > 0


def test_there_are_34_requests():
    assert len(CASES) == len({case.query for case in CASES}) == 34
