"""Health checks and metrics: off by default, and correct with several processes."""

import os
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import psutil
import pytest
import requests
import webtest
from keystoneauth1 import loading as ks_loading

from placement import db_api, deploy
from placement.db.schema import migration
from placement.db.store import Store
from placement.events import Observer
from placement.exception import DatabaseUnavailable
from placement.http.auth import keystone_url
from placement.microversion import MAX_VERSION
from placement.observability import health, metrics
from placement.observability.health import HealthChecks
from placement.tests.support.processes import LATEST, WSGI_FILE, check_claims, start_uwsgi
from placement.tests.support.servers import free_port
from placement.tests.support.waiting import wait_until


@pytest.fixture
def backend():
    return "mariadb"


def configure(server, text):
    with (server.folder / "placement.conf").open("a") as file:
        file.write(text)


# --- health -------------------------------------------------------------------------------


@pytest.fixture
def healthy(conf):
    """Return a function that returns the service with [healthcheck] set."""

    def with_options(**options):
        conf.set_override("enabled", True, "healthcheck")
        deploy.loadapp(conf)  # registers the options of the middleware
        for name, value in options.items():
            conf.set_override(name, value, "healthcheck")
        return webtest.TestApp(deploy.loadapp(conf), extra_environ={"REMOTE_ADDR": "10.0.0.1"})

    return with_options


@pytest.mark.parametrize("backend", ["sqlite"])
class TestHealth:
    def test_disabled_by_default(self, application):
        http = webtest.TestApp(application)
        assert http.get("/healthcheck", status="*").status_int == 401
        assert http.get("/healthcheck", headers=LATEST, status="*").status_int == 404

    def test_reports_that_the_process_responds(self, healthy):
        response = healthy().get("/healthcheck", headers={"Accept": "application/json"})
        assert response.json == {"detailed": False, "reasons": []}
        assert response.headers["X-Content-Type-Options"] == "nosniff"

    def test_root_is_unchanged(self, healthy):
        assert healthy().get("/").json["versions"][0]["max_version"] == str(MAX_VERSION)

    def test_backend_reports_database_and_snapshot(self, healthy):
        http = healthy(backends=["placement"], detailed=True)
        response = http.get("/healthcheck", headers={"Accept": "application/json"})
        assert "python_version" in response.json
        (reason,) = response.json["reasons"]
        assert reason == {
            "class": "HealthcheckResult",
            "details": f"database: reachable, schema: {migration.HEAD}, "
            "snapshot: 0 providers, keystone: not used",
            "reason": "OK",
        }

    def test_outdated_schema_is_reported(self, healthy, conf):
        http = healthy(backends=["placement"])
        store = Store(db_api.settings(conf))
        migration.stamp(store, migration.COMMON_HEAD)
        store.dispose()
        response = http.get("/healthcheck", status=503)
        assert f"schema: The schema of the database is at revision {migration.COMMON_HEAD}" in (
            response.text
        )
        assert "snapshot" not in response.text

    def test_unreachable_keystone_is_reported(self, conf, application):
        """The address is one where nothing listens."""
        url = f"http://127.0.0.1:{free_port()}/v3"
        services = deploy.services(conf)
        checks = HealthChecks(services.store, services.engine.current, url)
        *others, keystone = checks.results()
        assert [each.has_passed for each in others] == [True, True, True]
        assert keystone.text.startswith("keystone: ")
        assert "Connection refused" in keystone.text

    def test_no_result_of_an_earlier_request_is_reported_for_the_database(
        self, conf, application, monkeypatch
    ):
        """Also if another thread read the clock later, and checked the database earlier."""
        services = deploy.services(conf)
        checks = HealthChecks(services.store, services.engine.current, None)
        assert checks.results()[0] == ("database: reachable", True)
        monkeypatch.setattr(health, "time", SimpleNamespace(monotonic=lambda: -1.0))
        unreachable = mock.Mock(side_effect=DatabaseUnavailable("it was stopped"))
        monkeypatch.setattr(services.store, "probe", unreachable)
        assert not checks.results()[0].has_passed

    def test_keystone_is_asked_once_in_a_while(self, conf, application, monkeypatch):
        requested = []

        def get(url, timeout):
            requested.append(url)
            response = requests.Response()
            response.status_code = 300 if len(requested) > 1 else 502
            return response

        monkeypatch.setattr("placement.observability.health.requests.get", get)
        services = deploy.services(conf)
        checks = HealthChecks(services.store, services.engine.current, "http://keystone/v3")
        for _ in range(3):  # failures, too: a Keystone that does not respond takes 5 s
            assert checks.results()[-1] == ("keystone: http://keystone/v3 responds 502", False)
        assert len(requested) == 1
        monkeypatch.setattr(checks._keystone, "_repeat_at", 0)  # 10 s later
        for _ in range(3):
            assert checks.results()[-1].text == "keystone: responds"
        assert len(requested) == 2

    def test_a_keystone_that_hangs_stops_one_thread(self, conf, application, monkeypatch):
        requested, released = threading.Event(), threading.Event()
        released.set()

        def get(url, timeout):
            requested.set()
            assert released.wait(60)
            response = requests.Response()
            response.status_code = 300
            return response

        monkeypatch.setattr("placement.observability.health.requests.get", get)
        services = deploy.services(conf)
        checks = HealthChecks(services.store, services.engine.current, "http://keystone/v3")
        assert checks.results()[-1].text == "keystone: responds"
        monkeypatch.setattr(checks._keystone, "_repeat_at", 0)  # 10 s later
        requested.clear()
        released.clear()
        with ThreadPoolExecutor(2) as pool:
            hanging = pool.submit(checks.results)
            assert requested.wait(60)
            try:  # the others get the previous result
                assert pool.submit(checks.results).result(20)[-1].text == "keystone: responds"
            finally:
                released.set()
            assert hanging.result(60)[-1].text == "keystone: responds"

    def test_the_url_of_keystone_is_that_of_the_middleware(self, conf):
        assert keystone_url(conf) is None
        conf.set_override("auth_strategy", "keystone", "api")
        ks_loading.register_auth_conf_options(conf, "keystone_authtoken")
        conf.set_override("auth_type", "password", "keystone_authtoken")
        plugin = ks_loading.get_plugin_loader("password")
        conf.register_opts(
            [option._to_oslo_opt() for option in plugin.get_options()], "keystone_authtoken"
        )
        conf.set_override("auth_url", "http://keystone/v3", "keystone_authtoken")
        conf.set_override("username", "placement", "keystone_authtoken")
        assert keystone_url(conf) == "http://keystone/v3"

    def test_unreachable_database_is_reported(self, healthy, tmp_path):
        http = healthy(backends=["placement"])
        for path in tmp_path.glob("placement.sqlite*"):
            path.rename(tmp_path / f"gone-{path.name}")
        (tmp_path / "placement.sqlite").mkdir()
        response = http.get("/healthcheck", status=503)
        assert "database: " in response.text

    def test_others_are_not_answered(self, healthy):
        http = healthy(allowed_source_ranges=["192.0.2.0/24"])
        assert http.get("/healthcheck", status="*").status_int == 401


@pytest.mark.parametrize(
    ("header", "body"),
    [
        ("User-Agent", "metrics"),
        ("X-Forwarded-For", "application"),
        ("X-Forwarded-Proto", "application"),
        ("X-Forwarded-Host", "application"),
        ("X-Real-IP", "application"),
        ("Forwarded", "application"),
        ("Via", "application"),
    ],
)
def test_metrics_are_not_served_through_proxies(monkeypatch, header, body):
    """A proxy on the same host has an address that may read them."""

    def respond(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [b"application"]

    monkeypatch.setattr(metrics.MetricsMiddleware, "text", lambda self: b"metrics")
    observer = Observer()
    middleware = metrics.MetricsMiddleware(respond, observer, None, None, ["127.0.0.0/8"])
    http = webtest.TestApp(middleware, extra_environ={"REMOTE_ADDR": "127.0.0.1"})
    assert http.get("/metrics", headers={header: "x"}).text == body


# --- figures ------------------------------------------------------------------------------


def figures(server):
    """Return the figures as ``{'name{labels}': value}``."""
    text = requests.get(f"{server.url}/metrics", timeout=60).text
    lines = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in lines}


def counted(samples, name, **labels):
    """Return the sum of the figures of this name with these labels."""
    wanted = {f'{key}="{value}"' for key, value in labels.items()}
    return sum(
        value
        for key, value in samples.items()
        if key.partition("{")[0] == name and wanted <= set(re.findall(r'\w+="[^"]*"', key))
    )


@pytest.mark.long
@pytest.mark.parametrize("options", [[], ["--lazy-apps"]], ids=["forked", "lazy-apps"])
def test_any_process_serves_the_metrics_of_all(deployment, options):
    configure(deployment, f"[metrics]\nenabled = true\nfolder = {deployment.folder}/figures\n")
    start_uwsgi(deployment, "--wsgi-file", WSGI_FILE, *options)
    check_claims(deployment)
    seen = [figures(deployment) for _ in range(6)]
    route = "/allocations/{consumer_uuid}"
    for samples in seen:
        claims = {"method": "PUT", "route": route}
        assert counted(samples, "placement_requests_total", **claims, status="204") == 12
        assert counted(samples, "placement_requests_total", **claims, status="409") == 1
        assert counted(samples, "placement_request_seconds_count", **claims) == 13
        assert counted(samples, "placement_candidates_returned_count") == 8
        assert counted(samples, "placement_snapshot_refresh_seconds_count") >= 1
        assert samples["openstack_placement_up"] == 1
        assert samples["placement_snapshot_providers"] == 1
        stock = {"resourcetype": "VCPU"}  # of the only host
        figure = {
            name: counted(samples, f"openstack_placement_resource_{name}", **stock)
            for name in ("inventory", "usage", "reserved", "allocation_ratio")
        }
        assert figure == {"inventory": 12, "usage": 12, "reserved": 0, "allocation_ratio": 1}
    assert counted(samples, "placement_client_requests_total", client="python-requests") > 20
    assert counted(samples, "placement_client_requests_total", client="other") == 0
    assert deployment.request("GET", "/nowhere/x%0ay").status_code == 404
    assert counted(figures(deployment), "placement_requests_total", route="", status="404") == 1


@pytest.mark.long
def test_metrics_of_exited_processes_remain(deployment):
    folder = deployment.folder / "figures"
    configure(deployment, f"[metrics]\nenabled = true\nfolder = {folder}\n")
    start_uwsgi(deployment, "--wsgi-file", WSGI_FILE)
    deployment.wait()
    master = psutil.Process(deployment.processes[0].pid)
    for _ in range(3):
        for _ in range(4):
            assert deployment.request("GET", "/traits").status_code == 200
        first, *_ = master.children()
        first.kill()
        # it is replaced a second later
        wait_until(
            lambda first=first: len(set(master.children()) - {first}) == 2, message=deployment.logs
        )
    assert counted(figures(deployment), "placement_requests_total", route="/traits") == 12


def write_metrics_of(process_id, folder):
    for kind in ("counter", "histogram"):
        (folder / f"{kind}_{process_id}.db").touch()


@pytest.fixture
def exited():
    """The id of a process that has exited."""
    process = subprocess.Popen(["true"])
    process.wait(60)
    return process.pid


def test_a_service_that_starts_removes_the_metrics_of_its_last_run(tmp_path, exited):
    write_metrics_of(exited, tmp_path)
    write_metrics_of("ended", tmp_path)  # not the file of a process
    database = tmp_path / "placement.db"
    database.touch()
    metrics.remove_files_of_last_run(tmp_path)
    assert list(tmp_path.iterdir()) == [database]


def test_a_process_that_starts_beside_others_removes_nothing(tmp_path, exited):
    write_metrics_of(exited, tmp_path)
    write_metrics_of(os.getppid(), tmp_path)
    metrics.remove_files_of_last_run(tmp_path)
    assert len(list(tmp_path.iterdir())) == 4


def test_a_process_that_creates_the_application_again_keeps_its_metrics(tmp_path, exited):
    write_metrics_of(exited, tmp_path)
    write_metrics_of(os.getpid(), tmp_path)
    metrics.remove_files_of_last_run(tmp_path)
    assert {path.stem.partition("_")[2] for path in tmp_path.iterdir()} == {str(os.getpid())}


@pytest.mark.long
def test_metrics_are_restricted_to_networks(deployment):
    configure(
        deployment,
        f"[metrics]\nenabled = true\nfolder = {deployment.folder}/figures\n"
        "allowed_source_ranges = 192.0.2.0/24\n",
    )
    start_uwsgi(deployment, "--wsgi-file", WSGI_FILE)
    deployment.wait()
    assert requests.get(f"{deployment.url}/metrics", timeout=60).status_code == 401


def test_metrics_need_a_directory(deployment):
    configure(deployment, "[metrics]\nenabled = true\n")
    deployment.start(sys.executable, "-c", "import placement.wsgi.api")
    assert deployment.processes[0].wait(60) == 1
    assert "metrics" in deployment.logs()


@pytest.mark.long
@pytest.mark.parametrize("backend", ["sqlite"])
def test_disabled_metrics_load_no_library(deployment, backend):
    code = "import sys, placement.wsgi.api; sys.exit('prometheus_client' in sys.modules)"
    deployment.start(sys.executable, "-W", "ignore", "-c", code)
    assert deployment.processes[0].wait(60) == 0
    assert not Path(deployment.folder / "figures").exists()
