"""A client that others wrote works against the service that ``make serve`` starts."""

import pytest
import requests

from placement.tests.support.processes import ApiProcess, UwsgiProcesses
from placement_insight.tests.support.openstack_client import AGGREGATE, Client

OLD_CLIENT = {
    "User-Agent": "curl/8.5.0",
    "X-Auth-Token": "admin",
    "OpenStack-API-Version": "placement 1.10",
}
SERVER = "a7c1f9e2-5b34-4c68-9d0e-2f4b6a8c0d11"
pytestmark = pytest.mark.xdist_group("client insight")  # the modules of openstack take seconds


@pytest.fixture
def openstack(tmp_path):
    with ApiProcess(tmp_path, "--development", "--port", "0") as service:
        service.get()
        yield Client(service.url)


def test_the_microversions_of_clients_are_listed_if_metrics_are_enabled(tmp_path):
    metrics = {"OS_METRICS__ENABLED": "true", "OS_METRICS__FOLDER": str(tmp_path / "metrics")}
    with UwsgiProcesses(tmp_path, workers=2, **metrics) as service:
        service.get()
        for _ in range(6):
            requests.get(f"{service.url}/traits", headers=OLD_CLIENT, timeout=60)
        rows = Client(service.url)("placement clients")
    assert {"client": "curl", "microversion": "1.10", "requests": 6} in rows


def test_clients_are_not_counted_without_metrics(openstack):
    assert "Set [metrics]enabled and [metrics]folder" in openstack.refused("placement clients")


def test_a_client_registers_a_host_and_claims_a_candidate(openstack):
    host = openstack("resource provider create", "host1")["uuid"]
    stock = ["VCPU=16", "VCPU:allocation_ratio=4", "MEMORY_MB=32768"]
    listed = openstack(
        "resource provider inventory set", host, *(f"--resource={amount}" for amount in stock)
    )
    assert {row["resource_class"]: row["total"] for row in listed} == {
        "VCPU": 16,
        "MEMORY_MB": 32768,
    }
    openstack("resource provider trait set", host, "--trait=HW_CPU_X86_AVX2")
    openstack(
        "resource provider aggregate set", host, f"--aggregate={AGGREGATE}", "--generation=2"
    )

    wanted = ["--resource=VCPU=2", "--required=HW_CPU_X86_AVX2", f"--member-of={AGGREGATE}"]
    (candidate,) = openstack("allocation candidate list", *wanted)
    assert (candidate["resource provider"], candidate["allocation"]) == (host, "VCPU=2")

    owner = ["--project-id=demo", "--user-id=me", "--consumer-type=INSTANCE"]
    openstack("resource provider allocation set", SERVER, f"--allocation=rp={host},VCPU=2", *owner)
    (held,) = openstack("resource provider allocation show", SERVER)
    assert (held["resource_provider"], held["resources"]) == (host, {"VCPU": 2})
    usages = openstack("resource provider usage show", host)
    assert {row["resource_class"]: row["usage"] for row in usages} == {"VCPU": 2, "MEMORY_MB": 0}


def test_errors_reach_the_client(openstack):
    nobody = "00000000-1111-2222-3333-444444444444"
    error = openstack.refused("resource provider delete", nobody)
    assert f"No resource provider with uuid {nobody} found for delete" in error
