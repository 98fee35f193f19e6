"""A client that others wrote works against the service that ``make serve`` starts."""

import re
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

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


@pytest.fixture
def openstack(tmp_path):
    with ApiProcess(tmp_path, "--development", "--port", "0") as service:
        service.get()
        yield Client(service.url)


@pytest.mark.long
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


@pytest.fixture
def responds(request):
    """An HTTP server that responds as a proxy or middleware does: statuses and bodies by path."""
    responses = request.param

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            status, body = responses.get(self.path, responses["other"])
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments):
            """Log nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    "responds",
    [
        {"other": (401, b'{"error": {"code": 401}}')},
        {"other": (403, b'{"errors": []}')},
    ],
    indirect=True,
)
def test_openstack_reports_what_a_proxy_or_keystone_responds(responds):
    result = Client(responds).run("placement clients")
    assert result.returncode == 1
    assert result.stderr.startswith("GET /insight/clients failed: ")
    assert re.search(r"\(HTTP 40[13]\)", result.stderr)
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "responds",
    [
        {"other": (404, b"<html>")},
        {"other": (404, b'{"errors": [{"detail": ""}]}')},
        {"other": (200, b"<html>")},
    ],
    indirect=True,
)
@pytest.mark.parametrize("command", ["placement clients", "placement dashboard"])
def test_openstack_names_a_wrong_path_of_the_endpoint_as_a_cause(responds, command):
    result = Client(f"{responds}/horizon").run(command)
    assert result.returncode == 1
    assert result.stderr.startswith("GET /insight")
    assert "the endpoint has the right path: --os-endpoint, or the catalog." in result.stderr
    assert result.stderr.count("\n") == 1
