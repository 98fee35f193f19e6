"""The files for Prometheus and Grafana: checked by promtool, and used by a real Prometheus."""

import json
import re
import shutil
import subprocess
import time
import uuid
from pathlib import Path

import pytest
import requests
import yaml

from placement.events import CUT_RESPONSES, ROOTS_LEFT_OUT
from placement.microversion import VERSIONS
from placement.tests.support import docs
from placement.tests.support.processes import ROOT, UwsgiProcesses, program
from placement.tests.support.servers import free_port

pytestmark = pytest.mark.long

ETC = ROOT / "etc"
RULES = ETC / "prometheus" / "placement.rules.yaml"
CONFIGURATION = ETC / "prometheus" / "placement.yaml"
DASHBOARD = ETC / "grafana" / "placement.json"
RULE_TESTS = [
    Path(__file__).with_name(name) for name in ("prometheus_rules.yaml", "prometheus_trend.yaml")
]
PACKAGE = "apt-get install prometheus"
TARGET = "127.0.0.1:8778"


@pytest.fixture
def folder(tmp_path):
    """The files as an operator has them: in one folder."""
    for path in (RULES, CONFIGURATION, *RULE_TESTS):
        shutil.copy(path, tmp_path)
    return tmp_path


def promtool(folder, *arguments):
    command = [program("promtool", PACKAGE), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_promtool_accepts_the_configuration_and_the_rules(folder):
    checked = promtool(folder, "check", "config", CONFIGURATION.name)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_alerts_fire_when_they_should(folder):
    tested = promtool(folder, "test", "rules", *(path.name for path in RULE_TESTS))
    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_every_alert_says_what_to_do_with_it():
    for rule in rules():
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}
        assert rule["annotations"]["summary"]


def rules():
    return [
        rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]
    ]


def expressions():
    """Return the expressions of all alerts and panels."""
    panels = json.loads(DASHBOARD.read_text())["panels"]
    return [rule["expr"] for rule in rules()] + [
        target["expr"] for panel in panels for target in panel["targets"]
    ]


def test_the_fullest_hosts_of_the_dashboard_count_what_is_reserved_in_use(folder):
    """Nova reserves a bare metal node that is in use: it is 100 % used, not infinitely."""
    (expression,) = (each for each in expressions() if "topk" in each)
    hosts = {  # used, total, reserved, allocation ratio, and the share
        "deployed": (1, 1, 1, 1, 1),
        "maintenance": (0, 1, 1, 1, 0),
        "half": (6, 8, 2, 2, 0.5),
        "partly reserved": (10, 8, 4, 2, 1),
        "over": (20, 8, 4, 2, 1.25),
    }
    names = ("usage", "inventory", "reserved", "allocation_ratio")
    series = [
        {
            "series": f'openstack_placement_resource_{name}{{hostname="{host}",resourcetype="X"}}',
            "values": f"{value}",
        }
        for host, values in hosts.items()
        for name, value in zip(names, values, strict=False)
    ]
    samples = [
        {"labels": f'{{hostname="{host}", resourcetype="X"}}', "value": share}
        for host, (*_, share) in hosts.items()
    ]
    query = {"expr": expression, "eval_time": "0m", "exp_samples": samples}
    check_expression(folder, series, query)


def test_the_documented_query_finds_clients_below_1_28(folder):
    page = (docs.SOURCE / "admin" / "operations.rst").read_text()
    (expression,) = re.findall(r"^   (sum by \(client, microversion\) .+)$", page, re.MULTILINE)
    versions = [str(version) for version in VERSIONS]
    name = 'placement_client_requests_total{{client="curl", microversion="{}"}}'
    series = [{"series": name.format(each), "values": "0+1x1440"} for each in versions]
    series.append({"series": name.format("1.12").replace("curl", "idle"), "values": "5x1440"})
    samples = [
        {"labels": f'{{client="curl", microversion="{each}"}}', "value": 1440}
        for each in versions[: versions.index("1.28")]
    ]
    query = {"expr": expression, "eval_time": "1d", "exp_samples": samples}
    check_expression(folder, series, query)


def check_expression(folder, series, query):
    """Let promtool check the value of an expression for these series."""
    test = {"interval": "1m", "input_series": series, "promql_expr_test": [query]}
    (folder / "expression.yaml").write_text(yaml.safe_dump({"tests": [test]}))
    tested = promtool(folder, "test", "rules", "expression.yaml")
    assert tested.returncode == 0, tested.stdout + tested.stderr


@pytest.fixture
def service(tmp_path):
    """Two workers of uWSGI with metrics, a host, and requests of each kind."""
    variables = {
        "OS_METRICS__ENABLED": "true",
        "OS_METRICS__FOLDER": str(tmp_path / "metrics"),
        "OS_METRICS__INVENTORY_INTERVAL_SECONDS": "0.1",
        "OS_METRICS__INVENTORY_ROOT_TRAIT_PREFIX": "COMPUTE_",
    }
    with UwsgiProcesses(tmp_path, workers=2, **variables) as running:
        running.get()
        url = running.url
        check_counters_exist(url)
        use(url)
        check_names(url)
        yield url


def scraped(url):
    return requests.get(f"{url}/metrics", timeout=60).text


def check_counters_exist(url):
    """rate() does not count the event with which a counter appears."""
    before = scraped(url)
    for name in ("write_retries", "snapshot_discards", "candidates_cut"):
        assert f"placement_{name}_total 0.0" in before
    assert 'placement_empty_responses_total{reason="capacity"} 0.0' in before
    assert 'placement_refused_claims_total{reason="capacity",resource_class="VCPU"} 0.0' in before
    assert 'placement_lost_races_total{reason="consumer_generation"} 0.0' in before


def check_names(url):
    """Let promtool check all metrics."""
    checked = subprocess.run(
        [program("promtool", PACKAGE), "check", "metrics"],
        input=scraped(url),
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.stderr == ""


def sender(url):
    def send(method, path, body=None):
        headers = {"X-Auth-Token": "admin", "OpenStack-API-Version": "placement latest"}
        return requests.request(method, f"{url}{path}", json=body, headers=headers, timeout=60)

    return send


def use(url):
    send = sender(url)
    host = send("POST", "/resource_providers", {"name": "host1"}).json()["uuid"]
    path = f"/resource_providers/{host}"
    for noun, body in (
        ("inventories", {"inventories": {"VCPU": {"total": 8}}}),
        ("traits", {"traits": ["COMPUTE_NODE"]}),
        ("aggregates", {"aggregates": [str(uuid.uuid4())]}),
    ):
        generation = send("GET", path).json()["generation"]
        change = {"resource_provider_generation": generation, **body}
        assert send("PUT", f"{path}/{noun}", change).status_code == 200
    for amount, status in ((6, 204), (6, 409)):
        claim = {
            "allocations": {host: {"resources": {"VCPU": amount}}},
            "project_id": "project",
            "user_id": "user",
            "consumer_generation": None,
            "consumer_type": "INSTANCE",
        }
        assert send("PUT", f"/allocations/{uuid.uuid4()}", claim).status_code == status
    candidates = send("GET", "/allocation_candidates?resources=VCPU:7").json()
    assert candidates["allocation_requests"] == []


@pytest.fixture
def prometheus(folder, service):
    """A function that runs a query on a Prometheus that scrapes the service."""
    settings = yaml.safe_load(CONFIGURATION.read_text().replace(TARGET, service.split("//")[1]))
    settings["scrape_configs"][0]["scrape_interval"] = "1s"
    settings["global"] = {"evaluation_interval": "1s"}
    (folder / "prometheus.yml").write_text(yaml.safe_dump(settings))
    port = free_port()
    command = [
        program("prometheus", PACKAGE),
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with (folder / "prometheus.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=folder)

    def ask(path, **parameters):
        response = requests.get(
            f"http://127.0.0.1:{port}/api/v1/{path}", params=parameters, timeout=60
        ).json()
        assert response["status"] == "success", response
        return response["data"]

    try:
        wait_for(lambda: ask("query", query="placement_refused_claims_total > 0")["result"], 60)
        yield ask
    finally:
        process.terminate()
        process.wait(60)


def wait_for(condition, seconds):
    """Wait until the condition holds; connections may be refused meanwhile."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            if condition():
                return
            assert time.monotonic() < deadline, "the condition does not hold in time"
        except (requests.RequestException, AssertionError):
            if time.monotonic() > deadline:
                raise
        time.sleep(0.2)


def test_prometheus_scrapes_the_service_and_evaluates_all_expressions(prometheus):
    """A scrape that takes longer than a second on a busy machine fails; the next one succeeds."""
    wait_for(lambda: check_all(prometheus), 60)


def check_all(prometheus):
    """Return True, or fail if Prometheus does not have all of the data."""
    (target,) = prometheus("targets")["activeTargets"]
    assert (target["health"], target["lastError"]) == ("up", "")
    names = set(prometheus("label/__name__/values"))
    for expression in expressions():
        prometheus("query", query=expression)
        used = set(re.findall(r"\b(?:openstack_)?placement_\w+", expression))
        assert used <= names, expression

    def value(query):
        result = prometheus("query", query=query)["result"]
        assert len(result) == 1, (query, result)
        return float(result[0]["value"][1])

    assert value("sum(placement_cloud_used)") == 6
    assert value('placement_cloud_capacity{resource_class="VCPU"}') == 8
    assert value('placement_root_trait_used{root_trait="COMPUTE_NODE"}') == 6
    assert value('openstack_placement_resource_provider_allocations{hostname="host1"}') == 1
    refused = 'placement_refused_claims_total{reason="capacity",resource_class="VCPU"}'
    assert value(f"sum({refused})") == 1
    assert value('sum(placement_empty_responses_total{reason="capacity"})') == 1
    states = {
        rule["name"]: rule["health"]
        for group in prometheus("rules")["groups"]
        for rule in group["rules"]
    }
    assert states == dict.fromkeys((rule["alert"] for rule in rules()), "ok")
    return True


CUTS = (CUT_RESPONSES.name, ROOTS_LEFT_OUT.name)


def total(url, name):
    """Return the value of a counter, which is the sum over the processes."""
    return float(re.search(rf"^{name}_total (\S+)$", scraped(url), re.MULTILINE)[1])


def test_responses_whose_limit_leaves_out_roots_are_counted(service):
    send = sender(service)
    for number in range(3):
        host = send("POST", "/resource_providers", {"name": f"cut{number}"}).json()["uuid"]
        inventories = {"PGPU": {"total": 1}}
        body = {"resource_provider_generation": 0, "inventories": inventories}
        send("PUT", f"/resource_providers/{host}/inventories", body)
    before = [total(service, name) for name in CUTS]
    for limit, returned in ((1, 1), (2, 2), (3, 3), (4, 3)):
        found = send("GET", f"/allocation_candidates?resources=PGPU:1&limit={limit}").json()
        assert len(found["allocation_requests"]) == returned
    after = [total(service, name) for name in CUTS]
    assert [new - old for new, old in zip(after, before, strict=True)] == [2, 2 + 1]
