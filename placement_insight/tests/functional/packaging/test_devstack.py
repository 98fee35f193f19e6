"""The DevStack plugin, run through DevStack's phases; see ``devstack.sh``."""

import json
import os
import sqlite3
import subprocess

import pytest

from placement.db.schema import migration
from placement.db.settings import DatabaseSettings
from placement.db.store import Store
from placement.microversion import MAX_VERSION
from placement.tests.support.processes import BIN, ROOT, environment, program
from placement.tests.support.servers import free_port

pytestmark = pytest.mark.long

HARNESS = ROOT / "placement_insight" / "tests" / "functional" / "packaging" / "devstack.sh"
UNSTACKED = ["phase unstack", "pip_uninstall openplacement", "phase clean"]


@pytest.fixture
def stack(tmp_path):
    """Return a function that runs all phases; it returns the result and the calls."""

    def stack(**variables):
        result = subprocess.run(
            [program("bash", "apt-get install bash"), HARNESS, ROOT, BIN, str(free_port())],
            cwd=tmp_path,
            env=environment(PYTHONWARNINGS="ignore", **variables),
            capture_output=True,
            text=True,
            check=False,
            timeout=200,
        )
        return result, (tmp_path / "calls").read_text().splitlines()

    return stack


def test_the_plugin_replaces_the_package_and_upgrades_the_schema(stack, tmp_path):
    program("curl", "apt-get install curl")
    store = Store(DatabaseSettings(f"sqlite:///{tmp_path}/placement.sqlite"))
    migration.upgrade(store, migration.COMMON_HEAD)  # of lib/placement, with openstack-placement
    store.dispose()
    result, calls = stack()
    assert result.returncode == 0, result.stdout + result.stderr
    assert calls == [
        "phase override_defaults",
        "phase stack pre-install",
        "pip_uninstall openstack-placement",
        f"setup_develop {ROOT} postgresql",
        "phase stack install",
        "phase stack post-config",
        "phase stack extra",
        "phase stack test-config",
        *UNSTACKED,
    ]
    assert json.loads(result.stdout.splitlines()[0])["versions"][0]["max_version"] == str(
        MAX_VERSION
    )
    assert "API Startup" in result.stdout
    with sqlite3.connect(tmp_path / "placement.sqlite") as connection:
        revisions = connection.execute("SELECT version_num FROM alembic_version").fetchall()
    connection.close()
    assert revisions == [(migration.HEAD,)]


def test_the_plugin_ignores_that_the_other_package_is_not_installed(stack):
    result, calls = stack(PIP_STATUS="1", ONLY_INSTALL="1")
    assert (result.returncode, result.stderr) == (0, "")
    assert f"setup_develop {ROOT} postgresql" in calls


def test_the_plugin_does_nothing_without_placement(stack):
    _, calls = stack(SERVICES="key,n-cpu", ONLY_INSTALL="1")
    assert all(line.startswith("phase ") for line in calls)
    assert os.access(HARNESS, os.X_OK)
