"""The examples of the user guide return the candidates that the guide shows."""

import re
import textwrap
import time
from pathlib import Path
from typing import NamedTuple

import os_resource_classes
import os_traits
import pytest

from placement.core.request import SearchSettings
from placement.core.search.deadline import Deadline
from placement.core.search.search import search
from placement.microversion import MAX_VERSION, Version
from placement.parse.candidates import candidate_request
from placement.tests.support.provider_tables import snapshot_of_states
from placement.tests.support.queries import Offers, allocations_of
from placement.tests.support.worlds import aggregate_uuid, provider_uuid, world

GUIDE = Path(__file__).parents[4] / "doc" / "source" / "user"
DIRECTIVE = re.compile(
    r"^\.\. (?P<kind>world|candidates):: (?P<argument>.*\n(?:   \S.*\n)*?)"
    r"(?:   :version: (?P<version>\S+)\n)?\n(?P<content>(?:(?:   .*)?\n)+)",
    re.MULTILINE,
)


class Example(NamedTuple):
    place: str
    diagram: str
    query: str
    version: Version
    expected: list[str]


def examples():
    for page in sorted(GUIDE.glob("*.rst")):
        diagram = ""
        for directive in DIRECTIVE.finditer(page.read_text()):
            content = textwrap.dedent(directive["content"]).strip("\n")
            if directive["kind"] == "world":
                diagram = content
                continue
            query = "".join(directive["argument"].split())
            version = Version(*map(int, (directive["version"] or str(MAX_VERSION)).split(".")))
            expected = [] if content == "none" else content.splitlines()
            yield Example(f"{page.stem}:{query}", diagram, query, version, expected)


EXAMPLES = list(examples())


def shown(candidate, names):
    """Return a candidate in the notation of the guide."""
    amounts_by_name = {names[uuid]: amounts for uuid, amounts in allocations_of(candidate).items()}
    return " + ".join(
        f"{name}: " + ", ".join(f"{kind}={n}" for kind, n in sorted(amounts_by_name[name].items()))
        for name in sorted(amounts_by_name)
    )


def pairs_of(query, names):
    def uuid(name):
        return provider_uuid(name) if name in names.values() else aggregate_uuid(name)

    filled = re.sub(r"\{([^}]+)\}", lambda name: uuid(name[1]), query)
    return [tuple(pair.split("=", 1)) for pair in filled.split("&")]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.place)
def test_an_example_returns_the_candidates_that_it_shows(example):
    providers = world(example.diagram)
    names = {state.provider.uuid: state.provider.name for state in providers}
    snapshot = snapshot_of_states(
        providers,
        class_names=os_resource_classes.STANDARDS,
        trait_names=[*os_traits.get_traits(), "CUSTOM_TYPE1", "CUSTOM_TYPE2"],
    )
    request = candidate_request(pairs_of(example.query, names), example.version)
    result = search(snapshot, request, SearchSettings(), Deadline(60, time.monotonic))
    offers = Offers.of(result).candidates
    assert sorted(shown(offer, names) for offer in offers) == sorted(example.expected)


def test_every_example_of_the_guide_is_run():
    written = sum(page.read_text().count(".. candidates::") for page in GUIDE.glob("*.rst"))
    assert len(EXAMPLES) == written > 0
