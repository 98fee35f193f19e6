"""``openstack placement changes`` against a service."""

import pytest

from placement.tests.support.processes import ApiProcess
from placement_insight.tests.support.openstack_client import Client, add_claim, add_host

SERVER = "a7c1f9e2-5b34-4c68-9d0e-2f4b6a8c0d11"


@pytest.fixture
def openstack(tmp_path):
    with ApiProcess(tmp_path, "--development", "--port", "0") as service:
        service.get()
        host = add_host(service.url, "cn1", VCPU=8)
        add_host(service.url, "cn2", VCPU=8)
        add_claim(service.url, SERVER, {host: {"VCPU": 2}})
        yield Client(service.url)


def test_changes_of_a_host_the_newest_first(openstack):
    rows = openstack("placement changes", "--since=1h", "--host=cn1")
    assert [row["text"] for row in rows] == [
        f"server {SERVER}: placed on cn1 (VCPU 2)",
        "cn1: VCPU added (total 8)",
        "cn1: created",
    ]
    assert {row["user_id"] for row in rows} == {"admin"}
    assert openstack("placement changes", f"--consumer={SERVER}") == rows[:1]
    assert openstack("placement changes", f"--request={rows[1]['request_id']}") == rows[1:2]


def test_a_table_has_the_sentences_and_says_how_far_it_reaches(openstack):
    result = openstack.run("placement changes", "--limit=1")
    assert "placed on cn1" in " ".join(result.stdout.split())
    assert result.stderr.startswith("To list more: --marker ")
    result = openstack.run("placement changes")
    assert result.stderr.startswith("All changes since ")
    result = openstack.run("placement changes", "--kind=repair")
    assert result.returncode == 0
    assert result.stderr.endswith("No recorded change matches the options.\n")
