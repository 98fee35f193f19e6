"""Names beside UUIDs, and names in options, with a stand-in for nova and Keystone."""

import json
import re

import pytest
from osc_lib.exceptions import Forbidden

from placement.tests.support.processes import ApiProcess
from placement_insight.cli.names import CommandNames
from placement_insight.tests.support import nova_api as stand_in
from placement_insight.tests.support.nova_api import nova_api
from placement_insight.tests.support.nova_documents import flavor, server
from placement_insight.tests.support.openstack_client import AGGREGATE, Client, add_claim, add_host

SERVERS = [f"a7c1f9e2-5b34-4c68-9d0e-2f4b6a8c0d1{number}" for number in range(5)]
MIGRATION = "a7c1f9e2-5b34-4c68-9d0e-2f4b6a8c0d1f"
PROJECT = "6f70656e737461636b20342065766572"
# the tests share one service
pytestmark = pytest.mark.xdist_group("client names")
CONSUMERS = "resource consumer list"
TREE = "resource provider tree"
EXPLAIN = "allocation candidate explain"


@pytest.fixture(scope="module")
def placement(tmp_path_factory):
    """The client with a token and an endpoint, without a catalog."""
    with ApiProcess(tmp_path_factory.mktemp("api"), "--development", "--port", "0") as service:
        service.get()
        client = Client(service.url)
        cn1 = add_host(service.url, "cn1.example.org", aggregates=[AGGREGATE], VCPU=16)
        client.hosts = {"cn1.example.org": cn1}
        for name in ("cn2.a.org", "cn2.b.org"):
            client.hosts[name] = add_host(service.url, name, VCPU=16)
        add_host(service.url, "cn1_NUMA0", cn1, PCPU=8)
        for uuid in (*SERVERS, MIGRATION):
            kind = "MIGRATION" if uuid == MIGRATION else "INSTANCE"
            add_claim(service.url, uuid, {cn1: {"VCPU": 2}}, project=PROJECT, kind=kind)
        too_much = [f"--allocation=rp={cn1},VCPU=5", "--consumer-type=INSTANCE"]
        owner = [f"--project-id={PROJECT}", "--user-id=me"]
        client.refused(
            "resource provider allocation set", SERVERS[0][:-1] + "a", *too_much, *owner
        )
        assert client("allocation candidate list", "--resource=VCPU=99") == []
        for kind in ("refused_claim", "no_candidates"):
            client.recorded(kind=kind)
        yield client


@pytest.fixture
def nova(placement):
    with nova_api() as api:
        api.token_id, api.placement_url = "admin", placement.options[1]
        api.servers = [server(uuid, name=f"web-{uuid[-1]}") for uuid in SERVERS]
        api.projects = {PROJECT: "shop"}
        api.aggregates = {AGGREGATE: "az1"}
        yield api


@pytest.fixture
def openstack(placement, nova):
    """The client as operators use it: it gets its token and its endpoints from Keystone."""
    return Client(placement.options[1], *nova.credentials())


def table(client, command, *arguments):
    result = client.run(command, *arguments, "--max-width", "0")
    assert result.returncode == 0, result.stderr
    return result.stdout


# --- names beside UUIDs -------------------------------------------------------------------


def test_a_table_has_names_beside_uuids(openstack, nova):
    shown = table(openstack, CONSUMERS)
    rows = [re.split(r" *\| *", line)[1:-1] for line in shown.splitlines() if "|" in line]
    assert rows[0] == ["uuid", "name", "project_id", "type", "created_at", "allocations"]
    by_uuid = {row[0]: row[1:] for row in rows}
    for uuid in SERVERS:
        assert by_uuid[uuid][:3] == [f"web-{uuid[-1]}", "shop", "INSTANCE"]
    assert MIGRATION in by_uuid
    assert "| shop " in shown
    assert PROJECT not in shown
    assert "| cn1.example.org: VCPU=2 " in shown
    # pages of three servers; one request for the projects
    assert sorted(nova.named) == ["projects", "servers", "servers"]


def test_a_table_of_changes_has_the_names_of_users(openstack, nova):
    nova.users = {"admin": "nova"}
    assert "| nova " in table(openstack, "placement changes")
    nova.refused = {"users": 403}
    assert "| admin " in table(openstack, "placement changes")
    assert {row["user_id"] for row in openstack("placement changes")} == {"admin"}


def test_capacity_is_shown_by_flavor(openstack, nova):
    """Disabled flavors are not shown, and an invalid request does not hide the other flavors."""
    small = flavor() | {"name": "small", "id": "2", "vcpus": 4, "ram": 0, "disk": 0}
    small["extra_specs"] = {"quota:vif_outbound_average": "9"}
    nova.flavors = [
        small,
        small | {"name": "old", "id": "3", "OS-FLV-DISABLED:disabled": True},
        small | {"name": "gold", "id": "4", "extra_specs": {"trait:CUSTOM_NO": "required"}},
        flavor(),
    ]
    capacity = openstack("resource capacity show", "--flavors", "--by=root")
    assert list(capacity) == ["small", "gold", "m1.tiny"]
    assert capacity["small"]["query"] == "resources=VCPU:4&root_required=!COMPUTE_STATUS_DISABLED"
    assert (capacity["small"]["claims"], capacity["small"]["roots"]) == (9, 3)
    assert len(capacity["small"]["by"]) == 3
    assert "CUSTOM_NO" in capacity["gold"]["error"]
    assert capacity["m1.tiny"]["claims"] == 0
    assert (capacity["small"]["not_counted"], capacity["m1.tiny"]["not_counted"]) == (
        [],
        ["hw:numa_nodes=1"],
    )
    shown = table(openstack, "resource capacity show", "--flavors")
    assert "9 on 3 hosts; limited by VCPU on 3 " in shown
    assert "not counted: hw:numa_nodes=1" in shown
    nova.flavors = []
    assert "no flavors" in openstack.refused("resource capacity show", "--flavors")


def test_capacity_is_shown_for_a_mix_of_flavors_and_queries(openstack, nova):
    nova.flavors = [flavor() | {"name": "small", "id": "2", "vcpus": 4, "ram": 0, "disk": 0}]
    command = "resource capacity show"
    mix = ["--mix=2=small", "--mix=1=resources=VCPU:8"]
    capacity = openstack(command, *mix)
    assert capacity["shapes"] == [
        {
            "query": "resources=VCPU:4&root_required=!COMPUTE_STATUS_DISABLED",
            "share": 2,
            "claims": 9,
            "at_most": 9,
            "not_counted": ["hw:numa_nodes=1"],
        },
        {
            "query": "resources=VCPU:8",
            "share": 1,
            "claims": 4,
            "at_most": 4,
            "not_counted": [],
        },
    ]
    more = openstack(command, *mix, "--like=cn1.example.org=10")
    assert more["claims"] == capacity["claims"] + 10
    fewer = openstack(command, *mix, "--without=cn1.example.org")
    assert fewer["free"]["VCPU"] < capacity["free"]["VCPU"]
    shown = table(openstack, command, *mix, "--like=cn1.example.org=10")
    assert "10 hosts like cn1.example.org" in shown
    assert "1 x resources=VCPU:8 (24 if nothing else is claimed)" in shown
    assert "; not counted: hw:numa_nodes=1 " in shown
    by_flavor = openstack(command, "--flavors", "--like=cn1.example.org=10")
    assert by_flavor["small"]["claims"] == 9 + 40


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--mix=2=smal"], "Nova has no flavor smal. It has: m1.tiny"),
        (["--mix=small"], "--mix small=: write it as <number>=<flavor>"),
        (["--mix=2=resources=VCPU:1", "--like=cn1.example.org"], "as in cn1=10"),
        (["--mix=2=resources=VCPU:1", "--resource=VCPU=1"], "Give either --mix or"),
        (["--mix=2=resources=VCPU:1", "--by=root"], "by cannot be used beside shape"),
        (["--mix=2=resources=VCPU:1", "--flavors"], "Give either --flavors, --mix or"),
        (["--mix=2=resources=VCPU:1", "--without=cn9.example.org"], "cn9.example.org"),
    ],
)
def test_invalid_mixes_are_refused(openstack, options, message):
    assert message in openstack.refused("resource capacity show", *options)


def test_flavors_take_the_place_of_a_request(openstack, placement):
    refused = openstack.refused("resource capacity show", "--flavors", "--root-required=CUSTOM_A")
    assert "Give either --flavors" in refused
    refused = placement.refused("resource capacity show", "--flavors")
    assert "The flavors of nova could not be listed" in refused


def test_a_summary_has_names(openstack, nova):
    nova.aggregates = {MIGRATION: "az2"}
    assert (
        openstack("allocation candidate list", "--resource=VCPU=1", f"--member-of={MIGRATION}")
        == []
    )
    openstack.recorded(request=f"resources=VCPU:1&member_of=in:{MIGRATION}")
    assert f"az2 ({MIGRATION})" in table(openstack, "allocation request list", "--summary")


def test_a_selected_column_of_a_table_has_names_beside_uuids(openstack):
    shown = table(openstack, CONSUMERS, "-c", "uuid", "-c", "project_id", "-c", "type")
    assert f"| web-0 ({SERVERS[0]}) | shop ({PROJECT}) | INSTANCE" in shown


def test_data_formats_have_names_in_fields(openstack, placement):
    consumer = openstack(CONSUMERS)[0]
    host = placement.hosts["cn1.example.org"]
    assert (consumer["uuid"], consumer["name"]) == (SERVERS[0], "web-0")
    assert (consumer["project_id"], consumer["project"]) == (PROJECT, "shop")
    assert consumer["providers"] == {host: "cn1.example.org"}
    assert consumer["allocations"] == {host: {"VCPU": 2}}


def test_text_for_scripts_has_names_on_request_only(openstack, nova):
    values = openstack.run(CONSUMERS, "-f", "value", "-c", "uuid", "-c", "project_id")
    assert values.stdout.splitlines()[0] == f"{SERVERS[0]} {PROJECT}"
    assert nova.named == []
    values = openstack.run(CONSUMERS, "-f", "value", "-c", "uuid", "-c", "name")
    assert values.stdout.splitlines()[0] == f"{SERVERS[0]} web-0"


def test_one_server_is_requested_alone(openstack, nova):
    assert "| web-0 " in table(openstack, CONSUMERS, "--limit=1")
    assert nova.named.count("servers") == 1


def test_aggregates_have_the_names_of_nova(openstack, nova):
    capacity = [*("--resource=VCPU=1",), "--by=aggregate"]
    assert "| az1: 4 on 1 host " in table(openstack, "resource capacity show", *capacity)
    (group,) = openstack("resource capacity show", *capacity)["by"]
    assert (group["aggregate"], group["name"]) == (AGGREGATE, "az1")
    assert f"az1 ({AGGREGATE})" in table(openstack, TREE, "--long")
    shown = table(openstack, EXPLAIN, "--resource=VCPU=9", "--member-of=az1")
    assert f"not in aggregate az1 ({AGGREGATE})" in shown
    assert f"| resources=VCPU:9&member_of=in:{AGGREGATE} " in shown
    assert f"| {AGGREGATE}: az1 " in shown


def test_refused_claims_are_sentences(openstack, placement):
    shown = table(openstack, "allocation request list")
    consumer = SERVERS[0][:-1] + "a"
    sentence = f"cn1.example.org has 4 of 16 VCPU free, 5 were claimed by server {consumer}"
    assert f" {sentence} " in shown
    assert "| resources=VCPU:99 " in shown
    listed = openstack("allocation request list", "--reason=capacity")
    (claimed,) = (each for each in listed if each["kind"] == "refused_claim")
    assert claimed["sentence"] == sentence
    assert claimed["request_id"] in shown
    host = placement.hosts["cn1.example.org"]
    assert claimed["request"]["providers"] == {host: "cn1.example.org"}
    shown = table(openstack, EXPLAIN, "--request-id", claimed["request_id"])
    assert f"| explanation       | {sentence} " in shown


def test_recorded_requests_have_names(openstack, placement):
    host = placement.hosts["cn1.example.org"]
    wanted = "--resource=VCPU=98"
    assert openstack("allocation candidate list", wanted, f"--member-of={AGGREGATE}") == []
    recorded = openstack.recorded(request=f"resources=VCPU:98&member_of=in:{AGGREGATE}")
    shown = table(openstack, EXPLAIN, "--request-id", recorded["request_id"])
    assert f"not in aggregate az1 ({AGGREGATE})" in shown
    shown = table(openstack, EXPLAIN, wanted, f"--in-tree={host}")
    assert f"{host}: cn1.example.org" in shown
    assert "not in the tree of cn1.example.org" in shown


@pytest.mark.parametrize(
    "settings",
    [
        {"refused": dict.fromkeys(("os-aggregates", "projects", "servers"), 403)},
        {"refused": dict.fromkeys(("os-aggregates", "projects", "servers"), 503)},
        {"newest": "2.40"},
        {"servers": [], "projects": {}, "aggregates": {}},
    ],
)
def test_without_nova_and_keystone_uuids_are_shown(openstack, nova, settings):
    for name, value in settings.items():
        setattr(nova, name, value)
    if "newest" not in settings:
        shown = table(openstack, CONSUMERS)
        assert f"| {SERVERS[0]} " in shown
        assert f"| {PROJECT} " in shown
    assert f"| {AGGREGATE} " in table(openstack, TREE, "--long")


def test_a_list_that_is_denied_leaves_the_others(openstack, nova):
    nova.refused = {"servers": 403}
    shown = table(openstack, CONSUMERS)
    assert f"| {SERVERS[0]} " in shown
    assert "| shop " in shown
    assert f"az1 ({AGGREGATE})" in table(openstack, TREE, "--long")


class WithoutProviders:
    """A session that may not list providers."""

    api_version = {"placement": "1.39"}  # noqa: RUF012

    @property
    def client_manager(self):
        return self

    placement = client_manager

    def request(self, method, url, **arguments):
        raise Forbidden(403, "Policy does not allow placement:insight:providers")


def test_names_of_providers_are_optional_in_explanations():
    assert CommandNames(WithoutProviders()).in_query(f"in_tree={SERVERS[0]}") == {}


def test_without_a_catalog_uuids_are_shown(placement):
    shown = table(placement, CONSUMERS)
    assert f"| {SERVERS[0]} " in shown
    assert "| cn1.example.org: VCPU=2 " in shown
    assert json.loads(placement.run(CONSUMERS, "-f", "json").stdout)[0]["name"] is None


def test_documents_that_cannot_be_read_leave_the_other_names(openstack, nova):
    nova.texts = {"servers": "[" * 200_000}
    shown = table(openstack, CONSUMERS)
    assert f"| {SERVERS[0]} " in shown
    assert "| shop " in shown


def test_entries_that_are_no_names_are_left_out(openstack, nova):
    other, aggregate = server(SERVERS[1], name="web-1"), AGGREGATE.replace("5", "6")
    nova.servers = [{"id": SERVERS[0], "name": {"a": 1}}, {"id": ["x"], "name": "x"}, other]
    nova.aggregates = {AGGREGATE: ["az1"], aggregate: "az2"}
    shown = table(openstack, CONSUMERS)
    assert f"| {SERVERS[0]} " in shown
    assert "| web-1 " in shown
    assert f"| {AGGREGATE} " in table(openstack, TREE, "--long")


def test_pages_end_at_the_last_server(openstack, nova, monkeypatch):
    """No consumer is a server of nova: all pages are read, once."""
    nova.servers = [server(uuid.replace("a7c1", "b7c1"), name="other") for uuid in SERVERS]
    monkeypatch.setattr(stand_in, "PAGE", 2)
    assert f"| {SERVERS[0]} " in table(openstack, CONSUMERS)
    assert nova.named.count("servers") == 4


# --- names in options ---------------------------------------------------------------------


def names(rows):
    return [row["name"] for row in rows]


def test_options_accept_names(openstack, placement):
    host = placement.hosts["cn1.example.org"]
    for option in ("--provider", "--in-tree"):
        for text in ("cn1.example.org", host, "CN1"):
            assert len(openstack(CONSUMERS, option, text)) == len(SERVERS) + 1
    assert len(openstack(CONSUMERS, "--project=shop")) == len(SERVERS) + 1
    assert names(openstack(TREE, "--in-tree=cn1")) == ["cn1.example.org", "cn1_NUMA0"]
    explained = openstack(
        EXPLAIN,
        *("--resource=VCPU=1", "--not-member-of", f"az1,{AGGREGATE}"),
        *("--group", "_A", "--resource=PCPU=1", "--in-tree=cn1_NUMA0"),
    )
    (child,) = (row["uuid"] for row in openstack(TREE) if row["name"] == "cn1_NUMA0")
    assert f"member_of=!in:{AGGREGATE},{AGGREGATE}&" in explained["query"]
    assert f"in_tree_A={child}" in explained["query"]
    listed = openstack("allocation request list", "--project=shop")
    assert {each["kind"] for each in listed} <= {"refused_claim"}  # of the project, by any caller


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([CONSUMERS, "--provider=cn2"], "cn2 is the name of 2 providers: cn2.a.org ("),
        (
            [CONSUMERS, "--in-tree=cn3"],
            "No provider has the name cn3. Similar names: cn2.a.org, cn2.b.org, cn1",
        ),
        ([CONSUMERS, "--project=shops"], "No project has the name shops. Similar names: shop."),
        ([TREE, "--member-of=az2"], "No aggregate has the name az2. Similar names: az1."),
        ([TREE, "--name=nowhere\x1b"], r"No provider has the name nowhere\x1b."),
    ],
)
def test_other_names_are_errors_with_the_nearest_names(openstack, arguments, message):
    assert message in openstack.refused(*arguments)


def test_names_of_aggregates_need_nova(openstack, placement, nova):
    text = "az1 is not the UUID of an aggregate, and nova did not list the names of aggregates: "
    assert f"{text}there is no endpoint of compute" in placement.refused(TREE, "--member-of=az1")
    nova.refused = {"os-aggregates": 403}
    assert f"{text}Refused with 403." in openstack.refused(TREE, "--member-of=az1")


def test_without_keystone_a_project_is_its_id(openstack, nova):
    nova.refused = {"projects": 403}
    assert openstack(CONSUMERS, "--project=shop") == []
    assert len(openstack(CONSUMERS, f"--project={PROJECT}")) == len(SERVERS) + 1


# --- trees --------------------------------------------------------------------------------


def test_a_name_shows_the_whole_tree(placement):
    assert names(placement(TREE, "--name=cn1_NUMA0")) == ["cn1.example.org", "cn1_NUMA0"]
    shown = table(placement, TREE, "--name=cn1_NUMA0")
    assert [line.split("|")[1].rstrip() for line in shown.splitlines()[3:-1]] == [
        "   cn1.example.org",
        " *   cn1_NUMA0",
    ]
    assert "| cn2.a.org " in table(placement, TREE, "--name=cn2.a.org")


def test_filters_mark_providers_below_their_parents(placement):
    rows = placement(TREE, "--resource=PCPU=1")
    assert [(row["name"], row["matches"]) for row in rows] == [
        ("cn1.example.org", False),
        ("cn1_NUMA0", True),
    ]
    assert "| *   cn1_NUMA0 " in table(placement, TREE, "--resource=PCPU=1")
    rows = placement(TREE, "--name=cn1", f"--member-of={AGGREGATE}")
    assert [(row["name"], row["matches"]) for row in rows] == [("cn1.example.org", True)]
    assert placement(TREE, "--in-tree=cn2.a.org", "--resource=PCPU=1") == []
    rows = placement(TREE)
    assert {row["matches"] for row in rows} == {True}
