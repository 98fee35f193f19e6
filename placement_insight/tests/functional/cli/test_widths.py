"""Every list at 80, 120 and 200 columns: it fits, and the columns that answer stay."""

import json
import time

import pytest

from placement.tests.support.processes import ApiProcess
from placement_insight.tests.support.openstack_client import AGGREGATE, Client, add_claim, add_host

NAMES = [f"gpu-az2-r14-0{number}.dc1.example.org" for number in range(1, 4)]
SERVERS = [f"a7c1f9e2-5b34-4c68-9d0e-2f4b6a8c0d1{number}" for number in range(3)]
CLASSES = {"VCPU": 64, "PCPU": 16, "MEMORY_MB": 262144, "DISK_GB": 3550, "SRIOV_NET_VF": 16}
# the tests share one service
pytestmark = pytest.mark.xdist_group("client resources")


@pytest.fixture(scope="module")
def openstack(tmp_path_factory):
    """Three hosts with devices and long names, and servers with all their classes."""
    with ApiProcess(tmp_path_factory.mktemp("api"), "--development", "--port", "0") as service:
        service.get()
        for name, server in zip(NAMES, SERVERS, strict=True):
            aggregates = [AGGREGATE] if name == NAMES[0] else []
            totals = {**CLASSES, "DISK_GB": 3550 + len(aggregates)}
            host = add_host(
                service.url, name, traits=["COMPUTE_NODE"], aggregates=aggregates, **totals
            )
            device = add_host(service.url, f"{name}_0000:3b:00.0", parent=host, VGPU=8)
            amounts = {"VCPU": 4, "PCPU": 2, "MEMORY_MB": 32768, "DISK_GB": 40, "SRIOV_NET_VF": 1}
            add_claim(service.url, server, {host: amounts, device: {"VGPU": 2}})
        add_host(service.url, "gpu-az2-r14-01", traits=["COMPUTE_STATUS_DISABLED"], VCPU=64)
        client = Client(service.url)
        client.run("allocation candidate list", "--resource", "VCPU=65")
        time.sleep(1)
        yield client


LISTS = {
    "placement top": ("host", "used", "free"),
    "placement drain gpu-az2-r14-02": ("consumer", "to"),
    "placement survive": ("name", "stuck", "reason"),
    "placement identity gpu-az2-r14-01": ("name", "match"),
    "placement audit --code similar_names": ("rows", "cause"),
    "resource provider tree": ("name", "usage"),
    "resource consumer list": ("uuid", "allocations"),
    "resource consumer list --group-by project": ("project", "consumers"),
    "resource consumer list --group-by host --sort -VGPU": ("host", "consumers", "VGPU"),
    "allocation request list": ("at", "reason", "request"),
    "allocation request list --summary": ("by", "name", "requests"),
}


@pytest.mark.parametrize("width", [80, 120, 200])
@pytest.mark.parametrize("command", LISTS)
def test_the_answer_is_there_at_each_width(openstack, command, width):
    shown = openstack.run(command, f"--max-width={width}")
    assert "Traceback" not in shown.stderr
    lines = shown.stdout.splitlines()
    assert max(map(len, lines)) <= width
    header = [cell.strip() for cell in lines[1].split("|")[1:-1]]
    assert set(LISTS[command]) <= {*header, *shown.stderr.partition("In all rows: ")[2].split()}


def test_devices_classes_and_targets_are_complete_at_80_columns(openstack):
    def words(command):
        shown = openstack.run(command, "--max-width=80")
        return shown.stdout.replace("|", " ").split(), shown.stderr

    consumers, _ = words("resource consumer list")
    assert {"VGPU=2", *SERVERS} <= set(consumers)
    sums, _ = words("resource consumer list --group-by project")
    used = {"DISK_GB=120", "MEMORY_MB=98304", "PCPU=6", "SRIOV_NET_VF=3", "VCPU=12", "VGPU=6"}
    assert used <= set(sums)
    moves, notes = words("placement drain gpu-az2-r14-02")
    assert "gpu-az2-r14-03" in moves
    assert "Names end with .dc1.example.org: from, to." in notes
    requests, notes = words("allocation request list")
    assert {"resources=VCPU:65", "no_inventory"} & set(requests)
    assert "Columns left out: " in notes


def test_hosts_are_selected_and_sorted(openstack):
    top = openstack("placement top", "--class", "VGPU", "--limit", "2")
    assert [(row["host"], row["share"], row["used"]) for row in top] == [
        (name, 0.25, 6 // 3) for name in NAMES[:2]
    ]
    assert top[0]["free"]["VCPU"] == 60
    assert [row["host"] for row in openstack("placement top", "--disabled", "--empty")] == []
    shown = openstack.run("placement top", "--limit=1")
    assert shown.stderr.splitlines()[:3] == [
        "3 hosts: 0 full, 0 empty, 0 fragmented, 0 disabled, 0 reserved, 0 over capacity",
        "In use on hosts: VGPU 25%, MEMORY_MB 12%, PCPU 12%, VCPU 6%, SRIOV_NET_VF 6%, DISK_GB 1%",
        "1 of 3 selected hosts are listed. All: --limit 0.",
    ]
    assert json.loads(openstack.run("placement top", "-f", "json", "--rack=CUSTOM_").stdout) == []
    assert "No host has VCPUS. There are: DISK_GB, " in openstack.refused(
        "placement top", "--class=VCPUS"
    )
    refused = openstack.refused("placement top", "--limit=-1")
    assert "limit is '-1', which is not a number from 0." in refused
