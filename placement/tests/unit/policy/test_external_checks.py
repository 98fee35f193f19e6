"""Rules that call another service: unreachable, unresponsive, refusing and allowing ones."""

import socket
import threading
import time
from contextlib import contextmanager

import pytest
import yaml

from placement import exception, policies
from placement.policy import Policy
from placement.tests.support.stub_service import LATEST, configured, service


@pytest.fixture
def http(tmp_path):
    """Return a function that returns a service whose rule of a provider has this check."""

    def of(check, timeout_seconds=60):
        return service(
            oslo_policy__policy_file=policy_file(check),
            oslo_policy__remote_timeout=timeout_seconds,
        )

    def policy_file(check):
        path = tmp_path / "policy.yaml"
        path.write_text(yaml.safe_dump({policies.SHOW_PROVIDER.name: check}))
        return str(path)

    return of


@contextmanager
def listener(response=None):
    """Yield the address of a service that sends this response to one client, or nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=respond, args=(listening, response))
        if response is not None:
            thread.start()
        yield "{}:{}".format(*listening.getsockname())
        if response is not None:
            thread.join()


def respond(listening, text):
    client, _ = listening.accept()
    with client:
        client.recv(10_000)
        client.sendall(f"HTTP/1.0 200 OK\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode())


def test_an_unreachable_service_is_503_and_named_in_the_log(http, caplog):
    response = http("http://127.0.0.1:1/decide").get("/things/1", headers=LATEST)
    assert response.status_int == 503
    assert response.headers["retry-after"] == "1"
    (error,) = response.json["errors"]
    assert policies.SHOW_PROVIDER.name in error["detail"]
    assert "127.0.0.1" not in response.text, "hosts are for the log alone"
    (line,) = [each for each in caplog.messages if "did not decide" in each]
    assert f"{policies.SHOW_PROVIDER.name} calls" in line
    assert "Reason: http://127.0.0.1:1: " in line
    assert "Connection refused" in line


def test_an_unresponsive_service_is_503_after_the_timeout(http, caplog):
    with listener() as address:
        started_at = time.monotonic()
        response = http(f"http://{address}/", 0.2).get("/things/1", headers=LATEST)
        seconds = time.monotonic() - started_at
    assert response.status_int == 503
    assert seconds >= 0.2
    assert f"http://{address}: Timeout" in caplog.text


@pytest.mark.parametrize(("text", "status"), [("True", 200), ("False", 403), ("", 403)])
def test_the_response_decides(http, text, status):
    with listener(text) as address:
        assert http(f"http://{address}/").get("/things/1", headers=LATEST).status_int == status


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        ("http://[/", "InvalidURL"),
        ("http:", "InvalidURL"),
    ],
)
def test_a_check_that_cannot_be_sent_is_503(http, caplog, check, reason):
    assert http(check).get("/things/1", headers=LATEST).status_int == 503
    assert reason in caplog.text


@pytest.mark.parametrize("attribute", ["project_id", "user_id", "flavor"])
@pytest.mark.parametrize(("roles", "status"), [("member", 403), ("admin", 200)])
def test_a_url_with_what_the_request_does_not_name_denies_and_others_decide(
    http, caplog, attribute, roles, status
):
    client = http(f"http://127.0.0.1:1/%({attribute})s or role:admin")
    response = client.get("/things/1", headers=LATEST | {"X-Roles": roles})
    assert response.status_int == status
    assert f"placement:resource_providers:show have no {attribute}; what compares" in caplog.text
    if status == 403:
        needs = "It needs a condition of the policy file or role admin; this token has the role"
        assert needs in response.json["errors"][0]["detail"]


def test_a_url_with_the_project_that_the_request_names_is_called(tmp_path):
    path = tmp_path / "policy.yaml"
    with listener("True") as address:
        path.write_text(f'"placement:usages": "http://{address}/%(project_id)s"')
        client = service(oslo_policy__policy_file=str(path))
        assert client.get("/things", headers=LATEST).status_int == 403
        assert client.get("/things?project_id=p", headers=LATEST).status_int == 200


@pytest.mark.parametrize("place", ["127.0.0.1:1", "127.0.0.1:99999", "[", "h.invalid"])
def test_no_credentials_of_the_url_are_shown(http, caplog, place):
    """The warning of a failed check had the user, the password and the query of its URL."""
    check = f"http://caller:s3cret@{place}/t0ken?key=TOPSECRET"
    response = http(check).get("/things/1", headers=LATEST)
    assert response.status_int == 503
    for text in ("s3cret", "t0ken", "TOPSECRET"):
        assert text not in response.text
        assert text not in caplog.text


def test_a_refusal_does_not_show_the_check(http):
    with listener("False") as address:
        check = f"user_id:0d1e5f7a9b or http://caller:s3cret@{address}/?key=TOPSECRET"
        response = http(check).get("/things/1", headers=LATEST, status=403)
    (error,) = response.json["errors"]
    needs = "It needs a condition of the policy file; this token has the role admin."
    assert needs in error["detail"]
    assert "0d1e5f7a9b" not in response.text


def test_a_missing_certificate_is_named(tmp_path):
    path, missing = tmp_path / "policy.yaml", str(tmp_path / "missing.pem")
    path.write_text(yaml.safe_dump({policies.SHOW_PROVIDER.name: "https://127.0.0.1:1/"}))
    rules = Policy(
        configured(
            oslo_policy__policy_file=str(path), oslo_policy__remote_ssl_client_crt_file=missing
        )
    )
    with pytest.raises(exception.PolicyCheckFailed) as failed:
        rules.decisions().authorize(
            policies.SHOW_PROVIDER.name, {}, {"roles": ["admin"], "project_id": "p"}
        )
    assert missing in failed.value.reason


def test_the_default_timeout_is_short():
    assert configured().oslo_policy.remote_timeout == 5
