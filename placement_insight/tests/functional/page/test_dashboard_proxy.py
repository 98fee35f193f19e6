"""The nginx sample that adds a token to the requests of users of single sign-on."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import requests

from placement.tests.support.processes import ApiProcess, sample, start_nginx
from placement.tests.support.waiting import wait_until

SESSION = {"session": "of ann"}


class SingleSignOn(BaseHTTPRequestHandler):
    """The paths of oauth2-proxy that the sample uses."""

    def do_GET(self):
        has_session = "of ann" in self.headers.get("Cookie", "")
        is_form = self.path == "/oauth2/sign_in"
        self.send_response(200 if is_form else 202 if has_session else 401)
        self.end_headers()
        self.wfile.write(b"Sign in" if is_form else b"")

    def log_message(self, *arguments):
        """Log nothing."""


@pytest.fixture
def backend():
    return "sqlite"


@pytest.fixture
def single_sign_on():
    with ThreadingHTTPServer(("127.0.0.1", 0), SingleSignOn) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def proxied(deployment, single_sign_on, tmp_path):
    """The URL of nginx in front of the dashboard."""
    token = deployment.folder / "placement-dashboard.conf"
    token.write_text('set $placement_token "admin";\n')
    with ApiProcess(tmp_path, "--development", "--port", "0") as service:
        site = sample(
            "nginx/placement-dashboard.conf",
            listen=("    listen 8779", f"    listen {deployment.address}"),
            token=("include /run/placement-dashboard.conf", f"include {token}"),
            single_sign_on=("http://127.0.0.1:4180", single_sign_on),
            service=("http://127.0.0.1:8778/placement", service.url),
        )
        start_nginx(deployment, site)
        wait_until(lambda: responds(deployment.url))
        yield f"{deployment.url}/insight"


def responds(url):
    try:
        return requests.get(url, timeout=60).status_code
    except requests.ConnectionError:
        return None


def test_a_user_of_single_sign_on_reads_with_the_token(proxied):
    for headers in ({}, {"X-Auth-Token": "demo"}):
        page = requests.get(f"{proxied}/page/", cookies=SESSION, headers=headers, timeout=60)
        assert "<title>Placement</title>" in page.text
        path = f"{proxied}/providers"
        listed = requests.get(path, cookies=SESSION, headers=headers, timeout=60)
        assert (listed.status_code, listed.json()["providers"]) == (200, [])


@pytest.mark.parametrize("path", ["/page/", "/providers"])
def test_others_sign_in_first(proxied, path):
    response = requests.get(proxied + path, headers={"X-Auth-Token": "admin"}, timeout=60)
    assert (response.status_code, response.text) == (401, "Sign in")


def test_plans_are_posted(proxied):
    plan = {"root_trait": ["CUSTOM_RACK_1"]}
    response = requests.post(f"{proxied}/drain", json=plan, cookies=SESSION, timeout=60)
    assert "There is no provider with root trait CUSTOM_RACK_1" in response.text


@pytest.mark.parametrize(("method", "status"), [("POST", 405), ("PUT", 403), ("DELETE", 403)])
def test_nobody_writes(proxied, method, status):
    options = {"cookies": SESSION, "timeout": 60}
    assert requests.request(method, f"{proxied}/findings", **options).status_code == status
    assert requests.request(method, f"{proxied}/room", **options).status_code in {403, 415}
    assert requests.get(f"{proxied}/../traits", **options).status_code == 404
