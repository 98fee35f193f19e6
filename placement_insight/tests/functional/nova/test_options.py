"""The documented options of nova.conf exist in nova, with the documented defaults."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from placement.tests.support import docs

PYTHON = os.environ.get("NOVA_PYTHON", "")
SCRIPT = Path(__file__).with_name("options.py")
STATED = {
    "[scheduler]max_placement_results": 1000,
    "[compute]resource_provider_association_refresh": 300,
    "[DEFAULT]update_resources_interval": 0,
    "[placement]status_code_retries": None,
    "[placement]connect_retries": None,
    "[filter_scheduler]host_subset_size": 1,
    "[quota]count_usage_from_placement": False,
}

pytestmark = pytest.mark.skipif(not PYTHON, reason="NOVA_PYTHON is not set: make test-nova")


def documented():
    """Yield the options in the first column of the table, with their groups."""
    page = (docs.SOURCE / "admin" / "openstack-services.rst").read_text()
    for row in re.findall(r"^   \* - (``\[.*(?:\n       .*)*)", page, re.MULTILINE):
        group = ""
        for name in re.findall(r"``([^`]+)``", row):
            group = name.partition("]")[0] + "]" if name.startswith("[") else group
            option = name.removeprefix(group)
            if option == "initial_...":
                kinds = ("cpu", "ram", "disk")
                yield from (f"{group}initial_{kind}_allocation_ratio" for kind in kinds)
            else:
                yield f"{group}{option}"


def test_each_documented_option_exists_with_its_default():
    names = list(documented())
    command = [PYTHON, "-W", "ignore", SCRIPT, *names]
    result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    defaults = json.loads(result.stdout.splitlines()[-1])
    assert [name for name in names if defaults[name] == "no such option"] == []
    assert len(names) > 25
    assert {name: defaults[name] for name in STATED} == STATED
