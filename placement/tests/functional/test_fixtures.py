"""The service in the process of a test, used as other projects' tests use it."""

import io
import logging
import sqlite3
import subprocess
import sys
import threading
import uuid
import warnings

import fixtures
import pytest
import requests
import testtools
from keystoneauth1 import adapter, session
from oslo_config import cfg
from oslo_config import fixture as config_fixture
from oslo_policy import opts as policy_opts

from placement import conf as placement_conf
from placement import db_api, direct, policies
from placement.db.schema import migration
from placement.objects import trait
from placement.tests import fixtures as placement_fixtures
from placement.tests.functional.fixtures import capture
from placement.tests.functional.fixtures import placement as placement_fixture
from placement.tests.unit import policy_fixture

LATEST = "placement latest"


@pytest.fixture
def use():
    """Return a function that starts a fixture of the library ``fixtures`` for this test."""
    case = fixtures.Fixture()
    case.setUp()
    yield case.useFixture
    case.cleanUp()


class Http:
    """Requests to a fixture, with its token."""

    def __init__(self, fixture):
        self.fixture = fixture

    def __call__(self, method, path, version="1.39", **kwargs):
        headers = {
            "x-auth-token": self.fixture.token,
            "OpenStack-API-Version": f"placement {version}",
        }
        return requests.request(
            method, self.fixture.endpoint + path, headers=headers, timeout=30, **kwargs
        )


def host(http, name="host1", vcpus=8):
    provider = http("POST", "/resource_providers", json={"name": name}).json()
    body = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": vcpus}}}
    response = http("PUT", f"/resource_providers/{provider['uuid']}/inventories", json=body)
    assert response.status_code == 200
    return provider["uuid"]


def claim(http, provider, amount=1, consumer=None):
    body = {
        "allocations": {provider: {"resources": {"VCPU": amount}}},
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }
    return http("PUT", f"/allocations/{consumer or uuid.uuid4()}", json=body)


def reshape(http, provider):
    body = {
        "inventories": {
            provider: {"resource_provider_generation": 1, "inventories": {"VCPU": {"total": 4}}}
        },
        "allocations": {},
    }
    return http("POST", "/reshaper", json=body)


# --- PlacementFixture ---------------------------------------------------------------------


def test_a_claim_is_made_through_the_endpoint(use):
    http = Http(use(placement_fixture.PlacementFixture()))
    provider = host(http)
    assert claim(http, provider).status_code == 204
    assert http("GET", "/allocation_candidates?resources=VCPU:7").json()["provider_summaries"]
    assert not http("GET", "/allocation_candidates?resources=VCPU:8").json()["provider_summaries"]


def test_each_fixture_has_a_database_of_its_own(use):
    first, second = (use(placement_fixture.PlacementFixture()) for _ in range(2))
    host(Http(second))
    assert first.endpoint != second.endpoint
    assert len(Http(second)("GET", "/resource_providers").json()["resource_providers"]) == 1


def test_the_standard_names_are_there(use):
    http = Http(use(placement_fixture.PlacementFixture()))
    assert "HW_CPU_X86_AVX2" in http("GET", "/traits").json()["traits"]
    names = http("GET", "/resource_classes").json()["resource_classes"]
    assert [resource_class["name"] for resource_class in names[:2]] == ["VCPU", "MEMORY_MB"]


def test_an_administrator_may_reshape_under_the_fixture(use):
    http = Http(use(placement_fixture.PlacementFixture()))
    assert reshape(http, host(http)).status_code == 204


def test_nothing_answers_after_the_fixture():
    fixture = placement_fixture.PlacementFixture()
    with fixture:
        assert requests.get(fixture.endpoint + "/", timeout=30).status_code == 200
    with pytest.raises(requests.ConnectionError):
        requests.get(fixture.endpoint + "/", timeout=30)


def test_another_token_is_another_caller(use):
    http = Http(use(placement_fixture.PlacementFixture(token="somebody:project")))
    assert http("GET", "/resource_providers").status_code == 403


def test_options_may_be_set_after_the_fixture(use):
    fixture = use(placement_fixture.PlacementFixture())
    http = Http(fixture)
    for name in ("host1", "host2"):
        host(http, name)
    query = "/allocation_candidates?resources=VCPU:1"
    assert len(http("GET", query).json()["allocation_requests"]) == 2
    fixture.conf_fixture.config(group="placement", max_allocation_candidates=1)
    assert len(http("GET", query).json()["allocation_requests"]) == 1
    provider = host(http, "host3")
    assert reshape(http, provider).status_code == 204
    fixture.conf_fixture.conf.set_override("enforce_new_defaults", True, "oslo_policy")
    assert reshape(http, provider).status_code == 403


def test_the_count_of_tries_may_be_none(use):
    fixture = use(placement_fixture.PlacementFixture())
    http = Http(fixture)
    provider = host(http)
    fixture.conf_fixture.config(group="placement", allocation_conflict_retry_count=0)
    refused = claim(http, provider)
    assert (refused.status_code, refused.json()["errors"][0]["code"]) == (
        409,
        "placement.concurrent_update",
    )
    fixture.conf_fixture.config(group="placement", allocation_conflict_retry_count=1)
    assert claim(http, provider).status_code == 204


class Configured(placement_fixture.PlacementFixture):
    """As subclasses set options, before there is a database."""

    def _configure_placement(self, conf_fixture):
        assert db_api.placement_context_manager._replacement is None
        conf_fixture.config(group="placement", max_allocation_candidates=1)
        conf_fixture.config(group="oslo_policy", enforce_new_defaults=True)


def test_configuration_of_subclass_is_kept(use):
    http = Http(use(Configured()))
    for name in ("host1", "host2"):
        host(http, name)
    candidates = http("GET", "/allocation_candidates?resources=VCPU:1").json()
    assert len(candidates["allocation_requests"]) == 1
    assert reshape(http, host(http, "host3")).status_code == 403


def test_subclass_may_configure_the_database(use, tmp_path):
    path = tmp_path / "placement.sqlite"

    class OnFile(placement_fixture.PlacementFixture):
        def _configure_placement(self, conf_fixture):
            conf_fixture.config(group="placement_database", connection=f"sqlite:///{path}")

    fixture = OnFile()
    http = Http(use(fixture))
    host(http, "host1")
    assert fixture.conf_fixture.conf.placement_database.connection == f"sqlite:///{path}"
    with sqlite3.connect(path) as connection:
        names = connection.execute("SELECT name FROM resource_providers").fetchall()
        (revision,) = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    assert (names, revision) == ([("host1",)], migration.HEAD)


def test_register_opts_registers_the_policy_options():
    conf = cfg.ConfigOpts()
    placement_conf.register_opts(conf)
    conf.set_override("connection", "sqlite://", "placement_database")
    conf([], default_config_files=[], default_config_dirs=[])
    assert conf.oslo_policy.policy_file == "policy.yaml"
    assert conf.oslo_policy.policy_dirs == ["policy.d"]


def test_the_configuration_may_be_the_callers(use):
    conf = use(config_fixture.Config(cfg.ConfigOpts()))
    placement_conf.register_opts(conf.conf)
    conf.config(group="placement", max_allocation_candidates=1)
    fixture = use(placement_fixture.PlacementFixture(conf_fixture=conf, register_opts=False))
    assert fixture.conf_fixture is conf
    http = Http(fixture)
    for name in ("host1", "host2"):
        host(http, name)
    candidates = http("GET", "/allocation_candidates?resources=VCPU:1").json()
    assert len(candidates["allocation_requests"]) == 1


def test_without_intercept_there_is_a_database_and_no_endpoint(use):
    fixture = use(placement_fixture.PlacementFixture(use_intercept=False))
    assert not hasattr(fixture, "endpoint")
    store = db_api.store(fixture.conf_fixture.conf)
    assert "HW_CPU_X86_AVX2" in trait.list_all(store).names


def test_with_neither_it_is_a_configuration(use):
    fixture = use(placement_fixture.PlacementFixture(db=False, use_intercept=False))
    assert fixture.conf_fixture.conf.api.auth_strategy == "noauth2"
    assert fixture.db is False


def test_many_threads_use_the_one_database_in_memory(use):
    http = Http(use(placement_fixture.PlacementFixture()))
    provider = host(http, vcpus=30)
    responses = []

    def work():
        for _ in range(5):
            responses.append(claim(http, provider).status_code)
            candidates = http("GET", "/allocation_candidates?resources=VCPU:1")
            responses.append(candidates.status_code)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {response: responses.count(response) for response in set(responses)} == {
        204: 30,
        409: 10,
        200: 40,
    }


class NovaLike(placement_fixture.PlacementFixture):
    """The way in which nova's fixture asks: by an Adapter, with the endpoint given."""

    def setUp(self):
        super().setUp()
        self._client = adapter.Adapter(session.Session(auth=None), raise_exc=False)

    def get(self, url, version):
        headers = {"x-auth-token": self.token, "OpenStack-API-Version": f"placement {version}"}
        return self._client.get(url, endpoint_override=self.endpoint, headers=headers)

    def put(self, url, body):
        headers = {"x-auth-token": self.token}
        return self._client.put(
            url,
            json=body,
            endpoint_override=self.endpoint,
            headers=headers,
            microversion="1.39",
            microversion_service_type="placement",
        )


def test_adapter_uses_the_endpoint(use):
    fixture = use(NovaLike())
    assert fixture.get("/traits", "1.6").status_code == 200
    assert fixture.get("/traits", "1.5").status_code == 404
    assert fixture.put("/traits/CUSTOM_GOLD", {}).status_code == 201


# --- a command line in the process ---------------------------------------------------------


@pytest.fixture
def openstack(use, monkeypatch):
    """Return a function that runs ``openstack`` in this process, as osc-placement's tests do."""
    fixture = use(placement_fixture.PlacementFixture())
    monkeypatch.setattr(logging, "captureWarnings", lambda capture: None)

    def run(command):
        output = io.StringIO()
        with monkeypatch.context() as patched, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from openstackclient import shell  # noqa: PLC0415  warns of libraries that it uses

            patched.setattr("sys.stdout", output)
            patched.setattr("sys.stderr", output)
            options = ["--os-endpoint", fixture.endpoint, "--os-token", fixture.token]
            version = ["--os-placement-api-version", "1.39"]
            status = shell.OpenStackShell().run([*options, *version, *command.split()])
        return status, output.getvalue()

    return run


def test_a_command_runs_in_the_process(openstack):
    status, output = openstack("resource provider create host1 -f value -c name")
    assert (status, output.strip()) == (0, "host1")
    status, output = openstack(f"resource provider show {uuid.UUID(int=1)}")
    assert (status, "No resource provider with uuid" in output) == (1, True)


# --- PlacementDirect ------------------------------------------------------------------------


@pytest.fixture
def conf(use):
    """A configuration with a database, as users of PlacementDirect create it."""
    fixture = use(config_fixture.Config(cfg.ConfigOpts()))
    placement_conf.register_opts(fixture.conf)
    policy_opts.set_defaults(fixture.conf)
    use(placement_fixtures.Database(fixture, set_config=True))
    fixture.conf([], default_config_files=[])
    return fixture.conf


def test_an_adapter_reaches_the_service(conf):
    with direct.PlacementDirect(conf) as client:
        assert client.get("/").json()["versions"][0]["max_version"] == "1.39"
        assert client.get("/traits").status_code == 404
        assert client.get("/traits", microversion="1.6").status_code == 200
        created = client.post("/resource_providers", json={"name": "a"}, microversion="1.20")
        assert created.json()["name"] == "a"


def test_the_latest_version_may_be_the_default(conf):
    with direct.PlacementDirect(conf, latest_microversion=True) as client:
        response = client.get("/resource_providers")
        assert response.headers["openstack-api-version"] == "placement 1.39"
        response = client.get("/resource_providers", microversion="1.10")
        assert response.headers["openstack-api-version"] == "placement 1.10"


def test_caller_is_administrator_without_reshape(conf):
    with direct.PlacementDirect(conf, latest_microversion=True) as client:
        body = {"inventories": {}, "allocations": {}}
        assert client.post("/reshaper", json=body).status_code == 403
        conf.set_override("enforce_new_defaults", False, "oslo_policy")
        assert client.post("/reshaper", json=body).status_code == 400


def test_it_is_mounted_below_a_prefix(conf):
    placement = direct.PlacementDirect(conf)
    assert placement.url.endswith("/placement")
    with placement as client:
        created = client.post("/resource_providers", json={"name": "a"})
        assert created.headers["location"].startswith(
            "/placement/resource_providers/"
        ) or created.headers["location"].startswith(f"{placement.url}/resource_providers/")


def test_errors_leave_the_context_and_undo_it(conf):
    before = session.Session.get_endpoint
    with pytest.raises(ZeroDivisionError), direct.PlacementDirect(conf):
        raise ZeroDivisionError
    assert session.Session.get_endpoint is before


class Wrapped(direct.PlacementDirect):
    """As nova wraps the Adapter."""

    def __enter__(self):
        return ("wrapped", super().__enter__())


def test_the_application_may_be_replaced(conf):
    def gone(environ, start_response):
        start_response("410 Gone", [])
        return [b""]

    interceptor = Wrapped(conf, latest_microversion=True)
    interceptor.app = lambda: gone
    with interceptor as (word, client):
        assert (word, client.get("/traits").status_code) == ("wrapped", 410)


def test_two_may_be_entered_at_once(conf):
    with direct.PlacementDirect(conf) as outer:
        with direct.PlacementDirect(conf) as inner:
            inner.post("/resource_providers", json={"name": "a"})
        listed = outer.get("/resource_providers").json()["resource_providers"]
        assert [provider["name"] for provider in listed] == ["a"]


# --- the smaller ones -----------------------------------------------------------------------


def test_a_policy_may_be_set_and_widened(use):
    fixture = use(placement_fixture.PlacementFixture(token="somebody"))
    http = Http(fixture)
    policy = use(policy_fixture.PolicyFixture(fixture.conf_fixture))
    show, make = "placement:resource_providers:list", "placement:resource_providers:create"
    assert {show, make} <= {rule.name for rule in policies.list_rules()}
    statuses = []

    def look():
        created = http("POST", "/resource_providers", json={"name": str(uuid.uuid4())})
        statuses.append((http("GET", "/resource_providers").status_code, created.status_code))

    look()
    policy.set_rules({show: "@"})
    look()
    policy.set_rules({make: "@"}, overwrite=False)
    look()
    policy.set_rules({make: "@"})
    look()
    assert statuses == [(403, 403), (200, 403), (200, 200), (403, 200)]


def test_a_policy_of_the_machine_is_not_used(use, monkeypatch, tmp_path):
    (tmp_path / ".placement").mkdir()
    (tmp_path / ".placement" / "policy.yaml").write_text(
        '"placement:resource_providers:list": "!"\n'
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    http = Http(use(placement_fixture.PlacementFixture()))
    assert http("GET", "/resource_providers").status_code == 200


class BrokenDebugLine(testtools.TestCase):
    """A test of testtools, whose log is captured."""

    def runTest(self):
        self.useFixture(capture.WarningsFixture())
        log = self.useFixture(capture.Logging())
        logging.getLogger("a").info("seen")
        logging.getLogger("a").debug("not seen")
        assert "seen" in log.logger.output
        assert "not seen" not in log.logger.output


def test_the_log_is_captured():
    assert BrokenDebugLine().run().wasSuccessful()


def test_a_debug_line_is_formatted_though_it_is_not_kept(use):
    use(capture.Logging())
    formatted = []

    class Seen:
        def __str__(self):
            formatted.append(self)
            return ""

    logging.getLogger("a").debug("%s", Seen())
    assert formatted


def test_nothing_is_printed(use, capfd):
    http = Http(use(placement_fixture.PlacementFixture()))
    claim(http, host(http))
    http("GET", "/nowhere")
    assert capfd.readouterr() == ("", "")


LIBRARIES_EXTERNAL = (
    *("gabbi", "hypothesis", "osc_placement", "psycopg", "psycopg2", "pytest"),
    *(
        "openstackclient",
        "webtest",
        "werkzeug",
        "uwsgi",
        "rich",
        "matplotlib",
        "prometheus_client",
    ),
)


def test_the_fixtures_need_no_library_of_our_own_tests():
    code = (
        "import sys\n"
        f"sys.modules.update(dict.fromkeys({LIBRARIES_EXTERNAL!r}))\n"
        "import placement.direct, placement.tests.fixtures, placement.tests.unit.policy_fixture\n"
        "from placement.tests.functional.fixtures import capture, placement\n"
        "placement.PlacementFixture().setUp()\n"
    )
    interpreter = [sys.executable, "-W", "ignore", "-c", code]
    result = subprocess.run(interpreter, capture_output=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")
