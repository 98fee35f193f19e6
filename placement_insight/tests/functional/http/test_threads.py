"""Clients of /insight that do not read their responses leave threads to all others.

Under servers that operators run, with 8 threads in one process: a thread waits for its client.
"""

import sys

import pytest
import requests

from placement.tests.support.processes import LATEST, program, uwsgi
from placement.tests.support.slow_clients import ALLOWED, add_many_traits, sent
from placement.tests.support.waiting import wait_until
from placement_insight.demo.cloud import cloud
from placement_insight.demo.database import load

pytestmark = pytest.mark.long

HOSTS, TRAITS = 300, 200  # responses of more than 20 MB; the buffers of sockets contain 10
ALL_TRAITS = """
INSERT INTO resource_provider_traits (resource_provider_id, trait_id)
SELECT resource_providers.id, traits.id FROM resource_providers, traits
WHERE traits.name LIKE 'CUSTOM_0%'
"""
CLIENTS = 40
PLACES = 6
ROUNDS = 2
UNREAD = f"GET /insight/providers HTTP/1.1\r\nHost: localhost\r\n{ALLOWED}\r\n"


def gunicorn(deployment):
    command = program("gunicorn", "pip install gunicorn")
    options = ("--bind", deployment.address, "--threads=8")
    deployment.start(command, *options, "placement.wsgi.api:application")


def waitress(deployment):
    """Waitress waits for the client when it has stored 64 kB of a response."""
    options = (f"--listen={deployment.address}", "--threads=8", "--outbuf-high-watermark=65536")
    arguments = ("-m", "waitress", *options, "placement.wsgi.api:application")
    deployment.start(sys.executable, *arguments)


def uwsgi_of_one_process(deployment):
    http = (f"--http-socket={deployment.address}", "--add-header=Connection: close")
    # by default it closes the connection of a client that has not read for 4 seconds
    options = ("--module=placement.wsgi.api:application", "--threads=8", "--socket-timeout=60")
    deployment.start(*uwsgi(*http, *options, workers=1))


@pytest.mark.parametrize("backend", ["sqlite"])
@pytest.mark.parametrize("serve", [gunicorn, waitress, uwsgi_of_one_process])
def test_unread_responses_leave_threads_to_others(store, database_url, deployment, serve):
    built = cloud(HOSTS)
    load(store, built)
    add_many_traits(database_url, TRAITS)
    with store.engines().writer.begin() as connection:
        connection.exec_driver_sql(ALL_TRAITS)
    provider = f"/resource_providers/{built.states[0].provider.uuid}"
    serve(deployment)
    deployment.wait()

    def status(path):
        return requests.get(deployment.url + path, headers=LATEST, timeout=30).status_code

    for _ in range(ROUNDS):
        wait_until(lambda: status("/insight/providers") == 200)  # the places are given back
        with sent([UNREAD] * CLIENTS, deployment.port) as connections:
            begun = [connection.recv(12) for connection in connections]
            assert begun.count(b"HTTP/1.1 200") == PLACES
            assert begun.count(b"HTTP/1.1 503") == CLIENTS - PLACES
            assert [status(path) for path in ("/", provider)] == [200, 200]
            assert status("/insight/consumers?limit=1") == 503
    lines = deployment.complete_logs().splitlines()
    refusals = [line for line in lines if "status: 503" in line]
    assert len(refusals) > ROUNDS * (CLIENTS - PLACES)
    assert all(" INFO " in line for line in refusals)
