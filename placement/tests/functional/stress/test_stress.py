"""Stress over HTTP on four processes: no claim lost or doubled, no capacity exceeded."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from placement.tests.functional.stress.api import Api, Client
from placement.tests.functional.stress.workload import (
    SECONDS,
    assert_consistent,
    new_shared_state,
    report,
    running_clients,
)
from placement.tests.support.factories import assert_sound, new_provider, used, uuid

pytestmark = pytest.mark.long

ROUNDS = int(os.environ.get("STRESS_ROUNDS", "10"))
PROCESSES = 4


@pytest.fixture
def api(store, database_url, tmp_path):
    with Api(tmp_path / "api", database_url, PROCESSES) as api:
        yield api


@pytest.mark.timeout(SECONDS * 2 + 300)
def test_all_operations_at_once(store, api, backend):
    shared = new_shared_state(store)
    started_at = time.monotonic()
    with running_clients(shared, [api.port]) as clients:
        time.sleep(SECONDS)
    report(f"stress on {backend}", shared, PROCESSES, time.monotonic() - started_at)
    assert_consistent(store, shared, clients)
    assert "Traceback" not in api.log.read_text()


@pytest.mark.timeout(ROUNDS * 5 + 120)
def test_six_clients_claim_the_last_two_units(store, api, backend):
    """openstack-placement usually accepts three or more."""
    clients, start = [Client([api.port], seed) for seed in range(6)], Barrier(6)

    def claim(client, host):
        body = {
            "allocations": {host: {"resources": {"VCPU": 1}}},
            "project_id": "project",
            "user_id": "user",
            "consumer_generation": None,
            "consumer_type": "INSTANCE",
        }
        start.wait()
        return client.send("PUT", f"/allocations/{uuid()}", body).status

    with ThreadPoolExecutor(6) as pool:
        for _ in range(ROUNDS):
            host = new_provider(store, VCPU=2)
            statuses = sorted(pool.map(claim, clients, [host] * 6))
            assert statuses == [204, 204, 409, 409, 409, 409]
            assert used(store, host) == {"VCPU": 2}
    print(f"\nlast units on {backend}: {ROUNDS} rounds, exactly two each time")
    assert_sound(store)
