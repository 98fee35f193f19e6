"""Requests of the commands of ``openstack``, and the commands that they print."""

from types import SimpleNamespace

import pytest
from keystoneauth1.exceptions import ServiceUnavailable, SSLError, Unauthorized

from placement_insight.cli import client
from placement_insight.cli.client import failure, program, retried

NONE = {"cloud": "", "region_name": "", "interface": ""}


@pytest.mark.parametrize(
    ("options", "printed"),
    [
        ({}, "openstack"),
        (
            {"cloud": "east", "region_name": "R 1"},
            "openstack --os-cloud east --os-region-name 'R 1'",
        ),
        ({"cloud": "west", "interface": "internal"}, "openstack --os-interface internal"),
    ],
)
def test_the_program_has_the_options_that_the_environment_lacks(monkeypatch, options, printed):
    monkeypatch.setenv("OS_CLOUD", "west")
    assert program(SimpleNamespace(options=SimpleNamespace(**NONE | options))) == printed


def test_the_error_of_an_untrusted_certificate_says_what_to_set():
    error = failure("GET /insight/clients?a=b", SSLError("certificate verify failed"))
    assert str(error) == (
        "GET /insight/clients failed: certificate verify failed. "
        "Name a file with the CA certificates of the service: --os-cacert, or OS_CACERT."
    )


def test_the_error_of_a_refused_token_says_what_to_check():
    error = failure("GET /insight/top", Unauthorized("The request requires authentication"))
    assert str(error) == (
        "GET /insight/top failed: The request requires authentication (HTTP 401). "
        "The service does not accept the token. Check --os-token, or the credentials: "
        "openstack token issue."
    )


@pytest.fixture
def pauses(monkeypatch):
    """The pauses, which are skipped."""
    seconds = []
    monkeypatch.setattr(client, "time", SimpleNamespace(sleep=seconds.append))
    return seconds


def refusing(times, headers):
    """Return a function that raises so many times, and then returns how often it was called."""
    calls = []

    def send():
        calls.append(1)
        if len(calls) <= times:
            raise ServiceUnavailable(response=SimpleNamespace(headers=headers))
        return len(calls)

    return send


def test_a_request_is_sent_again_while_the_service_is_busy(pauses):
    assert retried(refusing(3, {"Retry-After": "1"})) == 4
    assert pauses == [1, 3, 9]
    with pytest.raises(ServiceUnavailable):
        retried(refusing(4, {"Retry-After": "1"}))


@pytest.mark.parametrize(
    "headers", [{}, {"Retry-After": "3600"}, {"Retry-After": "Sat, 28 Nov 2026 14:00:00 GMT"}]
)
def test_a_search_that_took_too_long_or_maintenance_is_final(pauses, headers):
    with pytest.raises(ServiceUnavailable):
        retried(refusing(1, headers))
    assert pauses == []
