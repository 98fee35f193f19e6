"""What *Tests of other projects* in the documentation shows: it includes these classes."""

import logging

import requests
import testtools
from fixtures import Fixture
from keystoneauth1 import adapter, session
from oslo_config import cfg
from oslo_config import fixture as config_fixture
from oslo_policy import opts as policy_opts

from placement import conf as placement_conf
from placement import deploy, direct
from placement.tests import fixtures as placement_fixtures
from placement.tests.functional.fixtures import capture
from placement.tests.functional.fixtures import placement as placement_fixture
from placement.tests.unit import policy_fixture


class ClaimTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.useFixture(capture.Logging())
        placement = self.useFixture(placement_fixture.PlacementFixture())
        self.client = adapter.Adapter(
            session.Session(),
            service_type="placement",
            endpoint_override=placement.endpoint,
            additional_headers={"x-auth-token": placement.token},
            default_microversion="1.39",
            raise_exc=False,
        )

    def test_a_host_that_is_full_is_no_candidate(self):
        host = self.client.post("/resource_providers", json={"name": "host1"}).json()
        inventories = {
            "resource_provider_generation": host["generation"],
            "inventories": {"VCPU": {"total": 4}},
        }
        self.client.put(f"/resource_providers/{host['uuid']}/inventories", json=inventories)
        query = "/allocation_candidates?resources=VCPU:4"
        (request,) = self.client.get(query).json()["allocation_requests"]

        claim = {
            "allocations": request["allocations"],
            "mappings": request["mappings"],
            "consumer_generation": None,
            "consumer_type": "INSTANCE",
            "project_id": "demo",
            "user_id": "me",
        }
        server = "/allocations/a7c1f9e2-5b34-4c68-9d0e-2f4b6a8c0d11"
        assert self.client.put(server, json=claim).status_code == 204
        assert self.client.get(query).json()["allocation_requests"] == []


class FewCandidates(placement_fixture.PlacementFixture):
    """Placement as a cloud has it that sets some options."""

    def _configure_placement(self, conf_fixture):
        conf_fixture.config(group="placement", max_allocation_candidates=1)
        conf_fixture.config(group="oslo_policy", enforce_new_defaults=True)


class ConfiguredTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.placement = self.useFixture(FewCandidates(token="somebody:some-project"))

    def status(self, path):
        headers = {"x-auth-token": self.placement.token}
        return requests.get(
            self.placement.endpoint + path, headers=headers, timeout=30
        ).status_code

    def test_options_and_policy_may_be_set_later(self):
        assert self.status("/resource_providers") == 403
        policy = self.useFixture(policy_fixture.PolicyFixture(self.placement.conf_fixture))
        policy.set_rules({"placement:resource_providers:list": "@"})
        assert self.status("/resource_providers") == 200


class Configuration(Fixture):
    """What PlacementDirect needs: options, parsed, and a database for them."""

    def _setUp(self):
        self.fixture = self.useFixture(config_fixture.Config(cfg.ConfigOpts()))
        self.conf = self.fixture.conf
        placement_conf.register_opts(self.conf)
        policy_opts.set_defaults(self.conf)
        self.useFixture(placement_fixtures.Database(self.fixture, set_config=True))
        self.conf([], default_config_files=[], default_config_dirs=[])


class DirectTest(testtools.TestCase):
    def setUp(self):
        super().setUp()
        self.conf = self.useFixture(Configuration()).conf

    def test_a_provider_is_made(self):
        with direct.PlacementDirect(self.conf, latest_microversion=True) as client:
            response = client.post("/resource_providers", json={"name": "host1"})
            assert response.json()["generation"] == 0
            assert client.get("/traits", microversion="1.5").status_code == 404


class Counting(direct.PlacementDirect):
    """Counts the requests, and hands out more than the client."""

    def __init__(self, conf):
        super().__init__(conf, latest_microversion=True)
        self.count = 0
        self._service = self.app
        self.app = lambda: self._count

    def __enter__(self):
        return self, super().__enter__()

    def _count(self, environ, start_response):
        self.count += 1
        return self._service()(environ, start_response)


class SubclassTest(testtools.TestCase):
    def test_requests_are_counted(self):
        conf = self.useFixture(Configuration()).conf
        with Counting(conf) as (placement, client):
            assert client.get("/resource_providers").status_code == 200
            assert client.get("/traits").status_code == 200
        assert placement.count == 2


class LogTest(testtools.TestCase):
    def test_the_service_says_that_it_was_asked(self):
        log = self.useFixture(capture.Logging(level=logging.INFO))
        placement = self.useFixture(placement_fixture.PlacementFixture())
        requests.get(placement.endpoint + "/", timeout=30)
        assert '"GET /placement/" status: 200' in log.logger.output


class ApplicationTest(testtools.TestCase):
    def test_it_is_an_application_like_any_other(self):
        conf = self.useFixture(Configuration()).conf
        application = deploy.loadapp(conf)
        statuses = []
        application(
            {"REQUEST_METHOD": "GET", "PATH_INFO": "/", "SCRIPT_NAME": ""},
            lambda status, headers, exc_info=None: statuses.append(status),
        )
        assert statuses == ["200 OK"]
