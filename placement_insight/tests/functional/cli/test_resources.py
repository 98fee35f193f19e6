"""The commands of ``openstack`` that read all at once, against what ``make serve`` starts."""

import uuid

import pytest

from placement.tests.support.processes import ApiProcess
from placement_insight.tests.support.openstack_client import (
    AGGREGATE,
    Client,
    add_claim,
    add_host,
    remove_claim,
)

SERVERS = [f"a7c1f9e2-5b34-4c68-9d0e-2f4b6a8c0d{number}" for number in range(10, 13)]
# the tests share one service
pytestmark = pytest.mark.xdist_group("client resources")


@pytest.fixture(scope="module")
def openstack(tmp_path_factory):
    with ApiProcess(tmp_path_factory.mktemp("api"), "--development", "--port", "0") as service:
        service.get()
        client = Client(service.url)
        client.url = service.url
        client.host = add_host(service.url, "host1", aggregates=[AGGREGATE], DISK_GB=100)
        client.child = add_host(service.url, "numa0", client.host, VCPU=16)
        add_host(service.url, "host0")
        for server in SERVERS:
            add_claim(service.url, server, {client.child: {"VCPU": 2}})
        yield client


def test_providers_are_shown_as_trees(openstack):
    shown = openstack.run("resource provider tree")
    assert shown.returncode == 0, shown.stderr
    lines = [line for line in shown.stdout.splitlines() if "host" in line or "numa" in line]
    assert [line.split("|")[1].rstrip() for line in lines] == [" host0", " host1", "   numa0"]
    assert "VCPU 6/16" in shown.stdout
    rows = openstack("resource provider tree", "--long", f"--in-tree={openstack.child}")
    assert [row["name"] for row in rows] == ["host1", "numa0"]
    assert rows[0]["aggregates"] == [AGGREGATE]
    assert rows[1]["usage"]["VCPU"]["used"] == 6
    rows = openstack("resource provider tree", "--resource=VCPU=8")
    assert [(row["name"], row["matches"]) for row in rows] == [("host1", False), ("numa0", True)]


def test_capacity_is_shown_for_a_shape(openstack):
    capacity = openstack("resource capacity show", "--resource=VCPU=3", "--resource=DISK_GB=10")
    assert (capacity["claims"], capacity["exact"], capacity["roots"]) == (3, True, 1)
    assert capacity["limited_by"] == {"VCPU": 1}
    assert capacity["query"].endswith("&root_required=!COMPUTE_STATUS_DISABLED")
    disabled = ("--resource=VCPU=3", "--root-required=COMPUTE_STATUS_DISABLED")
    assert openstack("resource capacity show", *disabled)["claims"] == 0
    grouped = openstack("resource capacity show", "--query=resources=VCPU:3", "--by=aggregate")
    assert grouped["query"] == "resources=VCPU:3"
    assert [(each["aggregate"], each["claims"]) for each in grouped["by"]] == [(AGGREGATE, 3)]
    shown = openstack.run("resource capacity show", "--resource=VCPU=3", "--by=root")
    assert "host1: 3 on 1 host " in shown.stdout
    assert shown.stdout.splitlines()[3].split(" | ")[:2][1].startswith("3 on 1 host")
    refused = openstack.refused("resource capacity show")
    assert "--resource, --query, --mix or --flavors" in refused
    assert "by is" in openstack.refused("resource capacity show", "--resource=VCPU=3", "--by=x")


def test_consumers_are_listed(openstack):
    listed = openstack("resource consumer list", f"--in-tree={openstack.host}", "--long")
    assert [each["uuid"] for each in listed] == SERVERS
    assert listed[0]["allocations"] == {openstack.child: {"VCPU": 2}}
    assert listed[0]["generation"] == 1
    page = openstack.run("resource consumer list", "--limit=2")
    assert f"To list more: --marker {SERVERS[1]}" in page.stderr
    assert "numa0: VCPU=2" in page.stdout
    rest = openstack("resource consumer list", f"--marker={SERVERS[1]}")
    assert [each["uuid"] for each in rest] == SERVERS[2:]
    every = openstack("resource consumer list", "--limit=1", "--all", "--project=demo")
    assert [each["uuid"] for each in every] == SERVERS
    assert openstack("resource consumer list", "--older-than=2020-01-01T00:00:00Z") == []


def test_who_has_the_most(openstack):
    large = str(uuid.uuid4())
    add_claim(openstack.url, large, {openstack.child: {"VCPU": 3}, openstack.host: {"DISK_GB": 7}})
    try:
        first = openstack("resource consumer list", "--sort", "-VCPU", "--limit=1")
        assert [each["uuid"] for each in first] == [large]
        last = openstack("resource consumer list", "--sort=VCPU", f"--in-tree={openstack.host}")
        assert last[-1]["uuid"] == large
        for by, group in (("host", "host1"), ("aggregate", AGGREGATE), ("project", "demo")):
            rows = openstack("resource consumer list", "--group-by", by, "--sort", "-VCPU")
            expected = {by: group, "consumers": 4, "DISK_GB": 7, "VCPU": 9}
            assert rows == [expected]
        shown = openstack.run("resource consumer list", "--sort=-DISK_GB", "--max-width=80")
        cells = [line.split("|")[2].split() for line in shown.stdout.splitlines()[3:5]]
        assert cells == [["host1:", "DISK_GB=7"], ["numa0:", "VCPU=3"]]
        sums = ("--group-by=aggregate", "--sort=VCPU", "--max-width=64")
        shown = openstack.run("resource consumer list", *sums)
        assert shown.stdout.splitlines()[1].split()[1::2] == ["aggregate", "consumers", "VCPU"]
        unknown = openstack.run("resource consumer list", "--sort", "-VCPUS")
        assert unknown.stderr == "No listed consumer has VCPUS.\n"
        for limit in ("0", "-1", "x"):
            refused = openstack.refused(
                "resource consumer list", "--group-by=type", f"--limit={limit}"
            )
            assert refused == f"--limit {limit} is not a number of rows from 1.\n"
        refused = openstack.refused("resource consumer list", "--sort=VCPU", f"--marker={large}")
        assert "sorted by UUID" in refused
    finally:
        remove_claim(openstack.url, large)
