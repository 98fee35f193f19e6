"""Requests of the commands of ``openstack``, and the commands that they print."""

from types import SimpleNamespace

import pytest

from placement.cli.client import program

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
