"""The audit filter of keystonemiddleware, behind authentication."""

import json
import logging

import pytest
from keystonemiddleware import audit

from placement.tests.support.processes import ROOT
from placement.tests.support.stub_service import ADMIN, service

USER = "6f3c0b3e-6d0f-4c0e-9d5b-5a4c8d8f7e21"
CALLER = ADMIN | {"x-auth-token": USER, "x-roles": "admin"}
# pycadf warns of its own constants and of the users of tests
pytestmark = pytest.mark.filterwarnings("ignore:Invalid uuid:UserWarning")

SAMPLE = str(ROOT / "etc" / "placement" / "api_audit_map.conf")


def audited(**options):
    return service(audit__enabled=True, audit__audit_map_file=SAMPLE, **options)


@pytest.fixture
def events(caplog):
    """A function that returns the events of the requests so far."""
    caplog.set_level(logging.INFO, "placement.audit")
    return lambda: [
        record.args["payload"]
        for record in caplog.records
        if record.name == "placement.audit" and isinstance(record.args, dict)
    ]


def test_a_write_has_an_event_with_its_user_and_its_outcome(events):
    audited().put("/things/1", headers=CALLER)
    request, response = events()
    assert request["outcome"] == "pending"
    assert response["outcome"] in {"success", "failure"}
    assert response["initiator"]["id"] == USER
    assert response["action"] == "update"
    assert response["requestPath"] == "/things/1"


def test_the_type_of_a_resource_is_read_from_the_sample(events):
    catalog = [{"type": "placement", "name": "placement", "endpoints": [{"id": USER}]}]
    headers = CALLER | {"x-service-catalog": json.dumps(catalog)}
    audited().put("/resource_providers/1/inventories/VCPU", headers=headers)
    resource = "resource_providers/resource_provider/inventories/inventory"
    assert events()[0]["target"]["typeURI"] == f"service/compute/placement/{resource}"


def test_the_token_is_not_in_an_event(events):
    token = f"{USER}:0123456789abcdef0123456789abcdef"
    audited().delete("/things/1", headers=CALLER | {"x-auth-token": token})
    assert len(events()) == 2
    assert token not in str(events())
    assert token[20:-20] not in str(events())


def test_reads_and_the_versions_have_no_events_by_default(events):
    http = audited()
    http.get("/things/1", headers=CALLER)
    http.get("/")
    assert events() == []


def test_reads_have_events_if_no_method_is_ignored(events):
    audited(audit__ignore_req_list="").get("/things/1", headers=CALLER)
    assert len(events()) == 2


def test_a_request_without_token_has_no_event(events):
    audited().put("/things/1", status=401)
    assert events() == []


def test_the_start_logs_no_warning(caplog):
    audited()
    assert caplog.messages == []


def test_the_start_mutes_the_filter_alone(monkeypatch):
    levels = []

    class Filter(audit.AuditMiddleware):  # type: ignore[misc]  # it has no types
        def __init__(self, *arguments, **options):
            names = (None, "placement", "keystonemiddleware")
            levels.extend(logging.getLogger(name).getEffectiveLevel() for name in names)
            super().__init__(*arguments, **options)

    before = logging.getLogger().level, logging.getLogger("placement").getEffectiveLevel()
    monkeypatch.setattr(audit, "AuditMiddleware", Filter)
    audited()
    assert levels == [*before, logging.ERROR]


def test_a_missing_map_is_named(tmp_path):
    with pytest.raises(RuntimeError, match=r"audit_map_file = \S+missing.conf cannot be read"):
        service(audit__enabled=True, audit__audit_map_file=str(tmp_path / "missing.conf"))
