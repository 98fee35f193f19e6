"""``openstack placement drain``: the answer first, then the moves."""

import json
from types import SimpleNamespace

import pytest
from keystoneauth1.exceptions import ClientException, ConnectTimeout

from placement.tests.support.factories import uuid
from placement.tests.support.processes import ApiProcess
from placement_insight.cli.names import CommandNames
from placement_insight.tests.support.nova_api import nova_api
from placement_insight.tests.support.nova_documents import migration, server
from placement_insight.tests.support.openstack_client import Client, add_claim, add_host

SMALL, LARGE = (f"a7c1f9e2-5b34-4c68-9d0e-2f4b6a8c0d1{number}" for number in range(2))
EVACUEE = "a7c1f9e2-5b34-4c68-9d0e-2f4b6a8c0d19"
RACK = "5e08ea53-c4c6-448e-9334-ac4953de3cfa"
# the tests share one service
pytestmark = pytest.mark.xdist_group("client resources")


@pytest.fixture(scope="module")
def openstack(tmp_path_factory):
    """A host with a small and a large server, and two smaller hosts."""
    with ApiProcess(tmp_path_factory.mktemp("api"), "--development", "--port", "0") as service:
        service.get()
        cn1 = add_host(service.url, "cn1.example.org", aggregates=[RACK], VCPU=16)
        add_host(service.url, "cn2.example.org", traits=["COMPUTE_NODE"], VCPU=8)
        add_host(
            service.url, "cn3.example.org", traits=["COMPUTE_NODE"], aggregates=[RACK], VCPU=4
        )
        add_claim(service.url, SMALL, {cn1: {"VCPU": 2}})
        add_claim(service.url, LARGE, {cn1: {"VCPU": 12}})
        yield Client(service.url)


def test_the_answer_comes_first(openstack):
    result = openstack.run("placement drain", "cn1", "--keep", "none")
    assert result.returncode == 1
    assert result.stderr.splitlines() == [
        "cn1.example.org: 1 of 2 consumers fit elsewhere, on 1 host; 1 does not",
        f"  {LARGE}: needs 12 VCPU; the most that one host has free is 8 (cn2.example.org)",
        "  Next: openstack compute service set --disable cn1.example.org nova-compute, then the "
        "moves in this order; the text of each is its command (-f json).",
        "  If a move fails or is aborted, Nova leaves the server on its host, and the moves "
        "before it remain: see openstack server migration list --server ID, then plan again.",
        "  cn1.example.org is empty when openstack resource consumer list --in-tree "
        "cn1.example.org is empty.",
        "  Only Nova knows server groups, images, pinning, ports and host states: the plan does "
        "not.",
        "  The cells of Nova are not known, and Nova moves no server to another cell. Give cells, "
        "from the output of nova-manage cell_v2 list_hosts.",
        "  The migrations of Nova are not known: those in progress count as servers. Give "
        "migrations, the UUIDs in openstack server migration list.",
        "nova did not list its aggregates, migrations, server groups, servers, services: there is "
        "no endpoint of compute in the catalog",
    ]
    table = result.stdout.splitlines()
    assert [cell.strip() for cell in table[3].split("|")[1:-1]] == [
        SMALL,
        "cn1.example.org",
        "cn3.example.org",
    ]
    narrow = openstack.run("placement drain", "cn1", "--keep", "none", "--max-width", "80").stdout
    table = narrow.splitlines()
    assert max(map(len, table)) <= 80
    assert [cell.strip() for cell in table[4].split("|")[1:-1]] == [
        LARGE,
        "needs 12 VCPU; the most that one host",
    ]


def test_a_server_that_is_not_planned(openstack):
    """An evacuated server has allocations on the failed host as well, until it returns."""
    hosts = {row["name"]: row["uuid"] for row in openstack("resource provider list")}
    allocations = [
        f"--allocation=rp={hosts[name]},VCPU=1" for name in ("cn2.example.org", "cn3.example.org")
    ]
    owner = ("--project-id=p", "--user-id=u", "--consumer-type=INSTANCE")
    openstack("resource provider allocation set", EVACUEE, *allocations, *owner)
    result = openstack.run("placement drain", "cn2")
    assert (result.returncode, result.stderr.splitlines()[:2]) == (
        3,
        ["cn2.example.org: no moves are planned", "  1 not planned: allocations on several hosts"],
    )
    assert not openstack.run("resource provider allocation delete", EVACUEE).returncode


def test_moves_are_data(openstack):
    result = openstack.run("placement drain", "--aggregate", RACK, "-f", "json")
    assert result.returncode == 1
    move, stuck = json.loads(result.stdout)
    assert (stuck["consumer"], stuck["to"], stuck["text"]) == (LARGE, [], "")
    assert stuck["reason"].startswith("needs 12 VCPU; the most that")
    assert move["consumer"] == SMALL
    assert [each["name"] for each in move["to"]] == ["cn2.example.org"]
    assert list(move["allocations"].values()) == [{"VCPU": 2}]
    command = f"openstack server migrate --live-migration --host cn2.example.org {SMALL}"
    assert move["text"] == command


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "Name a host, or give --aggregate or --rack."),
        ([""], "No provider has the name ''. Similar names: "),
        (["cn9"], "No provider has the name cn9. Similar names: "),
        (["--rack", "CUSTOM_RACK_9"], "There is no provider with root trait CUSTOM_RACK_9"),
        (["cn1", "--keep", "racks"], "traits:PREFIX"),
    ],
)
def test_nothing_to_drain_is_an_error(openstack, arguments, sentence):
    assert sentence in openstack.refused("placement drain", *arguments)


def test_hosts_without_servers(openstack):
    result = openstack.run("placement drain", "cn2", "cn3")
    assert result.returncode == 0
    assert result.stderr.startswith("cn2.example.org, cn3.example.org: no consumers to move\n")


def test_hosts_that_cannot_fail(openstack):
    result = openstack.run("placement survive", "--keep", "none")
    assert result.returncode == 1
    assert result.stderr.startswith(
        "2 of 3 hosts survive; 1 does not\n"
        "  cn1.example.org: needs 12 VCPU; the most that one host has free is 8 "
        "(cn2.example.org)\n"
    )
    (row,) = result.stdout.splitlines()[3:-1]
    assert [cell.strip() for cell in row.split("|")[1:5]] == ["cn1.example.org", "1", "2", "1"]
    assert "| needs 12 VCPU; the most" in row
    result = openstack.run("placement survive", "--by", "aggregate", "-f", "json")
    (failed,) = json.loads(result.stdout)
    assert (failed["name"], failed["stuck"], failed["lacks"]) == (RACK, 1, {"VCPU": 12})


EXPLAIN = ("allocation candidate explain", "--in-tree", "cn1", "--keep", "none", "--make-room")


def test_room_for_a_request(openstack):
    result = openstack.run(*EXPLAIN, "--resource", "VCPU=4", "-f", "json")
    assert result.returncode == 0
    room = json.loads(result.stdout)["room"]
    (first,) = room["rooms"]
    assert (first["moved"], first["minimal"], first["consumers"][0]["uuid"]) == (1, True, SMALL)
    table = openstack.run(*EXPLAIN, "--resource", "VCPU=4").stdout
    assert f"cn1.example.org: 1 consumer moves, VCPU:2: {SMALL} to cn3.example.org" in unwrapped(
        table
    )


def test_servers_that_may_be_evicted(openstack):
    arguments = (*EXPLAIN, "--resource", "VCPU=9", "--host", "cn1", "-f", "json")
    moved = json.loads(openstack.run(*arguments).stdout)["room"]
    assert (moved["reason"], moved["rooms"]) == ("nowhere_to_move", [])
    evicted = openstack.run(*arguments, "--evictable", f"consumer={LARGE}").stdout
    (first,) = json.loads(evicted)["room"]["rooms"]
    assert [each["uuid"] for each in first["consumers"]] == [LARGE]
    assert "older_than=<time>" in openstack.refused(*arguments, "--evictable", "host=cn1")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--resource", "VCPU=9", "--keep", "none"], "Add --make-room."),
        (["--resource", "VCPU=9", "--evictable", "type=INSTANCE"], "Add --make-room."),
        (["--request-id", "req-1", "--make-room"], "--make-room needs the query of a request"),
    ],
)
def test_options_of_room_without_room_or_a_request(openstack, arguments, sentence):
    assert sentence in openstack.refused("allocation candidate explain", *arguments)


def unwrapped(table):
    """Return the text of the cells of the second column."""
    return " ".join(line.split("|")[2].strip() for line in table.splitlines() if "|" in line)


def test_reasons_have_the_names_of_aggregates(tmp_path):
    with (
        ApiProcess(tmp_path, "--development", "--port", "0") as service,
        nova_api() as nova,
    ):
        service.get()
        cn1 = add_host(service.url, "cn1", aggregates=[RACK], VCPU=8)
        add_host(service.url, "cn2", VCPU=8)
        add_claim(service.url, SMALL, {cn1: {"VCPU": 2}})
        nova.token_id, nova.placement_url = "admin", service.url
        nova.aggregates = {RACK: "rack-1"}
        openstack = Client("", *nova.credentials())
        reason = f"no other enabled host has the aggregate rack-1 ({RACK}) of its host"
        for command in ("placement drain cn1", "placement survive"):
            assert reason in openstack.run(command).stderr
            assert nova.named.count("os-aggregates") == 1
            nova.named.clear()
        nova.refused["os-aggregates"] = 403
        unnamed = reason.replace(f"rack-1 ({RACK})", RACK)
        assert unnamed in openstack.run("placement survive").stderr


def group(policy, *members, **rules):
    return {"id": "g", "name": "g", "policy": policy, "rules": rules, "members": list(members)}


def test_server_groups_of_nova_constrain_the_plan(tmp_path):
    uuids = [f"a7c1f9e2-5b34-4c68-9d0e-2f4b6a8c0d1{number}" for number in range(3)]
    first, second, other = uuids
    with (
        ApiProcess(tmp_path, "--development", "--port", "0") as service,
        nova_api() as nova,
    ):
        service.get()
        hosts = [
            add_host(service.url, f"cn{number}", VCPU=vcpu)
            for number, vcpu in enumerate((16, 8, 4, 6))
        ]
        add_claim(service.url, first, {hosts[0]: {"VCPU": 2}})
        add_claim(service.url, second, {hosts[0]: {"VCPU": 2}})
        add_claim(service.url, other, {hosts[2]: {"VCPU": 1}})
        nova.token_id, nova.placement_url = "admin", service.url
        names = {uuid: f"web-{n}" for n, uuid in enumerate(uuids)}
        nova.servers = [server(uuid, name=name) for uuid, name in names.items()]

        def plan(*groups):
            nova.groups = [*[group("soft-affinity", *uuids)] * 3, *groups]  # two pages
            result = Client("", *nova.credentials()).run("placement drain cn0", "-f", "json")
            moves = [each for each in json.loads(result.stdout) if each["to"]]
            targets = {each["name"]: each["to"][0]["name"] for each in moves}
            return targets, result.stderr

        def room(*groups):
            nova.groups = list(groups)
            arguments = ("--resource", "VCPU=14", "--host", "cn0", "--make-room", "-f", "json")
            result = Client("", *nova.credentials()).run(EXPLAIN[0], *arguments)
            (found,) = json.loads(result.stdout)["room"]["rooms"]
            return {names[each["uuid"]]: each["to"]["name"] for each in found["consumers"]}

        targets, text = plan()
        assert targets == {"web-0": "cn2", "web-1": "cn3"}
        assert "The plan keeps the rules of server groups" in text  # there are none
        targets, text = plan(group("anti-affinity", *uuids))
        assert targets == {"web-0": "cn3", "web-1": "cn1"}
        assert "The plan keeps the rules of server groups" in text
        pairs = group("anti-affinity", *uuids, max_server_per_host=2)
        assert plan(pairs)[0] == {"web-0": "cn2", "web-1": "cn3"}
        targets, text = plan(group("affinity", first, second))
        assert targets == {}
        assert "Nova moves no member of an affinity group alone" in text
        assert room() == {"web-0": "cn2"}
        assert room(group("anti-affinity", first, other)) == {"web-1": "cn2"}
        # the group of web-1 is known after the first plan that moves it
        groups = (group("anti-affinity", first, other), group("anti-affinity", second, other))
        assert set(room(*groups).values()) == {"cn3"}
        nova.refused["os-server-groups"] = 403
        targets, text = plan(group("anti-affinity", *uuids))
        assert targets == {"web-0": "cn2", "web-1": "cn3"}
        assert "Only Nova knows server groups" in text
        assert "nova did not list its server groups: " in text
        assert "(HTTP 403)" in text


CELLS = """\
+-----------+-----------+----------+
| Cell Name | Cell UUID | Hostname |
+-----------+-----------+----------+
|   cell1   |     u1    |   cn1    |
|   cell1   |     u1    |   cn4    |
|   cell2   |     u2    |   cn2    |
+-----------+-----------+----------+
"""


def test_servers_stay_in_their_cells(openstack, tmp_path):
    path = tmp_path / "cells"
    path.write_text(CELLS)
    drain = ("placement drain", "cn1", "--keep", "none")
    assert "cells of Nova are not known" in openstack.run(*drain).stderr
    result = openstack.run(*drain, "--cells", str(path))
    assert result.returncode == 1
    assert "there is no other enabled host in cell cell1 (u1)" in result.stderr
    assert "cells of Nova are not known" not in result.stderr
    result = openstack.run("placement survive", "--keep", "none", "--cells", str(path))
    assert "in cell cell1 (u1)" in result.stdout
    for text in ("", "cn1 cell1\n", "| Cell Name | Hostname |\n"):
        path.write_text(text)
        refused = openstack.refused(*drain, "--cells", str(path))
        assert "no table with the columns Cell Name, Cell UUID and Hostname" in refused
    assert "No such file" in openstack.refused(*drain, "--cells", str(tmp_path / "none"))


def test_migrations_of_nova_and_servers_of_a_cell_that_is_down_have_no_move(tmp_path):
    with (
        ApiProcess(tmp_path, "--development", "--port", "0") as service,
        nova_api() as nova,
    ):
        service.get()
        cn1, _ = (add_host(service.url, name, VCPU=8) for name in ("cn1.example.org", "cn2"))
        add_claim(service.url, SMALL, {cn1: {"VCPU": 2}})
        nova.token_id, nova.placement_url = "admin", service.url
        openstack = Client("", *nova.credentials())
        result = openstack.run("placement drain cn1")
        assert (result.returncode, "migrations of Nova" in result.stderr) == (0, False)
        ended = [migration(uuid(), SMALL, "confirmed") for _ in range(3)]  # a page
        nova.migrations = [*ended, migration(SMALL, LARGE, "finished")]
        result = openstack.run("placement drain cn1", "-f", "json")
        (row,) = json.loads(result.stdout)
        reason = (
            "not planned: migrations: confirm, revert or abort them, or audit those that failed"
        )
        assert (result.returncode, row["reason"]) == (3, reason)
        assert openstack.run("placement survive").returncode == 0
        nova.migrations = ended
        for state in ("VERIFY_RESIZE", "MIGRATING"):
            nova.servers = [server(SMALL, name="web", status=state)]
            result = openstack.run("placement drain cn1", "-f", "json")
            (row,) = json.loads(result.stdout)
            assert (result.returncode, row["to"], row["name"]) == (3, [], "web")
            assert row["reason"].startswith("not planned: Nova moves no server in this state")
        nova.down = ["cn2"]
        nova.servers = []
        (row,) = json.loads(openstack.run("placement drain cn1", "-f", "json").stdout)
        assert (row["to"], row["text"]) == ([], "")
        assert openstack.run("placement survive").returncode == 1
        nova.down = ["cn1"]
        (row,) = json.loads(openstack.run("placement drain cn1", "-f", "json").stdout)
        assert row["text"] == f"openstack server evacuate --host cn2 {SMALL}"
        nova.servers = [server(SMALL, name="web", status="ERROR")]
        (row,) = json.loads(openstack.run("placement drain cn1", "-f", "json").stdout)
        assert (row["name"], row["text"][:26]) == ("web", "openstack server evacuate ")
        nova.down = []
        nova.servers = [server(SMALL, name="web", status="SHUTOFF")]
        (row,) = json.loads(openstack.run("placement drain cn1", "-f", "json").stdout)
        assert row["text"].startswith("openstack server migrate --wait --host cn2")
        nova.unknown = ["cn1"]
        for command in ("placement drain cn1", "placement survive"):
            result = openstack.run(command)
            assert result.returncode == 1
            assert "the database of the cell of its host is down" in result.stderr


def test_a_nova_that_does_not_respond_is_asked_once():
    """It has as long for the list of a plan as the command allows."""
    asked = []

    class Session:
        def get(self, url, *, timeout, **_):
            asked.append((url, timeout))
            raise ConnectTimeout

    class Names(CommandNames):
        _session = Session()

        def _url(self, _service):
            return "http://nova"

    names = Names(SimpleNamespace(client_manager=None))
    names.seconds = 15
    assert (names.hosts_in("UNKNOWN"), names.migrations, names.groups_of(["a"])) == (
        (),
        None,
        None,
    )
    assert (names.servers(), names.aggregates) == ({}, {})
    (sentence,) = names.missing_lists
    lists = "aggregates, migrations, server groups, servers, services"
    assert sentence.startswith(f"nova did not list its {lists}: ")
    assert asked == [("http://nova/os-services?binary=nova-compute", 15)]


def test_a_part_of_the_server_groups_is_not_used():
    class Names(CommandNames):
        def _rows(self, _service, path, *_):
            if "offset" not in path:
                return [group("affinity", "a", "b")]
            raise ClientException

    assert Names(SimpleNamespace(client_manager=None)).groups_of(["a"]) is None


class NamesOfPages(CommandNames):
    """Nova lists ``pages`` of servers, and of migrations in the same states."""

    def __init__(self, *pages):
        super().__init__(SimpleNamespace(client_manager=None))
        self.pages = [*pages, []]

    def _rows(self, *_):
        return self.pages.pop(0)


def listed(*ids, **fields):
    return [{"id": each, "uuid": each, "status": "running", **fields} for each in ids]


def test_lists_of_which_the_newest_are_known_are_reported(monkeypatch):
    monkeypatch.setattr("placement_insight.cli.names._MOST", 2)
    names = NamesOfPages(listed("a"), listed("b"))
    assert (names.servers_in(["SHUTOFF"]), [*names.missing_lists]) == (["a", "b"], [])
    names = NamesOfPages(listed("a", "b"), listed("c"))
    assert names.servers_in(["ERROR", "RESCUE"]) == ["a", "b"]
    sentence = "of nova's {}, only the newest 2 are known: nova may refuse to move others"
    assert [*names.missing_lists] == [sentence.format("servers in ERROR, RESCUE")]
    names = NamesOfPages(listed("old", status="done"), listed("a", "b", "c"))
    assert names.migrations == ["a", "b"]
    assert [*names.missing_lists] == [sentence.format("migrations in progress")]


def test_migrations_that_could_not_be_read_in_time_are_reported():
    names = NamesOfPages(listed("old", status="done"), listed("a"))
    names.seconds = -1
    assert names.migrations is None
    (sentence,) = names.missing_lists
    assert sentence.startswith("of nova's migrations in progress, only the newest 0 are known")


def test_a_list_of_nova_that_repeats_a_page_ends():
    names = NamesOfPages(*[listed("a")] * 3)
    assert names.servers_in(["SHUTOFF"]) == ["a", "a"]
    (sentence,) = names.missing_lists
    assert "ends with 'a', which cannot be the marker" in sentence
