"""The whole service on each database: the parts are put together, and answer."""

import pytest
import webtest

from placement import db_api, deploy
from placement.db.store import Store
from placement.tests.support.processes import LATEST
from placement.tests.support.stores import replaced_store


@pytest.fixture
def application(conf):
    """The service, started as in production: it checks and completes its database."""
    store = Store(db_api.settings(conf))
    assert not store.is_ready
    with replaced_store(store):
        yield deploy.loadapp(conf)
    assert store.is_ready
    store.dispose()


@pytest.fixture
def http(application):
    return webtest.TestApp(application)


def test_empty_database_has_no_providers_and_candidates(http):
    assert http.get("/resource_providers", headers=LATEST).json == {"resource_providers": []}
    response = http.get("/allocation_candidates?resources=VCPU:1", headers=LATEST)
    assert response.json == {"allocation_requests": [], "provider_summaries": {}}


def test_mount_prefix(http):
    mounted = {"SCRIPT_NAME": "/placement"}
    for path in ("", "/"):
        response = http.get(path, headers=LATEST, extra_environ=mounted)
        assert response.json["versions"][0]["links"] == [{"rel": "self", "href": ""}]


def test_a_second_application_of_a_process_uses_its_database(application, conf):
    again = webtest.TestApp(deploy.loadapp(conf, "placement"))
    assert again.get("/resource_providers", headers=LATEST).json == {"resource_providers": []}
