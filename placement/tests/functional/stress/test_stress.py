"""Storms over HTTP on four processes: nothing lost, nothing doubled, nothing over capacity."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from placement.tests.functional.db.factories import assert_sound, new_provider, used, uuid
from placement.tests.functional.stress.api import Api, Client
from placement.tests.functional.stress.workload import (
    SECONDS,
    assert_kept,
    new_world,
    report,
    storm,
)

ROUNDS = int(os.environ.get("STORM_ROUNDS", "10"))
PROCESSES = 4


@pytest.fixture
def api(store, database_url, tmp_path):
    with Api(tmp_path / "api", database_url, PROCESSES) as found:
        yield found


@pytest.mark.timeout(SECONDS * 2 + 300)
def test_everything_at_once(store, api, backend):
    world = new_world(store)
    begun = time.monotonic()
    with storm(world, [api.port]) as stormers:
        time.sleep(SECONDS)
    report(f"storm on {backend}", world, PROCESSES, time.monotonic() - begun)
    assert_kept(store, world, stormers)
    assert "Traceback" not in api.log.read_text()


@pytest.mark.timeout(ROUNDS * 5 + 120)
def test_six_clients_claim_the_last_two_units(store, api, backend):
    """The reference lets three or more in, most of the time."""
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
    for client in clients:
        client.close()
    print(f"\nlast units on {backend}: {ROUNDS} rounds, exactly two each time")
    assert_sound(store)
