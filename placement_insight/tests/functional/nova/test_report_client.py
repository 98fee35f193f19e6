"""The global request id that nova logs finds the explanation.

Uses the report client of nova itself, in an environment of its own: ``make test-nova``.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

from placement.tests.support.processes import ApiProcess
from placement_insight.tests.support.openstack_client import Client

PYTHON = os.environ.get("NOVA_PYTHON", "")
SCRIPT = Path(__file__).with_name("report_client.py")
EXPLAIN = "allocation candidate explain"

pytestmark = pytest.mark.skipif(not PYTHON, reason="NOVA_PYTHON is not set: make test-nova")


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with ApiProcess(tmp_path_factory.mktemp("api"), "--development", "--port", "0") as service:
        service.get()
        client = Client(service.url)
        host = client("resource provider create", "compute1")["uuid"]
        stock = ("VCPU=64", "MEMORY_MB=4096", "DISK_GB=100")
        client("resource provider inventory set", host, *(f"--resource={each}" for each in stock))
        client("resource provider trait set", host, "--trait=HW_CPU_X86_AVX2")
        yield service.url, client


@pytest.fixture(scope="module")
def of_nova(served):
    """What nova's client sent, by its global request ids."""
    url, client = served
    result = subprocess.run(
        [PYTHON, SCRIPT, url], capture_output=True, text=True, check=False, timeout=120
    )
    assert result.returncode == 0, result.stderr
    for kind in ("no_candidates", "refused_claim"):
        client.recorded(kind=kind)
    return json.loads(result.stdout)


def test_a_request_that_does_not_fit_is_found_by_the_global_id(served, of_nova):
    _, openstack = served
    assert of_nova["empty"]["candidates"] == 0
    explanation = openstack(EXPLAIN, "--request-id", of_nova["empty"]["global_id"])
    assert (explanation["fits"], explanation["reason"], explanation["roots"]) == (0, "capacity", 1)
    (row,) = explanation["funnel"]
    assert row["detail"]["needed"] == 99
    assert explanation["near_misses"][0]["name"] == "compute1"
    assert "resources=" in explanation["query"]
    assert explanation["global_request_id"] == of_nova["empty"]["global_id"]


def test_a_claim_that_is_refused_is_found_by_the_global_id(served, of_nova):
    _, openstack = served
    assert of_nova["refused"]["is_claimed"] is False
    explanation = openstack(EXPLAIN, "--request-id", of_nova["refused"]["global_id"])
    assert (explanation["kind"], explanation["reason"]) == ("refused_claim", "capacity")
    assert (explanation["explanation"]["needed"], explanation["explanation"]["capacity"]) == (
        99,
        64,
    )
