"""The local dashboard: authentication, and the requests forwarded to the service."""

from types import SimpleNamespace
from urllib.parse import unquote_to_bytes

import pytest
import requests
import webtest

from placement_insight.page.proxy import LocalDashboard

HOST = "127.0.0.1:8080"


class Upstream:
    """Remembers the requests that reach the service."""

    def __init__(self):
        self.requests = []

    def __call__(self, path, headers, body):
        self.requests.append((path, dict(headers), *([body] if body is not None else [])))
        return SimpleNamespace(
            status_code=200,
            headers={"Content-Type": "application/json", "ETag": '"1"', "Set-Cookie": "a=b"},
            content=b"{}",
        )


@pytest.fixture
def upstream():
    return Upstream()


@pytest.fixture
def dashboard(upstream):
    return LocalDashboard(upstream, "RegionOne")


@pytest.fixture
def app(dashboard):
    return webtest.TestApp(dashboard, extra_environ={"HTTP_HOST": HOST})


def test_the_page_is_below_the_secret(app, dashboard):
    assert app.get(dashboard.path).content_type == "text/html"
    settings = app.get(f"{dashboard.path}settings.json").json
    assert settings == {"headers": {}, "region": "RegionOne", "has_names": True}


def test_secrets_differ(upstream):
    one, other = (LocalDashboard(upstream) for _ in range(2))
    assert one.secret != other.secret
    assert len(one.secret) >= 32


@pytest.mark.parametrize(
    "path", ["/", "/insight/page/", "/insight/providers", "/wrong/insight", "/%FF"]
)
def test_without_the_secret_nothing_is_found(app, upstream, path):
    app.get(path, status=404)
    assert upstream.requests == []


def test_another_host_name_is_refused(app, dashboard, upstream):
    host = {"Host": "attacker.example:8080"}
    app.get(dashboard.path, headers=host, status=404)
    app.get(f"/{dashboard.secret}/insight/providers", headers=host, status=404)
    assert upstream.requests == []


def test_a_get_is_passed_on_with_its_query(app, dashboard, upstream):
    response = app.get(
        f"/{dashboard.secret}/insight/providers?changed_since=a%3Ab",
        headers={"Accept": "application/x-ndjson", "Cookie": "c=d"},
    )
    assert upstream.requests == [
        ("/insight/providers?changed_since=a%3Ab", {"Accept": "application/x-ndjson"})
    ]
    assert response.headers["ETag"] == '"1"'
    assert "Set-Cookie" not in response.headers


@pytest.mark.parametrize("path", ["/resource_providers", "/allocations/x", "/insights", "/"])
def test_no_other_route_is_passed_on(app, dashboard, upstream, path):
    app.get(f"/{dashboard.secret}{path}", status=404)
    assert upstream.requests == []


@pytest.mark.parametrize(
    "path",
    [
        "/insight/../resource_providers",
        "/insight/%2e%2e/resource_providers",
        "/insight/%2E./resource_providers",
        "/insight/./../traits",
        "/insight/..",
        "/insight/providers/..%2f..%2ftraits",
    ],
)
def test_dot_segments_reach_no_other_route(app, dashboard, upstream, path):
    app.get(f"/{dashboard.secret}{path}", status=404)
    assert upstream.requests == []


@pytest.mark.parametrize(
    "name", ["%252e%252e", "a%3Fb%23c", "%C3%A9", "%FF", "a%5C..%5Cb", "..a", "a;b"]
)
def test_a_path_is_passed_on_encoded(app, dashboard, upstream, name):
    """Without it, the client would decode %252e%252e once more, to dot segments."""
    app.get(f"/{dashboard.secret}/insight/{name}/traits")
    ((path, _),) = upstream.requests
    assert unquote_to_bytes(path) == unquote_to_bytes(f"/insight/{name}/traits")
    sent = requests.Request("GET", f"http://placement{path}").prepare().url
    assert sent.startswith("http://placement/insight/")
    assert sent.endswith("/traits")


@pytest.mark.parametrize("plan", ["drain", "room"])
def test_plans_are_posted(app, dashboard, upstream, plan):
    path = f"/{dashboard.secret}/insight/{plan}"
    app.post_json(path, {"query": "resources=VCPU:1"}, headers={"Cookie": "c=d"})
    headers = {"Content-Type": "application/json"}
    assert upstream.requests == [(f"/insight/{plan}", headers, b'{"query": "resources=VCPU:1"}')]
    app.get(path, status=405)
    app.post(path, b" " * 65_537, status=413)
    assert len(upstream.requests) == 1


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_nothing_is_written(app, dashboard, upstream, method):
    path = f"/{dashboard.secret}/insight/findings"
    app.request(path, method=method, body=b"", status=405)
    assert upstream.requests == []
