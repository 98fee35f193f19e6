"""What an audit finds in data that is wrong in one way."""

import json
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from placement.core.model import Inventory
from placement.core.text import timestamp
from placement_insight.audit.consumers.model import ListedConsumer
from placement_insight.audit.finding import Claim, Commands, Named
from placement_insight.audit.hosts import hypervisors
from placement_insight.audit.kinds import KINDS, Audit, findings
from placement_insight.audit.model import (
    AuditedInventory,
    AuditedProvider,
    AuditedProviders,
    AuditedState,
    Hypervisor,
    LeftOut,
    NotCompared,
    StrayUsage,
)
from placement_insight.audit.servers import AllocationsOnOtherHost, ServerWithoutAllocations
from placement_insight.audit.trees import trees

NOW = datetime(2026, 11, 21, 2, 14)
HOUR = timedelta(hours=1)


def provider(id_, name=None, root=None, parent=None, updated_at=NOW):
    return AuditedProvider(
        id_, f"uuid-{id_}", name or f"host{id_}", root or id_, parent, updated_at
    )


def inventory(counter=4, changed_at=NOW, id_=1, used=None, newest_at=NOW, **values):
    """Return an inventory of a host; its usage is the counter, unless another sum is given."""
    limits = Inventory(**{"total": 8, **values})
    used = counter if used is None else used
    return AuditedInventory(provider(id_), "VCPU", limits, counter, changed_at, used, newest_at)


def by_id(*providers):
    return {row.id: row for row in providers}


OF_OTHERS = [inventory(0, id_=2), inventory(0, id_=3)]
HEALTHY = AuditedState(
    providers=by_id(provider(1), provider(2, root=1, parent=1), provider(3)),
    inventories=[inventory(), *OF_OTHERS],
    stray=[],
    lone_allocations={},
    empty_consumers=[],
    young={},
    unused_classes=[],
    unused_traits=[],
    hosts={"uuid-1", "uuid-3"},
    aggregates={"uuid-1": {"az"}, "uuid-3": {"az"}},
    consumer_types={"INSTANCE": 7, None: 0},
)


def only(**changes):
    (finding,) = findings(replace(HEALTHY, **changes))
    return finding


def command(finding):
    return finding.listed({}, Commands()).repair_command


def codes(**changes):
    return [finding.code for finding in findings(replace(HEALTHY, **changes))]


def test_nothing_is_wrong_with_healthy_data():
    assert codes() == []


@pytest.mark.parametrize(
    ("row", "code", "cause"),
    [
        (AuditedProvider(2, "u", "n", None, None, NOW), "missing_root", "none is set"),
        (
            AuditedProvider(2, "u", "n", 77, None, NOW),
            "missing_root",
            "the provider with the id 77 does not exist",
        ),
        (
            AuditedProvider(2, "u", "n", 1, 77, NOW),
            "missing_parent",
            "the provider with the id 77 does not exist",
        ),
        (
            AuditedProvider(2, "u", "n", 2, 77, NOW),
            "missing_parent",
            "the provider with the id 77 does not exist",
        ),
        (
            AuditedProvider(2, "u", "n", 3, 1, NOW),
            "wrong_root",
            "the root of its parent uuid-1 is another one",
        ),
        (AuditedProvider(2, "u", "n", 3, None, NOW), "wrong_root", "it has no parent"),
    ],
)
def test_trees_that_do_not_hold_together(row, code, cause):
    finding = only(providers=by_id(provider(1), row, provider(3)))
    assert (finding.code, finding.severity) == (code, "error")
    assert finding.rows["provider"] == Named("u", "n")
    assert finding.rows["expected_root"] == (
        "uuid-1" if 1 in (row.parent_id, row.root_id) else "u"
    )
    assert finding.cause == cause


def test_a_provider_whose_parent_was_removed_belongs_to_its_root():
    """So do the providers below it, which are no findings; a loop of both is none."""
    rows = [
        AuditedProvider(2, "u", "n", 1, 77, NOW),
        AuditedProvider(4, "v", "m", 1, 2, NOW),
    ]
    (finding,) = trees(replace(HEALTHY, providers=by_id(provider(1), *rows, provider(3))))
    assert (finding.code, finding.repair) == ("missing_parent", "make it a child of its root")
    assert finding.expected_parent == "uuid-1"
    loop = by_id(provider(1, parent=2), AuditedProvider(2, "u", "n", 1, 77, NOW), provider(3))
    assert [finding.expected_root for finding in trees(replace(HEALTHY, providers=loop))] == [
        "u",
        "u",
    ]


def test_allocations_without_inventory_or_provider():
    stray = [StrayUsage(3, provider(3), "MEMORY_MB", 5), StrayUsage(77, None, 5, 6)]
    missing_inventory, missing_provider = findings(replace(HEALTHY, stray=stray))
    assert missing_inventory.code == "missing_inventory"
    assert missing_inventory.rows == {
        "provider": Named("uuid-3", "host3"),
        "resource_class": "MEMORY_MB",
        "used": 5,
    }
    assert missing_provider.code == "missing_provider"
    assert missing_provider.rows == {"provider_id": 77, "resource_class": 5, "used": 6}


@pytest.mark.parametrize("counter", [0, 3, 5])
def test_a_usage_counter_that_is_not_the_sum(counter):
    finding = only(inventories=[inventory(counter, used=4), *OF_OTHERS])
    assert finding.code == "usage_counter"
    assert (finding.rows["counter"], finding.rows["used"]) == (counter, 4)


@pytest.mark.parametrize(
    "values", [{"total": 3}, {"allocation_ratio": 0.25}, {"total": 3, "max_unit": 1}]
)
def test_over_capacity_is_found_with_a_change_after_all_allocations(values):
    finding = only(inventories=[inventory(changed_at=NOW + HOUR, **values), *OF_OTHERS])
    assert (finding.code, finding.rows["used"]) == ("over_capacity", 4)
    assert finding.cause == (
        f"the inventory was changed at {timestamp(NOW + HOUR)}, after its newest allocation; "
        "its values before are not recorded"
    )


@pytest.mark.parametrize("changed_at", [NOW - HOUR, NOW, None])
def test_a_write_after_the_change_is_no_evidence(changed_at):
    """A server may have shrunk, or given its allocations to a migration."""
    finding = only(inventories=[inventory(changed_at=changed_at, total=3), *OF_OTHERS])
    assert (finding.code, finding.cause) == ("over_capacity", "")


@pytest.mark.parametrize(
    ("values", "used", "code"),
    [
        ({"total": 1, "reserved": 1}, 1, "reserved_in_use"),  # bare metal, one-time-use devices
        ({"total": 8, "reserved": 6, "allocation_ratio": 2.0}, 16, "reserved_in_use"),
        ({"total": 4, "reserved": 9}, 4, "reserved_in_use"),
        ({"total": 8, "reserved": 6, "allocation_ratio": 2.0}, 17, "over_capacity"),
        ({"total": 1, "reserved": 1}, 2, "over_capacity"),
        ({"total": 1, "reserved": 1}, 0, None),
    ],
)
def test_what_is_reserved_in_use_is_a_notice(values, used, code):
    found = codes(inventories=[inventory(used, **values), *OF_OTHERS])
    assert found == ([code] if code else [])
    assert KINDS["reserved_in_use"].level == "notice"


def test_what_fits_exactly_is_not_too_much():
    assert codes(inventories=[inventory(total=4), *OF_OTHERS]) == []
    assert codes(inventories=[inventory(total=2, allocation_ratio=2.0), *OF_OTHERS]) == []


def test_consumers_without_rows_and_without_allocations():
    lone = {"c": {"uuid-1": {"VCPU": 2, "MEMORY_MB": 512}}}
    empty_ones = [("d", 2)]
    missing, empty = findings(replace(HEALTHY, lone_allocations=lone, empty_consumers=empty_ones))
    assert missing.rows == {
        "consumer": "c",
        "allocations": {"uuid-1": {"VCPU": 2, "MEMORY_MB": 512}},
    }
    assert (missing.code, empty.code) == ("missing_consumer", "empty_consumer")
    assert empty.rows == {"consumer": "d", "generation": 2}


@pytest.mark.parametrize(
    ("names", "similar"),
    [
        (["cn1", "CN1"], True),
        (["cn1", "cn1.example.org"], True),
        (["cn1", "CN1.example.org", "cn1.other.org"], True),
        (["cn1.example.org", "cn1.other.org"], False),
        (["cn1", "cn10"], False),
        (["cn1.example.org", "CN1.EXAMPLE.ORG"], True),
    ],
)
def test_names_that_may_be_one_host(names, similar):
    rows = by_id(*(provider(number, name) for number, name in enumerate(names, start=1)))
    found_codes = codes(providers=rows)
    assert found_codes == (["similar_names"] if similar else [])
    if similar:
        assert only(providers=rows).severity == "notice"


def test_a_host_of_several_names_has_the_shortest_of_them():
    rows = by_id(provider(1, "CN1.example.org"), provider(2, "Cn1"))
    assert only(providers=rows).cause == "all may be the host Cn1"


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("cn1:Open vSwitch agent", "cn1"),
        ("CN1.example.org:NIC Switch agent", "cn1"),
        ("-cn_2_0000:81:00.0", "-cn_2"),
        ("cn1_pci_0000_81", "cn1"),
        ("cn10:Open vSwitch agent", None),
        ("storage_cn1", None),
        ("cn1-ilo", None),
    ],
)
def test_a_root_with_the_name_of_a_child_has_lost_its_parent(name, host):
    hosts = [provider(1, "cn1"), provider(3, "-cn_2")]
    providers = by_id(*hosts, provider(2, name))
    if host is None:
        assert codes(providers=providers) == []
        return
    finding = only(providers=providers)
    assert (finding.code, finding.severity) == ("lost_parent", "warning")
    assert (finding.provider.name, finding.host.name) == (name, host)
    name = host.replace("-cn_2", "-- -cn_2")  # otherwise an option
    assert command(finding) == f"openstack placement identity {name}"
    assert codes(providers=by_id(*hosts, provider(2, name, root=1, parent=1))) == []


@pytest.mark.parametrize("name", ["cn1.b", "cn1.a_2"])
def test_a_lost_child_belongs_to_the_host_whose_whole_name_it_has(name):
    """Hosts of two domains have one short name; the name of a host begins that of another."""
    hosts = [provider(1, "cn1.a"), provider(3, name)]
    for order in (hosts, hosts[::-1]):
        finding = only(providers=by_id(*order, provider(2, f"{name}:agent")))
        assert (finding.code, finding.host.name) == ("lost_parent", name)


def test_a_root_in_an_aggregate_of_the_host_may_share_with_it():
    providers = by_id(provider(1, "cn1"), provider(2, "cn1_nfs"))
    together = {"uuid-1": {"az", "nfs"}, "uuid-2": {"nfs"}}
    assert codes(providers=providers, aggregates=together) == []
    apart = {"uuid-1": {"az"}, "uuid-2": {"nfs"}}
    assert codes(providers=providers, aggregates=apart) == ["lost_parent"]


def test_traits_that_services_create_at_each_start_may_be_unused():
    names = ["CUSTOM_NETWORK_TUNNEL_PROVIDER", "CUSTOM_PHYSNET_A", "CUSTOM_VNIC_TYPE_NORMAL"]
    assert codes(unused_traits=names) == []
    assert codes(unused_traits=[*names, "CUSTOM_PHYSNET"]) == ["unused_trait"]


def test_the_class_of_a_lease_that_has_not_begun_is_unused():
    assert codes(unused_classes=["CUSTOM_RESERVATION_09C58970"]) == []
    assert codes(unused_classes=["CUSTOM_RESERVATION"]) == ["unused_class"]


def test_names_of_children_may_be_alike():
    rows = by_id(provider(1, "cn1"), provider(2, "CN1.gpu", root=1, parent=1), provider(3))
    assert codes(providers=rows) == []


def test_names_that_nobody_uses():
    reported = list(
        findings(replace(HEALTHY, unused_classes=["CUSTOM_A"], unused_traits=["CUSTOM_B"]))
    )
    assert [(each.code, each.severity) for each in reported] == [
        ("unused_class", "notice"),
        ("unused_trait", "notice"),
    ]


def test_providers_that_nothing_reports_are_found_on_demand():
    old = NOW - timedelta(days=91)
    rows = by_id(provider(1, updated_at=old), provider(3, updated_at=old))
    data = replace(HEALTHY, providers=rows)
    assert list(findings(data)) == []
    assert list(findings(data, stale_before=old - HOUR)) == []
    (finding,) = findings(data, stale_before=old + HOUR)
    assert (finding.code, finding.provider.name) == ("stale_provider", "host1")


@pytest.mark.parametrize("migration", [None, Claim("m", 2, {"u1": {"VCPU": 4}})])
def test_findings_about_servers_are_read_from_their_document(migration):
    host = Named("u1", "cn1")
    lost = ServerWithoutAllocations(
        consumer="a", host=host, host_alone=None if migration else False, migration=migration
    )
    row = ListedConsumer("b", "p", "u", None, 1, NOW, None, {"u2": {"VCPU": 4}}, {})
    other = AllocationsOnOtherHost.of(row, host=host, host_alone=True, migration=migration)
    skipped = [LeftOut("doubled_consumer", 2, "young"), NotCompared("unused_type", 1, "why")]
    found = Audit(NOW, [each.listed({}, Commands()) for each in (lost, other)], [], skipped)
    document = json.loads(json.dumps(found.as_json()))
    assert Audit.from_json(document) == found
    assert all(("migration" in each["rows"]) == bool(migration) for each in document["findings"])
    commands = [each["repair_command"] for each in document["findings"]]
    if migration:
        assert all(each.endswith(" --plan repair.plan") for each in commands)
    else:
        heal = "nova-manage placement heal_allocations --instance b --force"
        assert commands == ["openstack server show a", heal]


def test_each_code_has_a_severity():
    assert {kind.level for kind in KINDS.values()} == {"error", "warning", "notice"}


# --- hosts, and consumer types ------------------------------------------------------------


def test_a_host_below_a_host_is_an_error():
    """Also with a provider that is no host between them; a loop of parents has another finding."""
    between = provider(2, root=1, parent=1)
    below = provider(3, root=1, parent=2)
    finding = only(providers=by_id(provider(1), between, below))
    assert (finding.code, finding.severity) == ("nested_compute_node", "error")
    assert finding.rows == {
        "provider": Named("uuid-3", "host3"),
        "host": Named("uuid-1", "host1"),
        "parent": "uuid-2",
        "root": "uuid-1",
    }
    assert codes(providers=by_id(provider(1), between, below), hosts={"uuid-3"}) == []
    loop = by_id(provider(1, parent=3), between, provider(3, root=1, parent=2))
    assert codes(providers=loop, hosts={"uuid-3"}) == ["wrong_root"] * 3


def test_a_leaf_without_inventory_and_usage_is_noticed():
    finding = only(inventories=[inventory(), inventory(0, id_=2)])
    assert (finding.code, finding.severity) == ("provider_without_inventory", "notice")
    assert finding.provider.name == "host3"
    alone = only(providers=by_id(provider(1)), inventories=[], hosts=set(), aggregates={})
    assert alone.provider.name == "host1"
    middle, leaf = provider(2, root=1, parent=1), provider(3, root=1, parent=2)
    children = by_id(provider(1), middle, leaf)
    only_leaf = [inventory(), inventory(0, id_=3)]
    assert codes(providers=children, inventories=only_leaf, hosts={"uuid-1"}) == []


@pytest.mark.parametrize(
    ("aggregated", "missing"),
    [(set(), []), ({1}, []), ({1, 3}, ["host5"]), ({1, 2, 5}, ["host3"])],
)
def test_a_host_in_no_aggregate_is_noticed_if_most_hosts_are_in_one(aggregated, missing):
    rows = {**HEALTHY.providers, 5: provider(5)}
    found = findings(
        replace(
            HEALTHY,
            providers=rows,
            inventories=[*HEALTHY.inventories, inventory(0, id_=5)],
            hosts={"uuid-1", "uuid-3", "uuid-5"},
            aggregates={f"uuid-{id_}" for id_ in aggregated},
        )
    )
    assert [finding.provider.name for finding in found] == missing


def test_types_without_consumers():
    unused = only(consumer_types={"INSTANCE": 0, "MIGRATION": 0, "POD": 0, "VOLUME": 1, None: 0})
    assert (unused.code, unused.severity) == ("unused_type", "notice")
    assert unused.rows == {"type": "POD"}
    assert command(unused) == "placement-manage audit --code unused_type --plan repair.plan"


def test_consumers_without_a_type_are_noticed_beside_others_with_one():
    finding = only(consumer_types={"INSTANCE": 9, None: 4})
    assert (finding.code, finding.rows) == (
        "untyped_consumers",
        {"type": "unknown", "consumers": 4},
    )
    assert command(finding) == "openstack resource consumer list --type unknown"
    assert codes(consumer_types={"INSTANCE": 0, None: 4}) == []


def test_hypervisors_without_provider_and_hosts_without_hypervisor():
    names = {"u1": "cn1", "u2": "cn2", "u3": "pool", "u5": "cn5"}
    providers = AuditedProviders(names, roots={}, hosts={"u1", "u2", "u5"})
    of_nova = {"u1": Hypervisor("cn1"), "u2": Hypervisor("cn2"), "u5": Hypervisor("cn5")}
    assert list(hypervisors(of_nova, providers)) == []
    of_nova = {"u2": Hypervisor("cn2"), "v1": Hypervisor("cn1"), "v4": Hypervisor("cn4")}
    reinstalled, unknown, left = hypervisors(of_nova, providers)
    assert [finding.code for finding in (reinstalled, unknown, left)] == [
        "hypervisor_without_provider",
        "hypervisor_without_provider",
        "provider_without_hypervisor",
    ]
    assert reinstalled.rows == {
        "hypervisor": Named("v1", "cn1"),
        "provider": Named("u1", "cn1"),
    }
    assert reinstalled.cause == "a provider with another UUID has the name"
    assert command(unknown) == "openstack placement identity cn4"
    assert (unknown.severity, left.severity) == ("error", "notice")
    assert left.rows == {"provider": Named("u5", "cn5")}


@pytest.mark.parametrize(("is_down", "severity"), [(True, "notice"), (False, "error")])
def test_nova_writes_the_status_of_a_host_that_is_down_when_it_returns(is_down, severity):
    providers = AuditedProviders({"u1": "cn1"}, roots={}, hosts={"u1"})
    (finding,) = hypervisors({"u1": Hypervisor("cn1", is_down, is_disabled=True)}, providers)
    assert (finding.code, finding.severity) == ("status_of_nova", severity)
    assert bool(command(finding)) != is_down
