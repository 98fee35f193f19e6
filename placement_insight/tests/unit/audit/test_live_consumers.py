"""Which consumers a list of live consumers is compared with, and what the comparison finds."""

import os
from argparse import Namespace
from datetime import UTC, datetime, timedelta

import pytest

from placement_insight.audit.consumers.model import ListedConsumer
from placement_insight.audit.finding import Commands
from placement_insight.audit.hosts import aggregates
from placement_insight.audit.live_consumers import Comparison, live_findings
from placement_insight.audit.model import (
    AuditedProviders,
    Hidden,
    Hypervisor,
    InvalidList,
    ListOfFile,
    ListOfNova,
    NoHost,
    NovaAggregate,
    Place,
    RunsOn,
    Unread,
    young,
)

AT = datetime(2026, 11, 22)
SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
PROVIDERS = AuditedProviders(
    names={"cn1": "cn1", "numa": "numa", "cn2": "cn2"},
    roots={"cn1": "cn1", "numa": "cn1", "cn2": "cn2"},
    hosts={"cn1"},
)
ONE = "5e08ea53-c4c6-448e-9334-ac4953de3cf1"


def consumer(uuid, *providers, type="INSTANCE", at=AT - SECOND):  # noqa: A002
    allocations = {provider: {"VCPU": 1} for provider in providers}
    return ListedConsumer(uuid, "demo", "me", type, 1, AT - SECOND, at, allocations, {})


def compared(*consumers, hosts=(), types=("INSTANCE",)):
    places = {uuid: RunsOn(host) if host else NoHost() for uuid, host in dict(hosts).items()}
    live = ListOfFile(places, AT, frozenset(types))
    comparison = Comparison(live, PROVIDERS, AT + SECOND, young(30))
    comparison.add(consumers)
    return comparison


def lists(comparison):
    """Return the orphans, the number of compared consumers, and the findings about servers."""
    found = [(each.code, each.consumer) for each in comparison.of_consumers(with_orphans=False)]
    return comparison.orphans, comparison.compared, found


def test_consumers_written_after_the_list_are_not_compared():
    young, old = consumer("a", "cn1", at=AT), consumer("b", "cn1", at=None)
    assert lists(compared(young, old)) == ([old], 1, [])


def test_consumers_of_other_types_are_not_compared():
    migration, unknown = consumer("a", "cn1", type="MIGRATION"), consumer("b", "cn1", type=None)
    assert lists(compared(migration, unknown, types=["unknown"])) == ([unknown], 1, [])


def test_a_consumer_without_allocations_is_compared_but_is_no_orphan():
    assert lists(compared(consumer("a"))) == ([], 1, [])


def test_an_instance_is_on_its_host_once():
    within, doubled = consumer("A", "cn1", "numa"), consumer("b", "cn1", "cn2")
    moving, migration = consumer("c", "cn1", "cn2"), consumer("d", "cn1", "cn2", type="MIGRATION")
    hosts = {"a": "cn1", "b": "cn2", "c": None, "d": "cn1"}
    found = compared(within, doubled, moving, migration, hosts=hosts.items())
    assert lists(found) == ([], 3, [("doubled_consumer", "b")])


def test_a_claim_on_which_no_server_can_run_is_an_orphan():
    """A server without a claim on its host is on another host."""
    types = {"types": ("INSTANCE", "MIGRATION"), "hosts": [("b", "cn2")]}
    comparison = compared(consumer("m", "cn1", type="MIGRATION"), **types)
    found = [(each.code, each.consumer) for each in comparison.of_consumers(with_orphans=True)]
    assert found == [("orphaned_consumer", "m"), ("server_without_allocations", "b")]


def test_a_host_whose_service_is_not_known_leaves_the_others_compared():
    of_nova = {"rack": NovaAggregate("rack 1", frozenset({"cn2"}))}
    listed = {name: Hypervisor(name) for name in ("cn1", "cn2", "numa")}
    providers = PROVIDERS._replace(aggregates={"cn1": ["rack"]})
    requested = []
    unread, finding = aggregates(of_nova, listed, providers, requested.append)
    assert requested == ["cn1"], "numa is in no aggregate"
    assert isinstance(unread, Unread)
    assert (finding.provider.uuid, [each.uuid for each in finding.missing]) == ("cn2", ["rack"])


@pytest.mark.parametrize(
    ("has_devices", "on_other_host", "without"),
    [
        (None, False, True),
        (True, False, False),
        (False, True, True),
    ],
)
def test_a_repair_names_what_nova_manage_leaves_out(has_devices, on_other_host, without):
    places = {name: RunsOn("cn1", has_devices) for name in "ab"}
    live = ListOfFile(places, AT, frozenset({"INSTANCE"}))
    comparison = Comparison(live, PROVIDERS, AT + SECOND, young(30))
    comparison.add([consumer("a", "cn2")])
    repairs = [each.repair for each in comparison.of_consumers(with_orphans=False)]
    left_out = ", including those of devices and shared storage"
    assert [left_out not in repair for repair in repairs] == [on_other_host, without]


@pytest.mark.parametrize(
    ("codes", "found"),
    [
        ([], ["orphaned_consumer", "doubled_consumer"]),
        (["doubled_consumer"], ["doubled_consumer"]),
        (["orphaned_consumer"], ["orphaned_consumer", "doubled_consumer"]),
    ],
)
def test_orphans_are_only_looked_for_if_they_are_asked_for(tmp_path, codes, found):
    path = tmp_path / "servers"
    path.write_text(f"{ONE} cn2\n")
    options = Namespace(
        live=str(path), type=[], allow_many_orphans=False, grace_minutes=30, code=codes
    )
    consumers = consumer("a", "cn1", at=AT), consumer(ONE, "cn1", "cn2", at=AT)
    findings = live_findings(consumers, PROVIDERS, options, lambda: None)
    assert [finding.code for finding in findings.findings] == found
    assert findings.findings[-1].rows["providers"] == ["cn1"]


@pytest.mark.parametrize(
    ("orphans", "number", "is_refused"),
    [(0, 1, False), (10, 10, False), (11, 22, False), (11, 21, True), (50, 60, True)],
)
def test_most_consumers_are_not_orphans(orphans, number, is_refused):
    names = [f"{position}" for position in range(number)]
    comparison = compared(
        *(consumer(name, "cn1") for name in names),
        hosts=dict.fromkeys(names[orphans:] or ["other"], "cn1").items(),
    )
    if is_refused:
        with pytest.raises(InvalidList, match=f"{orphans} of {number} consumers, more"):
            comparison.check_list()
    else:
        comparison.check_list()


def test_what_the_list_lacks_and_is_not_compared_is_counted_with_the_reason(tmp_path):
    """The list has one instance; the others have each another reason to be left out."""
    path = tmp_path / "servers"
    path.write_text(f"{ONE} cn2\n")
    os.utime(path, ((AT - 2 * HOUR).replace(tzinfo=UTC).timestamp(),) * 2)
    now = datetime.now(UTC).replace(tzinfo=None)
    consumers = (
        consumer(ONE, "cn2", at=now),
        consumer("young", "cn1", at=now),
        consumer("young without allocations", at=now),
        consumer("newer", "cn1", at=AT - HOUR),
        consumer("while it was read", "cn1", at=AT - 2 * HOUR - 29 * MINUTE),
        consumer("pod", "cn1", type="POD", at=AT - 3 * HOUR),
        consumer("young pod", "cn1", type="POD", at=now),
        consumer("unknown", "cn1", type=None, at=AT - 3 * HOUR),
        consumer("orphan", "cn1", at=AT - 3 * HOUR),
    )
    options = Namespace(
        live=str(path), type=[], allow_many_orphans=False, grace_minutes=30, code=[]
    )
    found = live_findings(consumers, PROVIDERS, options, lambda: None)
    assert [finding.rows["consumer"] for finding in found.findings] == ["orphan"]
    uncovered = "the list does not cover the consumer type {0} (--type {0}{1})"
    assert [(row.count, row.reason) for row in found.skipped] == [
        (2, uncovered.format("POD", "")),
        (1, uncovered.format("unknown", ", if the file has the migrations of nova")),
        (2, "written after the list, or while it was read (--grace-minutes)"),
        (1, "younger than 30 minutes (--grace-minutes)"),
    ]
    options.code = ["doubled_consumer"]
    assert live_findings(consumers, PROVIDERS, options, lambda: None).skipped == []


def test_a_list_without_hosts_does_not_compare_them(tmp_path):
    path = tmp_path / "servers"
    path.write_text(f"{ONE}\n{ONE[:-1]}2\n")
    options = Namespace(
        live=str(path), type=[], allow_many_orphans=False, grace_minutes=30, code=[]
    )

    def skipped(*expected):
        found = live_findings([consumer(ONE, "cn1", "cn2")], PROVIDERS, options, lambda: None)
        assert [each.code for each in found.findings] == [*expected]
        return {(row.code, row.count, row.reason) for row in found.skipped}

    assert skipped() == {
        ("allocations_on_other_host", 1, "the list has no hosts"),
        ("doubled_consumer", 1, "the list has no hosts"),
        ("server_without_allocations", 1, "the list has no hosts"),
    }
    path.write_text(f"{ONE} None\n{ONE[:-1]}2 cn1\n")
    options.code = ["doubled_consumer"]
    assert skipped("server_without_allocations") == set()


STORAGE = PROVIDERS._replace(
    names={**PROVIDERS.names, "nfs": "nfs"}, roots={**PROVIDERS.roots, "nfs": "nfs"}
)
BOTH_TYPES = frozenset({"INSTANCE", "MIGRATION"})


@pytest.mark.parametrize(
    ("place", "own"),
    [
        (RunsOn("cn1.example.org"), consumer("a", "cn2")),
        (RunsOn("cn1.example.org"), None),
        (Hidden("the list has no hosts"), consumer("a", "cn2")),
        (Hidden("the list has no hosts"), consumer("a", "cn2", "nfs")),
        (Hidden("the list has no hosts"), None),
    ],
)
def test_a_server_whose_host_is_not_known_may_run_on_a_claim(place: Place, own):
    """Whatever the amounts: a resize that failed has others. With storage that both use."""
    shared = ["nfs"] if own and "nfs" in own.allocations else []
    migration = consumer("m", "cn1", *shared, type="MIGRATION")
    live = ListOfFile({"a": place}, AT, BOTH_TYPES)
    comparison = Comparison(live, STORAGE, AT + SECOND, young(30))
    comparison.add([each for each in (own, migration) if each])
    assert "m" not in {each.consumer for each in comparison.of_consumers(with_orphans=True)}
    assert [each.text for each in skips(comparison, "orphaned_consumer")] == [
        "orphaned_consumer left out: a server without a claim on its host may run on it"
    ]


def test_a_file_does_not_say_whether_a_server_is_being_moved():
    """No command overwrites the claim on the target of a live migration in progress."""
    moved, lost = consumer("a", "cn2"), "b"
    live = ListOfFile({"a": RunsOn("cn1"), lost: RunsOn("cn1")}, AT)
    comparison = Comparison(live, PROVIDERS, AT + SECOND, young(30))
    comparison.add([moved])
    for finding in comparison.of_consumers(with_orphans=True):
        assert finding.cause.endswith(ListOfFile.unsure)
        assert finding.first_command(Commands()).endswith(" --dry-run")


def skips(comparison, code):
    return [
        kind(of, number, why)
        for (kind, of, why), number in comparison.skipped.items()
        if of == code
    ]


def test_a_server_that_has_its_claim_does_not_need_that_of_a_migration():
    """The host is not known, but the server has allocations in the tree."""
    own, migration = consumer("a", "cn1", "nfs"), consumer("m", "numa", "nfs", type="MIGRATION")
    live = ListOfFile({"a": Hidden("the list has no hosts")}, AT, BOTH_TYPES)
    comparison = Comparison(live, STORAGE, AT + SECOND, young(30))
    comparison.add([own, migration])
    (orphan,) = comparison.of_consumers(with_orphans=True)
    assert (orphan.code, orphan.consumer) == ("orphaned_consumer", "m")


def test_two_servers_of_a_host_without_a_claim_make_a_claim_ambiguous():
    """One of them has no allocations: the claim may be its own."""
    own, migration = consumer("a", "cn2"), consumer("m", "cn1", type="MIGRATION")
    live = ListOfFile({"a": RunsOn("cn1"), "b": RunsOn("cn1")}, AT, BOTH_TYPES)
    comparison = Comparison(live, PROVIDERS, AT + SECOND, young(30))
    comparison.add([own, migration])
    servers = comparison.of_consumers(with_orphans=True)
    assert [(each.consumer, each.migration) for each in servers] == [("a", None), ("b", None)]
    assert len(skips(comparison, "orphaned_consumer")) == 1


def test_nova_has_a_host_that_no_provider_is():
    """Its name is another one than that of the provider, and no hypervisor has the UUID."""
    own, migration = consumer("a", "cn2"), consumer("m", "cn1", type="MIGRATION")
    places = {"a": RunsOn("cn1.example.org")}
    live = ListOfNova(
        places,
        AT,
        BOTH_TYPES,
        {"cn2": Hypervisor("cn2")},
        servers_of={"m": "a"},
        current_places=lambda _uuids: places,
        service_of=lambda _hypervisor: None,
    )
    comparison = Comparison(live, PROVIDERS, AT + SECOND, young(30))
    comparison.add([own, migration])
    assert comparison.of_consumers(with_orphans=True) == []
    assert [each.text for each in skips(comparison, "orphaned_consumer")] == [
        "orphaned_consumer left out: no provider is the host of the server"
    ]


def test_a_server_is_requested_by_its_uuid_in_lower_case():
    """Another program may have written the UUID of the consumer in upper case."""
    places = {"a": RunsOn("cn1")}
    live = ListOfNova(
        {"b": NoHost()},
        AT,
        BOTH_TYPES,
        {"cn1": Hypervisor("cn1")},
        servers_of={},
        current_places=lambda uuids: {uuid: places[uuid] for uuid in uuids if uuid in places},
        service_of=lambda _hypervisor: None,
    )
    comparison = Comparison(live, PROVIDERS, AT + SECOND, young(30))
    comparison.add([consumer("A", "cn1")])
    assert comparison.of_consumers(with_orphans=True) == []


LOST = PROVIDERS._replace(
    names={**PROVIDERS.names, "lost": "cn1_numa1"},
    roots={**PROVIDERS.roots, "lost": "lost"},
    without_parent={"lost"},
)


def of_nova(*consumers, hosts, providers=PROVIDERS, hypervisors=None, **others):
    """Return a comparison with a list of nova, in which nothing changes."""
    places = {uuid: RunsOn(host) for uuid, host in hosts.items()}
    live = ListOfNova(
        places,
        AT,
        BOTH_TYPES,
        hypervisors or {name: Hypervisor(name) for name in ("cn1", "cn2")},
        **{"servers_of": {}, **others},
        current_places=lambda uuids: {uuid: places[uuid] for uuid in uuids if uuid in places},
        service_of=lambda _hypervisor: None,
    )
    comparison = Comparison(live, providers, AT + SECOND, young(30))
    comparison.add(consumers)
    return comparison


def of_file(*consumers, hosts, providers=PROVIDERS, **_):
    places: dict[str, Place] = {uuid: RunsOn(host) for uuid, host in hosts.items()}
    comparison = Comparison(ListOfFile(places, AT, BOTH_TYPES), providers, AT + SECOND, young(30))
    comparison.add(consumers)
    return comparison


def test_a_provider_without_root_may_be_a_part_of_any_host_unless_it_is_one():
    lost = AuditedProviders({}, {}, {"host"}, without_root={"a", "host"}, without_parent={"b"})
    assert lost.lost == {"a", "b"}


@pytest.mark.parametrize("compare", [of_nova, of_file])
@pytest.mark.parametrize(
    ("providers", "code"),
    [(["lost"], "allocations_on_other_host"), (["cn1", "lost"], "doubled_consumer")],
)
def test_allocations_on_a_provider_that_lost_its_tree_are_not_compared(compare, providers, code):
    """Its parent and its root were removed: it may be a part of the host of the server."""
    comparison = compare(consumer("a", *providers), hosts={"a": "cn1"}, providers=LOST)
    assert comparison.of_consumers(with_orphans=True) == []
    assert [each.text for each in skips(comparison, code)] == [
        f"not compared for {code}: a provider of its allocations has lost its parent"
    ]


@pytest.mark.parametrize(
    ("compare", "reason"),
    [
        (of_nova, "a provider of its allocations has lost its parent"),
        (of_file, "a server without a claim on its host may run on it"),
    ],
)
def test_a_claim_on_a_provider_that_lost_its_tree_may_be_that_of_its_server(compare, reason):
    """A migration to cn2 was aborted; nothing shows that the claim is not on cn1."""
    own, migration = consumer("a", "cn2"), consumer("m", "lost", type="MIGRATION")
    comparison = compare(
        *(own, migration), hosts={"a": "cn1"}, providers=LOST, servers_of={"m": "a"}
    )
    found = comparison.of_consumers(with_orphans=True)
    assert [(each.consumer, each.migration) for each in found] == [("a", None)]
    assert [each.text for each in skips(comparison, "orphaned_consumer")] == [
        f"orphaned_consumer left out: {reason}"
    ]


def test_a_migration_on_a_lost_provider_is_an_orphan_beside_the_claim_of_its_server():
    own, migration = consumer("a", "cn1"), consumer("m", "lost", type="MIGRATION")
    comparison = of_nova(
        *(own, migration), hosts={"a": "cn1"}, providers=LOST, servers_of={"m": "a"}
    )
    found = comparison.of_consumers(with_orphans=True)
    assert [(each.code, each.consumer) for each in found] == [("orphaned_consumer", "m")]


def test_the_old_name_of_a_renamed_host_means_the_host_that_has_it_now():
    """The provider "cn1" has another name in nova, where a host without provider is cn1."""
    hypervisors = {"cn1": Hypervisor("renamed"), "new": Hypervisor("cn1")}
    comparison = of_nova(
        consumer("a", "cn1"), hosts={"a": "renamed", "b": "cn1"}, hypervisors=hypervisors
    )
    (found,) = comparison.of_consumers(with_orphans=True)
    assert (found.consumer, found.host.uuid, found.host.name) == ("b", "new", "cn1")


@pytest.mark.parametrize("order", [1, -1])
def test_of_two_hosts_with_one_name_the_one_with_a_provider_is_meant(order):
    """Hosts of two cells have the name cn1: nova-compute of one cannot create its provider."""
    listed = [("cn1", Hypervisor("cn1")), ("new", Hypervisor("cn1"))][::order]
    comparison = of_nova(
        consumer("a", "cn1"), hosts={"a": "cn1", "b": "cn1"}, hypervisors=dict(listed)
    )
    (found,) = comparison.of_consumers(with_orphans=True)
    assert (found.code, found.consumer) == ("server_without_allocations", "b")


def test_an_evacuation_with_the_storage_of_its_source_is_one_finding():
    """Nova does not remove the allocations on the storage; the audit finds them afterwards."""
    comparison = of_nova(
        consumer("a", "cn1", "cn2", "nfs"),
        hosts={"a": "cn2"},
        providers=STORAGE,
        hypervisors={"cn1": Hypervisor("cn1", is_down=True), "cn2": Hypervisor("cn2")},
        evacuated={"a": {"cn1"}},
    )
    (found,) = comparison.of_consumers(with_orphans=True)
    assert (found.ends, found.providers) == (True, ["cn1", "nfs"])
    assert found.repair.endswith("when cn1 returns; audit again then for nfs")


def test_the_host_of_a_server_is_said_in_the_same_words_for_a_file_and_for_nova():
    causes = [
        compare(consumer("a", "cn2"), hosts={"a": "cn1"}).of_consumers(with_orphans=True)[0].cause
        for compare in (of_nova, of_file)
    ]
    cause = "the server is on cn1; its allocations are on cn2"
    unsure = "a file does not say whether nova is moving it, or a host is down"
    assert causes == [cause, f"{cause}; {unsure}"]
