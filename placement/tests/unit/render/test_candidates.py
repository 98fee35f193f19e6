"""How candidates look as JSON: the same as a plain dictionary, at every microversion."""

import json
import tracemalloc
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from placement.core.model import Inventory, Provider, ProviderState
from placement.core.request import CandidateRequest, RequestGroup
from placement.core.search.candidates import Candidates, CandidateShape
from placement.core.snapshot.entries import ProviderEntry
from placement.http import response as http_response
from placement.microversion import VERSIONS, Version
from placement.render.candidates import pieces
from placement.tests.support.queries import Offer, Offers, allocations_of, mappings_of

SINCE_110 = VERSIONS[10:]
HOST, NODE, SHARE = (f"{digit * 8}-1111-2222-3333-444444444444" for digit in "abc")


def entry(uuid: str, parent: str | None, root: str, **parts: Any) -> ProviderEntry:
    provider = Provider(1, uuid, uuid, 0, parent, root)
    return ProviderEntry(
        ProviderState(
            provider,
            inventories=parts.get("inventories", {}),
            used=parts.get("used", {}),
            traits=frozenset(parts.get("traits", ())),
            aggregates=frozenset(),
        )
    )


REQUEST = CandidateRequest(
    groups=(
        RequestGroup(resources={"VCPU": 2, "DISK_GB": 5}),
        RequestGroup(suffix="_G", resources={"VGPU": 1}),
        RequestGroup(suffix="_N"),
    )
)
SHARED = CandidateShape(
    allocations=({"VCPU": 2, "VGPU": 1}, {"DISK_GB": 5}),
    mappings={"": (0, 1), "_G": (0,), "_N": (2,)},
)
ALONE = CandidateShape(allocations=({"VCPU": 2, "DISK_GB": 5},), mappings={"": (0,)})
ODD = CandidateShape(allocations=({'CUSTOM_100%_"': 1},), mappings={"%s": (0,)})
FOUND = Candidates(
    candidates=(
        (SHARED, (1, 2, 0)),
        (ALONE, (0,)),
        (ALONE, (2,)),
        (ODD, (1,)),
    ),
    summaries=(
        entry(HOST, None, HOST, traits=("CUSTOM_A", "HW_B", "HW_A")),
        entry(
            NODE,
            HOST,
            HOST,
            inventories={
                "VCPU": Inventory(total=100, reserved=0, allocation_ratio=1.15),
                "VGPU": Inventory(total=2),
                "FPGA": Inventory(total=9, reserved=1),
            },
            used={"VCPU": 7},
        ),
        entry(
            SHARE, None, SHARE, inventories={"DISK_GB": Inventory(10**9, allocation_ratio=1e30)}
        ),
    ),
    uuids=(HOST, NODE, SHARE),
)


def body(candidates: Candidates, version: Version) -> bytes:
    return b"".join(pieces(candidates, REQUEST, version, lambda: None))


def plainly(candidates: Candidates, request: CandidateRequest, version: Version) -> dict[str, Any]:
    """Say candidates the long way, as the interface describes them."""
    return {
        "allocation_requests": [
            candidate(each, version) for each in Offers.of(candidates).candidates
        ],
        "provider_summaries": {
            each.state.provider.uuid: summary(each.state, request, version)
            for each in candidates.summaries
        },
    }


def candidate(each: Offer, version: Version) -> dict[str, Any]:
    allocations = allocations_of(each).items()
    shown: dict[str, Any] = {
        "allocations": {uuid: {"resources": amounts} for uuid, amounts in allocations}
    }
    if version < (1, 12):
        shown["allocations"] = [
            {"resource_provider": {"uuid": uuid}, "resources": amounts}
            for uuid, amounts in allocations
        ]
    if version >= (1, 34):
        shown["mappings"] = {suffix: list(served) for suffix, served in mappings_of(each).items()}
    return shown


def summary(state: ProviderState, request: CandidateRequest, version: Version) -> dict[str, Any]:
    requested = set().union(*(group.resources for group in request.groups))
    shown: dict[str, Any] = {
        "resources": {
            name: {
                "capacity": int((kept.total - kept.reserved) * kept.allocation_ratio),
                "used": state.used.get(name, 0),
            }
            for name, kept in state.inventories.items()
            if version >= (1, 27) or name in requested
        }
    }
    if version >= (1, 17):
        shown["traits"] = [name for name in ("HW_A", "HW_B", "CUSTOM_A") if name in state.traits]
    if version >= (1, 29):
        shown["parent_provider_uuid"] = state.provider.parent_uuid
        shown["root_provider_uuid"] = state.provider.root_uuid
    return shown


@pytest.mark.parametrize("version", SINCE_110, ids=str)
def test_each_version(version):
    expected = plainly(FOUND, REQUEST, version)
    assert json.loads(body(FOUND, version)) == expected


@pytest.mark.parametrize("version", SINCE_110, ids=str)
def test_text_that_is_kept_is_kept_apart_by_version(version):
    for warming in SINCE_110:
        body(FOUND, warming)
    expected = plainly(FOUND, REQUEST, version)
    assert json.loads(body(FOUND, version)) == expected


@pytest.mark.parametrize("version", SINCE_110, ids=str)
def test_none(version):
    assert json.loads(body(Candidates((), (), ()), version)) == {
        "allocation_requests": [],
        "provider_summaries": {},
    }


def test_equal_answers_are_equal_to_the_byte():
    again = replace(FOUND, summaries=tuple(ProviderEntry(each.state) for each in FOUND.summaries))
    bodies = {body(each, VERSIONS[-1]) for each in (FOUND, again)}
    assert len(bodies) == 1


def test_a_long_response_is_never_in_memory_as_a_whole(monkeypatch):
    """600 groups on 10,000 hosts, a query of 14 KB, took 750 MB for one response."""
    monkeypatch.setattr(http_response, "_LONGEST_IN_MEMORY_BYTES", 2**20)
    suffixes = [str(number) for number in range(1900)]
    groups = tuple(RequestGroup(suffix=suffix, resources={"VCPU": 1}) for suffix in suffixes)
    shape = CandidateShape(({"VCPU": 1900},), dict.fromkeys(suffixes, (0,)))
    hosts = [f"{number:08}-1111-2222-3333-444444444444" for number in range(200)]
    found = Candidates([(shape, (row,)) for row in range(len(hosts))], (), hosts)
    write = partial(pieces, found, CandidateRequest(groups), VERSIONS[-1])
    checks = []
    tracemalloc.start()
    try:
        body = http_response.body_of(write, lambda: checks.append(1))
        sent = sum(map(len, body.write()))
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert sent == body.length > 16 * 2**20
    assert peak_bytes < 8 * 2**20
    assert len(checks) >= 20, "the budget covers the rendering"
    document = json.loads(b"".join(body.write()))
    assert [list(each["allocations"]) for each in document["allocation_requests"]] == [
        [host] for host in hosts
    ]


def test_a_short_body_is_sent_as_a_whole():
    assert http_response.body_of(lambda _check: iter([b"a", b"b"]), lambda: None) == b"ab"
