"""Authentication and authorization with a real Keystone."""

import json
import logging
import re
import socket
import time
from pathlib import Path

import msgpack
import pytest
import webtest
from cryptography.fernet import Fernet

import placement
from placement import deploy
from placement.handler import ROUTE_DECLARATIONS
from placement.http.auth import keystone_url
from placement.tests.functional.keystone.conftest import DOMAIN, asking, configured
from placement.tests.support.processes import certificate, start_nginx
from placement.tests.support.waiting import wait_until

# one Keystone is enough for a run
pytestmark = [pytest.mark.long, pytest.mark.xdist_group("keystone")]

PROVIDERS = "/resource_providers"


@pytest.fixture(scope="module")
def project(cloud):
    return cloud.project("reading")


@pytest.fixture(scope="module")
def other_project(cloud):
    return cloud.project("secretive")


@pytest.fixture(scope="module")
def admin(cloud):
    return cloud.admin_token()


@pytest.fixture(scope="module")
def service(cloud, project):
    return cloud.user("compute", "service", project)


@pytest.fixture(scope="module")
def reader(cloud, project):
    return cloud.user("reader", "reader", project)


def rule(answer):
    assert answer.status_int == 403
    return answer.json["errors"][0]["detail"].split("\n")[-1].strip()


def reshape(http, token):
    return http(token, "/reshaper", "POST")


def test_the_root_is_open(http):
    assert [http(token, path).status_int for token in (None, "x") for path in ("", "/")] == [
        200
    ] * 4


@pytest.mark.parametrize("token", [None, "", "no-token", "gAAAAABinvalid"])
def test_token_must_be_valid(http, keystone, token):
    response = http(token, PROVIDERS)
    assert response.status_int == 401
    assert response.headers["WWW-Authenticate"] == f'Keystone uri="{keystone}"'
    assert response.json["error"]["code"] == 401
    assert response.headers["x-openstack-request-id"].startswith("req-")


def test_a_revoked_token_is_none(http, cloud, admin):
    token = cloud.admin_token()
    cloud.revoke(token)
    assert http(token, PROVIDERS).status_int == 401
    assert http(admin, PROVIDERS).status_int == 200


def expired(token, keystone_folder):
    """Return a token of the same user that has expired, written with the key of Keystone."""
    (*_, newest) = sorted((keystone_folder / "keys").iterdir())
    key = Fernet(newest.read_bytes())
    payload = msgpack.unpackb(key.decrypt(token + "=" * (-len(token) % 4)))
    payload[4] = time.time() - 60
    return key.encrypt(msgpack.packb(payload)).decode().rstrip("=")


def test_an_expired_token_is_accepted_with_the_token_of_a_service(
    http, keystone_folder, admin, service, reader
):
    token = expired(admin, keystone_folder)
    assert http(token, PROVIDERS).status_int == 401
    assert http(token, PROVIDERS, **{"X-Service-Token": reader}).status_int == 401
    assert http(token, PROVIDERS, **{"X-Service-Token": service}).status_int == 200


TLS_PROXY = """
server {{
    listen {listen} ssl;
    ssl_certificate {certificate};
    ssl_certificate_key {key};
    location / {{
        proxy_pass {keystone};
        proxy_set_header Host $http_host;
        proxy_set_header X-Forwarded-Proto https;
    }}
}}
"""


def test_the_certificate_of_keystone_is_verified_by_cafile(
    conf, application, deployment, keystone, admin
):
    own, key = certificate(deployment.folder, "own")
    other, _ = certificate(deployment.folder, "other")
    names = {"listen": deployment.address, "keystone": keystone.removesuffix("/v3")}
    site = TLS_PROXY.format(certificate=own, key=key, **names)
    start_nginx(deployment, site)
    wait_until(lambda: is_open(deployment.port), message=deployment.logs)

    def status(cafile):
        url, database = f"https://{deployment.address}", conf.placement_database.connection
        https = configured(deployment.folder, database, url, f"cafile = {cafile}\n")
        return asking(deploy.loadapp(https))(admin, PROVIDERS).status_int

    assert [status(file) for file in (own, other)] == [200, 503]


def is_open(port):
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


def test_identity_headers_of_clients_are_ignored(http, reader):
    claimed = {"X-Roles": "admin", "X-User-Id": "admin", "X-Identity-Status": "Confirmed"}
    claimed |= {"OpenStack-System-Scope": "all", "X-Service-Roles": "service", "X-Role": "admin"}
    assert rule(http(reader, PROVIDERS, **claimed)).startswith("Policy does not allow")
    assert http(None, PROVIDERS, **claimed).status_int == 401


def test_the_administrator_does_everything_but_reshape(http, admin, project):
    assert http(admin, PROVIDERS).status_int == 200
    assert http(admin, f"/usages?project_id={project}").status_int == 200
    assert "placement:reshaper:reshape" in rule(reshape(http, admin))


def test_a_service_does_everything(http, service, other_project):
    assert http(service, PROVIDERS).status_int == 200
    assert http(service, f"/usages?project_id={other_project}").status_int == 200
    response = reshape(http, service)
    assert (response.status_int, "Malformed JSON" in response.text) == (400, True)


def test_a_reader_sees_what_its_own_project_uses(http, reader, project, other_project):
    own = http(reader, f"/usages?project_id={project}")
    assert (own.status_int, own.json) == (200, {"usages": {}})
    refused = (
        "Policy does not allow placement:usages to be performed. It needs role admin or (role "
        "reader and project_id:%(project_id)s) or role service; this token has the role reader."
    )
    assert rule(http(reader, f"/usages?project_id={other_project}")) == refused
    assert rule(http(reader, "/usages")) == refused
    assert "placement:resource_providers:list" in rule(http(reader, PROVIDERS))


def test_what_a_reader_sees_is_what_its_project_uses(http, admin, reader, project):
    claim(http, admin, project)
    own = http(reader, f"/usages?project_id={project}")
    assert own.json == {"usages": {"INSTANCE": {"consumer_count": 1, "VCPU": 2}}}


def claim(http, token, project):
    uuid, consumer = "aaaaaaaa-0000-4000-8000-000000000001", "cccccccc-0000-4000-8000-000000000001"
    write(http, token, "POST", PROVIDERS, {"name": "host", "uuid": uuid})
    inventories = {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 4}}}
    write(http, token, "PUT", f"{PROVIDERS}/{uuid}/inventories", inventories)
    allocations = {
        "allocations": {uuid: {"resources": {"VCPU": 2}}},
        "project_id": project,
        "user_id": "somebody",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }
    write(http, token, "PUT", f"/allocations/{consumer}", allocations)


def write(http, token, method, path, document):
    assert http(token, path, method, json.dumps(document).encode()).status_int < 300


# --- the sample policy of an auditor ------------------------------------------------------

SAMPLES = Path(placement.__file__).parent.parent / "etc" / "placement"
AUDITOR = SAMPLES / "policy.d"
AUDIT_MAP = SAMPLES / "api_audit_map.conf"


@pytest.fixture(scope="module")
def auditor(cloud):
    cloud.role("auditor")
    return cloud.user("auditor", "auditor", cloud.project("auditing"))


@pytest.fixture
def audited(conf, application, http):
    """Our service with the sample among its policy files."""
    conf.set_override("policy_dirs", [str(AUDITOR)], "oslo_policy")
    return asking(deploy.loadapp(conf))


ROUTES = [
    (method, path)
    for path, methods in ROUTE_DECLARATIONS.items()
    for method in methods
    if path not in {"", "/"}
]


def test_an_auditor_may_read_everything_and_change_nothing(audited, auditor):
    statuses = {
        (method, path): audited(auditor, re.sub(r"\{.*?\}", "X", path), method).status_int
        for method, path in ROUTES
    }
    refused = {route for route, status in statuses.items() if status == 403}
    assert refused == {route for route in ROUTES if route[0] != "GET"}
    assert len(refused) >= 20
    assert {status for status in statuses.values() if status != 403} <= {200, 400, 404}


def test_an_auditor_sees_the_usages_of_every_project(audited, auditor, project):
    assert audited(auditor, f"/usages?project_id={project}").status_int == 200


def test_the_auditors_sample_leaves_the_access_of_other_roles(audited, admin, service, reader):
    assert audited(reader, PROVIDERS).status_int == 403
    for token in (admin, service):
        assert audited(token, PROVIDERS).status_int == 200
        assert audited(token, "/traits/CUSTOM_A", "PUT").status_int in {201, 204}


@pytest.mark.filterwarnings("ignore:Invalid uuid:UserWarning")  # pycadf, of its own constants
def test_audit_events_name_the_user_of_the_token(conf, application, service, reader, caplog):
    conf.set_override("enabled", True, "audit")
    conf.set_override("audit_map_file", str(AUDIT_MAP), "audit")
    client = webtest.TestApp(deploy.loadapp(conf))
    caplog.set_level(logging.INFO, "placement.audit")
    for token, outcome in ((service, "success"), (reader, "failure")):
        caplog.clear()
        client.put("/traits/CUSTOM_AUDITED", headers=latest(token), status="*")
        _, event = (each.args["payload"] for each in caplog.records if "Payload" in each.message)
        assert event["outcome"] == outcome
        assert event["initiator"]["name"] in {"compute", "reader"}
        assert re.fullmatch("[0-9a-f]{32}", event["initiator"]["id"])
        length = round(len(token) / 8)
        masked = f"{token[:length]} xxxxxxxx {token[-length:]}"
        assert event["initiator"]["credential"]["token"] == masked
        assert token[: length + 1] not in str(event)


def latest(token):
    return {"X-Auth-Token": token, "OpenStack-API-Version": "placement latest"}


def test_without_the_sample_the_role_may_do_nothing(http, auditor):
    assert http(auditor, PROVIDERS).status_int == 403


def test_a_token_for_no_project_is_refused_whatever_its_role(http, cloud):
    system = cloud.token("admin", system_scope="all")
    cloud.grant_on_domain("admin", "admin")
    domain = cloud.token("admin", domain_id=DOMAIN)
    for token in (system, domain):
        assert rule(http(token, PROVIDERS)).startswith(
            "placement:resource_providers:list needs a token with project scope"
        )
    unscoped = cloud.token("admin", unscoped=True)
    assert "Policy does not allow" in rule(http(unscoped, PROVIDERS))


def test_the_health_check_asks_the_keystone_that_is_configured(conf, application, keystone):
    """The URL is that of [keystone_authtoken], whose options the middleware registers."""
    assert keystone_url(conf) == keystone
    conf.set_override("enabled", True, "healthcheck")
    deploy.loadapp(conf)  # registers the options of the middleware
    conf.set_override("backends", ["placement"], "healthcheck")
    conf.set_override("detailed", True, "healthcheck")
    environ = {"REMOTE_ADDR": "127.0.0.1"}
    http = webtest.TestApp(deploy.loadapp(conf), extra_environ=environ)
    response = http.get("/healthcheck", headers={"Accept": "application/json"})
    (reason,) = response.json["reasons"]
    assert reason["details"].endswith("keystone: responds")
