"""The findings of an audit as a text."""

from placement.insight.audit.kinds import UnusedClass
from placement.insight.audit.model import CODES, Finding, Skipped
from placement.insight.audit.text import findings_text, skipped_counts

HOSTS = {"uuid-1": "host1", "uuid-2": "host2"}


def document(code, rows, cause, repair, names):
    values = {"code": code, "rows": rows, "cause": cause, "repair": repair, "names": names}
    command = Finding(UnusedClass("A"), "", "").repair_command
    if names:
        command = f"openstack resource consumer list --provider {next(iter(names))}"
    severity = CODES[code].severity
    return {**values, "severity": severity, "repair_command": command}


def excess(uuid, name):
    provider = {"uuid": uuid, "name": HOSTS[uuid]}
    rows = {"provider": provider, "resource_class": name, "used": 4, "capacity": 2}
    return document("over_capacity", rows, "reserved", "move", {uuid: HOSTS[uuid]})


def test_the_classes_of_a_provider_are_listed_under_it():
    findings = [excess("uuid-1", "VCPU"), excess("uuid-1", "DISK_GB"), excess("uuid-2", "VCPU")]
    assert findings_text(findings, []).splitlines() == [
        "3 error over_capacity on 2 providers",
        "",
        "error over_capacity (reserved): provider host1 (uuid-1)",
        "  VCPU: used 4, capacity 2",
        "  DISK_GB: used 4, capacity 2",
        "  repair: move",
        "  command: openstack resource consumer list --provider uuid-1",
        "",
        "error over_capacity (reserved): "
        "provider host2 (uuid-2), resource_class VCPU, used 4, capacity 2",
        "  repair: move",
        "  command: openstack resource consumer list --provider uuid-2",
    ]


def test_classes_without_a_provider_are_separate():
    unused = [
        document("unused_class", {"resource_class": name}, "", "delete", {})
        for name in ("CUSTOM_A", "CUSTOM_B")
    ]
    text = findings_text(unused, ["unused_class"])
    assert text.splitlines() == [
        "2 notice unused_class",
        "unused_class: there are further findings, which are not listed",
        "",
        "notice unused_class: resource_class CUSTOM_A",
        "notice unused_class: resource_class CUSTOM_B",
        "  repair: delete",
        "  command: placement-manage audit --code unused_class --plan repair.plan",
    ]


def test_nothing_found_is_not_said_beside_what_was_not_compared():
    assert findings_text([], []) == "Nothing found"
    skipped = skipped_counts([Skipped("orphaned_consumer", 12, "being moved")])
    assert findings_text([], [], skipped).splitlines() == [
        " 0 findings",
        "12 not compared for orphaned_consumer: being moved",
    ]
