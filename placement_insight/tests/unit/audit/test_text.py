"""The findings of an audit as a text."""

from placement_insight.audit.finding import Commands, Named
from placement_insight.audit.model import LeftOut, NotCompared
from placement_insight.audit.names import UnusedClass
from placement_insight.audit.servers import ServerWithoutAllocations
from placement_insight.audit.text import (
    by_provider,
    findings_text,
    overview_text,
    summary,
    value_text,
)
from placement_insight.audit.usage import MissingInventory

HOSTS = {"uuid-1": "host1", "uuid-2": "host2"}


def missing(uuid, name):
    provider = Named(uuid, HOSTS[uuid])
    finding = MissingInventory(provider=provider, resource_class=name, used=4, cause="removed")
    return finding.listed(HOSTS, Commands())


def test_the_classes_of_a_provider_are_listed_under_it():
    findings = [missing("uuid-1", "VCPU"), missing("uuid-1", "PGPU"), missing("uuid-2", "VCPU")]
    assert findings_text(findings, [], []).splitlines() == [
        "3 errors missing_inventory on 2 providers",
        "",
        "error missing_inventory (removed): provider host1 (uuid-1)",
        "  VCPU: used 4",
        "  PGPU: used 4",
        "  repair: add the inventory again, or move the consumers away",
        "  command: openstack resource consumer list --provider uuid-1",
        "",
        "error missing_inventory (removed): provider host2 (uuid-2), resource_class VCPU, used 4",
        "  repair: add the inventory again, or move the consumers away",
        "  command: openstack resource consumer list --provider uuid-2",
    ]


def test_an_overview_has_the_number_the_causes_and_the_next_command_of_each_code():
    unused = [UnusedClass(resource_class=name) for name in ("CUSTOM_A", "CUSTOM_B")]
    findings = [
        *(each.listed({}, Commands()) for each in unused),
        *(missing("uuid-1", "VCPU"), missing("uuid-1", "PGPU"), missing("uuid-2", "VCPU")),
    ]
    skipped = [LeftOut("orphaned_consumer", 1, "young")]
    text = overview_text(findings, ["unused_class"], skipped, "placement-manage audit")
    assert text.splitlines() == [
        "3 errors missing_inventory on 2 providers",
        "  cause: removed",
        "  repair: add the inventory again, or move the consumers away",
        "  list: placement-manage audit --code missing_inventory",
        "2 notices unused_class",
        "  repair: delete the resource class",
        "  next: placement-manage audit --code unused_class --plan repair.plan",
        "  list: placement-manage audit --code unused_class",
        "1 orphaned_consumer left out: young",
        "unused_class: there are further findings, which are not listed",
    ]
    assert overview_text([], [], [], "") == "Nothing found"


def test_classes_without_a_provider_are_separate():
    unused = [
        UnusedClass(resource_class=name).listed({}, Commands())
        for name in ("CUSTOM_A", "CUSTOM_B")
    ]
    text = findings_text(unused, ["unused_class"], [])
    assert text.splitlines() == [
        "2 notices unused_class",
        "unused_class: there are further findings, which are not listed",
        "",
        "notice unused_class: resource_class CUSTOM_A",
        "notice unused_class: resource_class CUSTOM_B",
        "  repair: delete the resource class",
        "  command: placement-manage audit --code unused_class --plan repair.plan",
    ]


def test_findings_of_a_code_are_counted_for_each_severity():
    over = [
        ServerWithoutAllocations(consumer=each, host=Named("u", "n"), host_alone=None, ends=ends)
        for each, ends in (("a", True), ("b", False))
    ]
    assert summary(by_provider(over), [], []) == [
        "1 notice server_without_allocations",
        "1 error server_without_allocations",
    ]


def test_nothing_found_is_not_said_beside_what_was_not_compared():
    assert findings_text([], [], []) == "Nothing found"
    skipped = [NotCompared("orphaned_consumer", 12, "being moved")]
    assert findings_text([], [], skipped).splitlines() == [
        " 0 findings",
        "12 not compared for orphaned_consumer: being moved",
    ]
    skipped = [LeftOut("orphaned_consumer", 1, "young")]
    lines = ["0 findings", "1 orphaned_consumer left out: young"]
    assert findings_text([], [], skipped).splitlines() == lines
    assert overview_text([], [], skipped, "").splitlines() == lines


def test_consumer_types_that_were_not_compared_are_printable():
    skipped = [NotCompared("orphaned_consumer", 1, "the list does not cover the type A\x1b[0m")]
    assert findings_text([], [], skipped).endswith(r"the type A\x1b[0m")


def test_values_have_the_names_of_their_uuids():
    assert value_text(Named("uuid-1", "host1"), {}) == "host1 (uuid-1)"
    assert value_text(["uuid-1", "other"], HOSTS) == "host1 (uuid-1), other"
    assert value_text([], HOSTS) == value_text(None, HOSTS) == value_text({}, HOSTS) == "none"
