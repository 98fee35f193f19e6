"""The most expensive known requests for candidates: ``make stress``.

Each is parsed, searched and rendered, and explained if it has no candidates, in this process,
without HTTP and database. Whatever the request, the response is complete, or the search
aborted, at most a second of CPU time after the deadline of the search.
"""

import os
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial

import pytest

from placement.core.request import SearchSettings
from placement.core.search.deadline import Deadline
from placement.core.search.search import search
from placement.core.snapshot.snapshot import Snapshot
from placement.exception import SearchDeadlineExceeded
from placement.microversion import MAX_VERSION, Version
from placement.parse.candidates import candidate_request
from placement.render.candidates import pieces
from placement.tests.support.queries import pairs, snapshot_of
from placement_insight.explain.explain import BUDGET_SECONDS as EXPLAINING_SECONDS
from placement_insight.explain.explain import Question, explain

pytestmark = pytest.mark.long

GRACE_SECONDS = 1.0
BEFORE_TREES = Version(1, 10)
ORDERED = SearchSettings()
AT_RANDOM = SearchSettings(randomize=True)
SnapshotFactory = Callable[[], Snapshot]


@dataclass(frozen=True)
class Case:
    """One request over one snapshot."""

    name: str
    snapshot_factory: SnapshotFactory
    query: str
    settings: SearchSettings = ORDERED
    version: Version = MAX_VERSION


# --- snapshots -----------------------------------------------------------------


def tree(devices: int, line: Callable[[int], str], hosts: int = 1) -> SnapshotFactory:
    """Hosts with devices, each described by a function of its number."""
    layout = "\n".join(
        "\n".join([f"cn{host} VCPU=64", *(f"  d{host}x{n} {line(n)}" for n in range(devices))])
        for host in range(hosts)
    )
    return cache(partial(snapshot_of, layout))


def deep(levels: int, width: int) -> SnapshotFactory:
    """A tree in which each provider has ``width`` children, down to a level."""

    def below(name: str, level: int) -> Iterator[str]:
        yield f"{'  ' * level}{name} VGPU=4 +CUSTOM_L{level}"
        for n in range(width if level < levels else 0):
            yield from below(f"{name}_{n}", level + 1)

    return cache(lambda: snapshot_of("\n".join(below("top", 0))))


def sharers(count: int, aggregates: int, hosts: int) -> SnapshotFactory:
    """Hosts and sharing providers, each in all aggregates except one."""

    def member(number: int) -> str:
        return " ".join(f"@a{n}" for n in range(aggregates) if n != number % aggregates)

    lines = [f"ss{n} DISK_GB=9 +MISC_SHARES_VIA_AGGREGATE {member(n)}" for n in range(count)]
    lines += [f"cn{n} VCPU=8 {member(n)}" for n in range(hosts)]
    return cache(lambda: snapshot_of("\n".join(lines)))


def named(traits: int, aggregates: int) -> SnapshotFactory:
    """10,000 hosts with one of the traits and aggregates each, and one host with all."""
    lines = [
        f"cn{n} VCPU=8 CUSTOM_C{n % 200}=9 +CUSTOM_T{n % traits} @a{n % aggregates}"
        for n in range(10_000)
    ]
    everything = [f"+CUSTOM_T{n}" for n in range(traits)] + [f"@a{n}" for n in range(aggregates)]
    return cache(lambda: snapshot_of("\n".join([*lines, f"all VCPU=8 {' '.join(everything)}"])))


ONE_EACH = tree(64, lambda _: "VGPU=1")
BINS = tree(12, lambda n: f"VGPU={17 + n % 3} FPGA={11 + n % 4}")
WIDE = tree(2000, lambda n: f"VGPU=1 FPGA=1 +CUSTOM_P{n % 7}")
MANY = tree(8, lambda n: f"VGPU={1 + n % 3} +CUSTOM_P{n % 3}", hosts=2000)
PAIRS = tree(40, lambda n: f"VGPU=1 +CUSTOM_A{n // 2} +CUSTOM_B{(n + 1) // 2 % 20}")
DEEP = deep(9, 2)
SHARED = sharers(200, 60, 300)
NAMED = named(1000, 1000)


# --- requests ------------------------------------------------------------------


def groups(count: int, policy: str, part: Callable[[int], str]) -> str:
    """Groups, each described by a function of its number."""
    return "&".join([part(n) for n in range(count)] + [f"group_policy={policy}"])


def two_classes(n: int) -> str:
    """Amounts that nearly fill, or just overfill, twelve bins."""
    return f"resources_{n}=VGPU:{5 + n * 7 % 6},FPGA:{3 + n * 5 % 4}"


def cases() -> Iterator[Case]:
    """All requests, by the reason of their cost."""
    one = "resources_{0}=VGPU:1".format
    yield Case("packing: 24 groups of two classes", BINS, groups(24, "none", two_classes))
    yield Case("packing: 28 groups, limit=1", BINS, groups(28, "none", two_classes) + "&limit=1")
    yield Case("packing: 40 groups, too many", BINS, groups(40, "none", two_classes))
    yield Case("64 isolated groups on 64 devices", ONE_EACH, groups(64, "isolate", one))
    yield Case("64 groups, limit=1000", ONE_EACH, groups(64, "isolate", one) + "&limit=1000")
    yield Case("65 isolated groups on 64 devices", ONE_EACH, groups(65, "isolate", one))
    yield Case("65 groups on 64 devices", ONE_EACH, groups(65, "none", one))
    yield Case("64 groups at random", ONE_EACH, groups(64, "none", one) + "&limit=100", AT_RANDOM)
    yield from matching_cases()
    yield from subtree_cases()
    yield from growing_cases()
    yield from long_queries()


def matching_cases() -> Iterator[Case]:
    """Isolated groups whose options overlap, and are just enough or one too few."""

    def pair(n: int) -> str:
        return f"resources_{n}=VGPU:1&required_{n}=CUSTOM_{'AB'[n % 2]}{n // 2}"

    query = groups(40, "isolate", pair)
    yield Case("matching: a ring of 40", PAIRS, query + "&limit=1000")
    yield Case("matching: a ring of 40, one too many", PAIRS, query + "&resources_x=VGPU:1")
    query = groups(300, "isolate", lambda n: f"{one_of_seven(n)}&resources_{n}=VGPU:1")
    yield Case("matching: 300 groups on 2,000 devices", WIDE, query + "&limit=10")
    yield Case("the same without a limit", WIDE, query)


def one_of_seven(n: int) -> str:
    """Two kinds of seven, so that options overlap."""
    return f"required_{n}=in:CUSTOM_P{n % 7},CUSTOM_P{(n + 1) % 7}"


def subtree_cases() -> Iterator[Case]:
    """Chains through deep trees, siblings above each other, groups without resources."""
    some = [f"resources_{n}=VGPU:1" for n in range(12)]
    chain = [f"same_subtree=_{n},_{n + 1}" for n in range(11)]
    apart = "group_policy=isolate"
    yield Case("subtrees: a chain of 12", DEEP, "&".join([*some, *chain, apart]))
    yield Case("subtrees: and limit=10", DEEP, "&".join([*some, *chain, apart, "limit=10"]))
    loop = [*chain, "same_subtree=_0,_11"]
    full = [text.replace(":1", ":3") for text in some]
    yield Case(
        "subtrees: a loop, not isolated", DEEP, "&".join([*full, *loop, "group_policy=none"])
    )
    empty = [f"required_e{n}=!CUSTOM_L{n % 10}" for n in range(52)]
    named = "same_subtree=" + ",".join(f"_e{n}" for n in range(52))
    for policy in ("isolate", "none"):
        query = "&".join([*some, *empty, named, f"group_policy={policy}"])
        yield Case(f"52 groups without resources, {policy}", DEEP, query)
    flat = "same_subtree=" + ",".join(f"_{n}" for n in range(64))
    query = f"{groups(64, 'isolate', 'resources_{0}=VGPU:1'.format)}&{flat}&limit=5"
    yield Case("64 of 2,000 siblings under one of them", WIDE, query)


def growing_cases() -> Iterator[Case]:
    """Very large responses, and hosts that share all aggregates."""
    two = "resources=VGPU:1,FPGA:1"
    everything = f"{two}&resources_1=VGPU:1"
    yield Case("four million candidates", WIDE, two)
    yield Case("the same below 1.29", WIDE, two, version=BEFORE_TREES)
    yield Case("eight billion candidates", WIDE, everything)
    yield Case("eight billion candidates at random", WIDE, everything + "&limit=10", AT_RANDOM)
    three = "&".join(f"resources_{n}=VGPU:1" for n in range(3)) + "&group_policy=none"
    yield Case("a million candidates of 2,000 hosts", MANY, three)
    yield Case("the same at random", MANY, three + "&limit=1000", AT_RANDOM)
    yield Case(
        "200 sharing providers, 300 hosts, 60 aggregates", SHARED, "resources=VCPU:1,DISK_GB:1"
    )
    yield Case("the same at 1.10", SHARED, "resources=VCPU:1,DISK_GB:1",
               version=BEFORE_TREES)  # fmt: skip
    shares = groups(8, "isolate", "resources_{0}=DISK_GB:1".format)
    yield Case("the same, eight isolated groups of shared disk", SHARED, shares + "&limit=1000")
    yield Case("the same, none fits", SHARED, groups(8, "none", "resources_{0}=DISK_GB:9".format)
               + "&resources=DISK_GB:9,VCPU:9")  # fmt: skip


def long_queries() -> Iterator[Case]:
    """Queries of tens of thousands of characters to 10,000 hosts."""
    traits = [f"CUSTOM_T{n}" for n in range(1000)]
    uuids = ",".join(f"@a{n}" for n in range(1000))
    yield Case("1,000 required traits", NAMED, f"resources=VCPU:1&required={','.join(traits)}")
    none = ",".join(f"!{name}" for name in traits)
    yield Case("1,000 forbidden traits", NAMED, f"resources=VCPU:1&required={none}")
    query = f"in:{','.join(traits)}"
    yield Case("one of 1,000 traits", NAMED, f"resources=VCPU:1&required={query}")
    lists = "&".join(f"required=in:{','.join(traits[n:])}" for n in range(50))
    yield Case("50 lists of 1,000 traits", NAMED, f"resources=VCPU:1&{lists}")
    yield Case("one of 1,000 aggregates", NAMED, f"resources=VCPU:1&member_of=in:{uuids}")
    yield Case("1,000 forbidden aggregates", NAMED, f"resources=VCPU:1&member_of=!in:{uuids}")
    again = "&".join(["resources=VCPU:1", "required=CUSTOM_T1", "member_of=@a1"] * 3000)
    yield Case("each parameter 3,000 times", NAMED, again)
    classes = ",".join(f"CUSTOM_C{n}:1" for n in range(200))
    query = f"resources_1={classes}&required_1={','.join(traits)}"
    yield Case("200 classes and 1,000 traits", NAMED, query)
    distinct = groups(1000, "isolate", lambda n: f"resources_{n}=VCPU:1&required_{n}=CUSTOM_T{n}")
    yield Case("1,000 groups of a trait each", NAMED, distinct)
    same = "&same_subtree=" + ",".join(f"_{n}" for n in range(1000))
    yield Case("the same in one subtree", NAMED, distinct + same * 3)


# --- running -------------------------------------------------------------------


@pytest.mark.skipif("STRESS_SECONDS" not in os.environ, reason="takes minutes: make stress")
@pytest.mark.xdist_group("worst requests")  # they share the snapshots
@pytest.mark.parametrize("case", list(cases()), ids=lambda case: case.name)
def test_the_response_is_complete_or_aborted_in_time(case):
    snapshot, now = case.snapshot_factory(), time.process_time
    began = now()
    outcome = respond(case, snapshot, now)
    seconds = now() - began
    print(f"{seconds:.2f} s, {outcome}: {case.name}")
    assert seconds < case.settings.budget_seconds + GRACE_SECONDS


def respond(case: Case, snapshot: Snapshot, now: Callable[[], float]) -> str:
    """Respond as the service does; return what came of it."""
    request = candidate_request(pairs(case.query), case.version)
    deadline = Deadline(case.settings.budget_seconds, now)
    rng = random.Random(7) if case.settings.randomize else None
    try:
        found = search(snapshot, request, case.settings, deadline, rng=rng)
        if not found.candidates:
            explain(
                snapshot, Question(request, "", MAX_VERSION), Deadline(EXPLAINING_SECONDS, now)
            )
        b"".join(pieces(found, request, case.version, deadline.check))
    except SearchDeadlineExceeded:
        return "aborted"
    return f"{len(found.candidates)} candidates"
