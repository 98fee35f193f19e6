"""``openstack placement preview``: consumers that a change would leave in several trees."""

import json

import pytest

from placement.core.model import SHARING_TRAIT
from placement.tests.support.processes import ApiProcess
from placement_insight.tests.support.openstack_client import Client, add_claim, add_host

WITHIN, SPANNING, POOLED = (f"a7c1f9e2-5b34-4c68-9d0e-2f4b6a8c0d1{number}" for number in range(3))
# the tests share one service
pytestmark = pytest.mark.xdist_group("client resources")


@pytest.fixture(scope="module")
def openstack(tmp_path_factory):
    """Two hosts, the first with a NUMA node, a pool of storage, and three consumers."""
    with ApiProcess(tmp_path_factory.mktemp("api"), "--development", "--port", "0") as service:
        service.get()
        client = Client(service.url)
        uuids = client.uuids = {
            name: add_host(service.url, name, VCPU=16) for name in ("cn1", "cn2")
        }
        numa = uuids["numa"] = add_host(service.url, "numa", uuids["cn1"], VCPU=16)
        pool = uuids["pool"] = add_host(service.url, "pool", traits=[SHARING_TRAIT], DISK_GB=100)
        add_claim(service.url, WITHIN, {numa: {"VCPU": 2}})
        add_claim(service.url, SPANNING, {uuids["cn1"]: {"VCPU": 2}, numa: {"VCPU": 1}})
        add_claim(service.url, POOLED, {numa: {"VCPU": 2}, pool: {"DISK_GB": 1}})
        yield client


def spanning(client, *arguments):
    listed = client("placement preview", *arguments)
    return {row["consumer"]: sorted(row["trees"].values()) for row in listed}


def test_a_child_that_moves_takes_its_allocations_along(openstack):
    expected = {SPANNING: ["cn1", "cn2"]}
    assert spanning(openstack, "--parent", "numa", "cn2") == expected
    numa = openstack.uuids["numa"].upper().replace("-", "")
    assert spanning(openstack, "--parent", numa, "cn2") == expected
    assert spanning(openstack, "--root", "numa") == {SPANNING: ["cn1", "numa"]}
    shown = openstack.run("placement preview", "--parent", "numa", "cn2")
    assert shown.stderr == "1 of 3 consumers would have allocations in several trees.\n"
    assert "cn1" in shown.stdout


def test_a_tree_that_moves_as_a_whole_stays_together(openstack):
    assert spanning(openstack, "--parent", "cn1", "cn2") == {}
    assert spanning(openstack, "--root", "cn1") == {}


def test_a_reshape_is_read_from_a_file(openstack, tmp_path):
    def claim(*names):
        return {"allocations": {openstack.uuids[name]: {"resources": {}} for name in names}}

    body = {"inventories": {}, "allocations": {}}
    body["allocations"] = {
        WITHIN: claim("cn1", "numa"),
        SPANNING: claim("numa", "cn2"),
        POOLED: claim("cn1", "pool"),
    }
    path = tmp_path / "reshape.json"
    path.write_text(json.dumps(body))
    assert spanning(openstack, "--reshape", path) == {SPANNING: ["cn1", "cn2"]}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "is not the body of a POST /reshaper"),
        ('{"allocations": {"a": []}}', "is not the body of a POST /reshaper"),
        ('{"allocations": {"a": {"allocations": {"u": {}}}}}', "do not exist: u."),
        (None, "No such file or directory."),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error(openstack, tmp_path, text, sentence):
    path = tmp_path / "reshape.json"
    if text is not None:
        path.write_text(text)
    errors = openstack.refused("placement preview", "--reshape", path)
    assert sentence in errors
    assert "Traceback" not in errors


def test_a_provider_cannot_move_below_itself(openstack):
    for parent in ("cn1", "numa"):
        errors = openstack.refused("placement preview", "--parent", "cn1", parent)
        assert f"{parent} cannot be the parent" in errors
    unknown = "00000000-0000-4000-8000-000000000000"
    assert f"There is no provider {unknown}." in openstack.refused(
        "placement preview", "--root", unknown
    )
