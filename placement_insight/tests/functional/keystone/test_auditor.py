"""The sample policy of an auditor, with a real Keystone."""

import re
from pathlib import Path

import pytest

import placement
from placement import deploy
from placement.tests.functional.keystone.conftest import asking
from placement_insight.routes import DECLARATIONS

# one Keystone is enough for a run
pytestmark = [pytest.mark.long, pytest.mark.xdist_group("keystone")]

AUDITOR = Path(placement.__file__).parent.parent / "etc" / "placement" / "policy.d"


@pytest.fixture(scope="module")
def auditor(cloud):
    cloud.role("auditor")
    return cloud.user("auditor", "auditor", cloud.project("auditing"))


@pytest.fixture(scope="module")
def reader(cloud):
    return cloud.user("reader", "reader", cloud.project("reading"))


@pytest.fixture
def audited(conf, application, http):
    """The service with the sample among its policy files."""
    conf.set_override("policy_dirs", [str(AUDITOR)], "oslo_policy")
    return asking(deploy.loadapp(conf))


def test_an_auditor_may_read_everything(audited, auditor):
    statuses = {
        audited(auditor, re.sub(r"\{.*?\}", "X", path), method).status_int
        for path, methods in DECLARATIONS.items()
        for method in methods
    }
    assert statuses <= {200, 400, 404, 415}


def test_the_sample_leaves_the_access_of_other_roles(audited, reader):
    assert audited(reader, "/insight").status_int == 403


def test_without_the_sample_the_role_may_do_nothing(http, auditor):
    assert http(auditor, "/insight").status_int == 403
