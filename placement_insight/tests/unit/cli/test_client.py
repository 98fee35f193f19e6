"""Requests of the commands of ``openstack``, and the commands that they print."""

from types import SimpleNamespace

import pytest
from keystoneauth1.exceptions import SSLError

from placement_insight.cli.client import failure, program

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
