"""The findings of an audit as a text."""

from placement.insight.audit.model import Finding
from placement.insight.audit.text import findings_text

HOSTS = {"uuid-1": "host1", "uuid-2": "host2"}


def excess(uuid, name):
    provider = {"uuid": uuid, "name": HOSTS[uuid]}
    rows = {"provider": provider, "resource_class": name, "used": 4, "capacity": 2}
    return Finding("over_capacity", rows, "reserved", "move", {uuid: HOSTS[uuid]}).as_json()


def test_the_classes_of_a_provider_are_listed_under_it():
    findings = [excess("uuid-1", "VCPU"), excess("uuid-1", "DISK_GB"), excess("uuid-2", "VCPU")]
    assert findings_text(findings, []).splitlines() == [
        "error over_capacity (reserved): provider host1 (uuid-1)",
        "  VCPU: used 4, capacity 2",
        "  DISK_GB: used 4, capacity 2",
        "  repair: move",
        "  command: openstack resource consumer list --provider uuid-1",
        "error over_capacity (reserved): "
        "provider host2 (uuid-2), resource_class VCPU, used 4, capacity 2",
        "  repair: move",
        "  command: openstack resource consumer list --provider uuid-2",
        "",
        "3 error over_capacity on 2 providers",
    ]


def test_classes_without_a_provider_are_separate():
    unused = [
        Finding("unused_class", {"resource_class": name}, "", "delete").as_json()
        for name in ("CUSTOM_A", "CUSTOM_B")
    ]
    text = findings_text(unused, ["unused_class"])
    assert "notice unused_class: resource_class CUSTOM_A\n" in text
    assert text.endswith(
        "\nunused_class: there are further findings, which are not listed\n\n2 notice unused_class"
    )
