import logging

import pytest
import webob
from keystonemiddleware import opts
from oslo_config import cfg
from oslo_context.context import get_current

from placement.http import auth
from placement.http.request import Context
from placement.http.request_log import LOG
from placement.tests.support.stub_service import ADMIN, service


@pytest.fixture(scope="module")
def http():
    return service()


def test_without_a_token_the_answer_is_401(http):
    response = http.get("/things/1", status=401)
    assert response.json.keys() == {"message", "code", "title"}
    assert response.json["code"] == "401 Unauthorized"
    assert set(response.headers) == {
        "Content-Type",
        "Content-Length",
        "X-Content-Type-Options",
        "x-openstack-request-id",
    }


def test_unauthorized_is_html_if_accepted(http):
    assert http.get("/x", headers={"Accept": "text/html"}, status=401).content_type == "text/html"


def test_the_root_is_open(http):
    http.get("/", status=200)


def test_the_empty_path_is_not(http):
    http.get("", status=401)
    http.get("", headers=ADMIN, status=200)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"X-Auth-Token": "admin"}, 200),
        ({"X-Auth-Token": "admin:project"}, 200),
        ({"X-Auth-Token": "admin", "X-Roles": ""}, 403),
        ({"X-Auth-Token": "admin", "X-Roles": "reader"}, 403),
        ({"X-Auth-Token": "anybody"}, 403),
        ({"X-Auth-Token": "anybody", "X-Roles": "reader, ADMIN"}, 200),
        ({"X-Auth-Token": "anybody", "X-Roles": "service"}, 200),
        ({"X-Auth-Token": ""}, 403),
        ({"X-Auth-Token": ":x"}, 403),
        ({"X-Auth-Token": "admin", "OpenStack-System-Scope": "all"}, 403),
        ({"X-Auth-Token": "admin", "X-Domain-Id": "d"}, 403),
    ],
)
def test_noauth2_roles_decide(http, headers, status):
    http.get("/things/1", headers=headers, status=status)


@pytest.mark.parametrize(
    ("headers", "query", "status"),
    [
        ({"X-Auth-Token": "user:p1"}, "?project_id=p1", 200),
        ({"X-Auth-Token": "user:p1"}, "?project_id=p2", 403),
        ({"X-Auth-Token": "user:p1"}, "", 403),
        ({"X-Auth-Token": "p1"}, "?project_id=p1", 200),
        ({"X-Auth-Token": "user:p1", "X-Project-Id": "p2"}, "?project_id=p2", 200),
    ],
)
def test_a_reader_reads_in_its_own_project(http, headers, query, status):
    http.get(f"/things{query}", headers=headers | {"X-Roles": "reader"}, status=status)


KEYSTONE = {
    "api__auth_strategy": "keystone",
    "keystone_authtoken__www_authenticate_uri": "http://keystone.example",
}


def test_with_keystone_the_root_is_open_and_the_rest_is_not():
    http = service(**KEYSTONE)
    http.get("/", status=200)
    http.get("", status=200)
    response = http.get("/things/1", status=401)
    assert response.headers["WWW-Authenticate"] == 'Keystone uri="http://keystone.example"'
    assert response.json["error"]["code"] == 401
    assert response.headers["x-openstack-request-id"].startswith("req-")


def test_delayed_decision_refuses_requests_without_user():
    http = service(**KEYSTONE, keystone_authtoken__delay_auth_decision=True)
    response = http.get(
        "/things/1", headers={"X-User-Id": "admin", "X-Roles": "admin"}, status=401
    )
    assert response.json["code"] == "401 Unauthorized"


@pytest.mark.parametrize("arguments", [[], ["--config-file", "placement.conf"]])
def test_the_tokens_of_services_need_their_role_unless_told_otherwise(
    arguments, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    text = "[keystone_authtoken]\nservice_token_roles_required = false\n"
    (tmp_path / "placement.conf").write_text(text)
    conf = cfg.ConfigOpts()
    conf(arguments, default_config_files=[], default_config_dirs=[])
    ((group, options),) = opts.list_auth_token_opts()
    conf.register_opts(options, group)
    conf.set_default("service_token_roles_required", False, group)  # as in keystonemiddleware 12
    auth.with_keystone(webob.Response(), conf)
    assert conf[group].service_token_roles_required is not bool(arguments)


class Identities(logging.Filter):
    """Keeps the identity that the formatters of oslo.log add to each line."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def filter(self, _record):
        self.seen.append(get_current().get_logging_values())
        return True


FORGED = {
    "X-User-Id": "forged",
    "X-User": "forged",
    "X-Project-Id": "forged",
    "X-Tenant-Id": "forged",
    "X-User-Name": "forged",
    "X-User-Domain-Id": "forged",
    "X-Domain-Id": "forged",
    "X-Roles": "forged",
    "OpenStack-System-Scope": "forged",
}


@pytest.mark.parametrize("options", [{}, KEYSTONE], ids=["noauth2", "keystone"])
def test_an_unauthenticated_client_names_nobody_in_the_log(options, caplog):
    """GET / without a token wrote any user, project and domain into the log."""
    identities = Identities()
    caplog.set_level(logging.INFO, LOG.name)
    LOG.addFilter(identities)
    try:
        service(**options).get("/", headers=FORGED, status=200)
    finally:
        LOG.removeFilter(identities)
    (identity,) = identities.seen
    assert identity["user_identity"] == "- - - - -"
    assert "forged" not in str(identity)


def test_control_characters_of_an_identity_are_escaped():
    context = Context(user_id="a\x1b[2Ja", user_name="b\nERROR c", project_id="d\u2028e")
    values = context.get_logging_values()
    assert values["user_name"] == r"b\nERROR c"
    assert values["user_identity"] == r"a\x1b[2Ja d\u2028e - - -"
    assert context.user_id == "a\x1b[2Ja"


def test_authentication_error_has_the_usual_form(monkeypatch):
    def failing(_environ, _start_response):
        raise RuntimeError("Keystone's certificate has expired")

    monkeypatch.setattr(auth, "with_authentication", lambda *_: failing)
    response = service().get("/things/1", status=500)
    assert response.json["errors"][0]["title"] == "Internal Server Error"
    assert "openstack-api-version" not in response.headers
