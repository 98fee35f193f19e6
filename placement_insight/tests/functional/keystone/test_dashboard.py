"""The command of the dashboard with a real Keystone: regions, roles, and the end of a token."""

import json
import urllib.request

import pytest

from placement.tests.functional.keystone import serve
from placement.tests.functional.keystone.conftest import CONFIGURATION, DOMAIN
from placement.tests.support.processes import ApiProcess
from placement.tests.support.servers import free_port
from placement_insight.tests.functional.page.test_command import (
    COMMAND,
    dashboard,
    failed,
    status,
)
from placement_insight.tests.support.openstack_client import OPENSTACK

# one Keystone is enough for a run
pytestmark = [pytest.mark.long, pytest.mark.xdist_group("keystone")]


@pytest.fixture(scope="module")
def service(keystone, tmp_path_factory):
    folder = tmp_path_factory.mktemp("service")
    configuration = folder / "placement.conf"
    text = CONFIGURATION.format(
        database=f"sqlite:///{folder}/placement.sqlite\nsync_on_startup = true",
        keystone=keystone,
        password=serve.PASSWORD,
    )
    configuration.write_text(f"{text}token_cache_time = -1\n")
    with ApiProcess(folder, "--port=0", "--config-file", str(configuration)) as process:
        process.get()
        yield process.url


@pytest.fixture(scope="module")
def openstack(cloud, service):
    """A function that returns the words of a command: the service is in the region East."""
    cloud.catalog("placement", East=service, West=f"http://127.0.0.1:{free_port()}")

    def words(**options):
        given = {"auth-url": cloud.keystone, "region-name": "East", **options}
        return [OPENSTACK, *(f"--os-{n}={value}" for n, value in given.items()), *COMMAND]

    return words


def of_user(name, **options):
    domain = {"user-domain-id": DOMAIN, "project-domain-id": DOMAIN}
    return {"username": name, "password": serve.PASSWORD, **domain, **options}


def providers(address):
    return f"{address.removesuffix('page/')}providers"


def test_it_serves_the_region_with_the_password_of_an_administrator(openstack, tmp_path):
    command = openstack(**of_user("admin", **{"project-name": "admin"}))
    with dashboard(command, tmp_path, "--no-browser") as (_, address):
        assert status(providers(address)) == 200
        with urllib.request.urlopen(f"{address}settings.json", timeout=60) as response:
            assert json.load(response)["region"] == "East"


def test_the_end_of_a_token_is_reported_to_the_page(cloud, openstack, tmp_path):
    project = cloud.project("operators")
    cloud.user("operator", "admin", project)
    command = openstack(**of_user("operator", **{"project-id": project}))
    with dashboard(command, tmp_path, "--no-browser") as (_, address):
        assert status(providers(address)) == 200
        cloud.disable("operator")
        assert status(providers(address)) == 401


def test_what_is_wrong_is_reported(cloud, openstack, tmp_path):
    reader, project = "reader of the dashboard", cloud.project("dashboard")
    cloud.user(reader, "reader", project)
    of_admin = {"project-name": "admin"}
    for options, text in (
        (of_user(reader, **{"project-id": project}), "Policy does not allow placement:insight:"),
        (of_user("admin", password="wrong", **of_admin), "(HTTP 401)"),
        (
            of_user("admin", **of_admin, **{"region-name": "West"}),
            "Unable to establish connection",
        ),
        (of_user("admin", **of_admin, **{"region-name": "North"}), "in North region not found"),
    ):
        error = failed(tmp_path, *openstack(**options))
        assert text in error
