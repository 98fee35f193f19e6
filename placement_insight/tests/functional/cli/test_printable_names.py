"""Names of others cannot control the terminal; formats other than tables have them unchanged."""

import re
from pathlib import Path

import pytest
import requests

from placement.cmd import manage
from placement.tests.support.processes import LATEST, ApiProcess
from placement.tests.support.waiting import wait_until
from placement_insight.tests.support.openstack_client import Client

NAME = "evil\x1b[31m\x07\u202e\nname"
PRINTED = r"evil\x1b[31m\x07\u202e\nname"
PROJECT = "project\x1b]0;title\x07"
CONSUMER = "a7c1f9e2-5b34-4c68-9d0e-2f4b6a8c0d11"
HEADERS = LATEST | {"X-Auth-Token": "admin"}
EXPLAIN = "allocation candidate explain"
# the tests share one service
pytestmark = pytest.mark.xdist_group("client resources")


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """A provider with the name, a consumer of the project, a conflict, and an empty response."""
    proxied = {"OS_OSLO_MIDDLEWARE__ENABLE_PROXY_HEADERS_PARSING": "true"}
    folder = tmp_path_factory.mktemp("api")
    with ApiProcess(folder, "--development", "--port", "0", **proxied) as service:
        service.get()

        def send(method, path, **arguments):
            url = f"{service.url.rstrip('/')}{path}"
            return requests.request(method, url, headers=HEADERS, timeout=60, **arguments)

        host = send("POST", "/resource_providers", json={"name": NAME}).json()["uuid"]
        body = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 8}}}
        send("PUT", f"/resource_providers/{host}/inventories", json=body)
        claim = {
            "allocations": {host: {"resources": {"VCPU": 2}}},
            "project_id": PROJECT,
            "user_id": "me",
            "consumer_generation": None,
            "consumer_type": "INSTANCE",
        }
        assert send("PUT", f"/allocations/{CONSUMER}", json=claim).status_code == 204
        assert send("POST", "/resource_providers", json={"name": NAME}).status_code == 409
        body = {"resource_provider_generation": 2, "inventories": {"VCPU": {"total": 1}}}
        assert send("PUT", f"/resource_providers/{host}/inventories", json=body).status_code == 200
        body = {"resource_provider_generation": 3, "inventories": {"VCPU": {"total": 8}}}
        send("PUT", f"/resource_providers/{host}/inventories", json=body)
        service.host = host
        yield service


@pytest.fixture(scope="module")
def openstack(service):
    return Client(service.url)


@pytest.mark.parametrize(
    ("command", "arguments", "printed"),
    [
        ("placement identity", [NAME], PRINTED),
        ("resource provider tree", [], PRINTED),
        ("resource consumer list", [], r"project\x1b]0;title\x07"),
        (EXPLAIN, ["--resource", "VCPU=100"], PRINTED),
        ("resource capacity show", ["--resource", "VCPU=1", "--by", "root"], PRINTED),
    ],
)
def test_tables_of_openstack_are_printable(openstack, command, arguments, printed):
    result = openstack.run(command, *arguments, "--max-width", "0")
    assert result.returncode == 0, result.stderr
    assert printed in result.stdout
    assert is_printable(result.stdout)


def is_printable(text):
    return all(line.isprintable() for line in text.split("\n"))


def test_names_in_other_formats_are_exact(openstack, service):
    (row,) = [row for row in openstack("placement identity", NAME) if row["match"] == "name"]
    assert row["name"] == NAME
    (row,) = openstack("resource provider tree")
    assert row["name"] == NAME
    (row,) = openstack("resource consumer list")
    assert row["project_id"] == PROJECT
    value = openstack.run("resource consumer list", "-f", "value", "-c", "project_id")
    assert value.stdout == f"{PROJECT}\n"


def test_nested_values_for_a_shell_are_json(openstack):
    arguments = ("--resource", "VCPU=1", "-f", "shell", "-c", "free")
    shown = openstack.run("resource capacity show", *arguments).stdout
    assert shown == 'free="{\\"VCPU\\": 6}"\n'


def test_errors_of_openstack_are_printable(openstack):
    errors = openstack.refused("placement identity", f"{NAME}2")
    assert r"evil\x1b[31m" in errors
    assert is_printable(errors)


def test_errors_of_placement_manage_are_printable(service, capsys, monkeypatch):
    (database,) = re.findall(r"The database is (\S+)", Path(service.output).read_text())
    monkeypatch.setenv("OS_PLACEMENT_DATABASE__CONNECTION", database)
    assert manage.main(["identity", NAME, "--plan", "/nowhere/plan", f"--retire={CONSUMER}"]) == 1
    errors = capsys.readouterr().err
    assert r"evil\x1b[31m" in errors
    assert is_printable(errors)


def test_what_clients_send_forges_no_log_lines(service):
    """Names with line breaks, and X-Forwarded-For with what follows it in the line.

    The server refuses control characters in headers.
    """
    forged = '192.0.2.9 "DELETE /traits" status: 200'
    for client in (forged, "192.0.2.9, 198.51.100.1"):
        service.get("/traits", **HEADERS, **{"X-Forwarded-For": client})
    lines = [
        f"Provider {PRINTED} (",
        "Inventory change leaves less than is used: ",
        f"provider {PRINTED} ({service.host})",
        '192.0.2.9%20%22DELETE%20%2Ftraits%22%20status:%20200 "GET /traits" status: 200',
        '192.0.2.9,198.51.100.1 "GET /traits" status: 200',
    ]
    log = Path(service.output)
    # lines are written after the responses
    wait_until(lambda: all(line in log.read_text() for line in lines), message=log.read_text)
    assert is_printable(log.read_text())
