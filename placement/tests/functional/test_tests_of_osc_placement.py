"""The functional tests that osc-placement brings along pass on our fixtures.

They run each of its commands at the microversions that it knows, in the process of the service.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from osc_placement.tests import functional

FOLDER = Path(functional.__file__).parent
SITE = FOLDER.parents[2]
RUN = """
import unittest
import placement.tests.functional.openstack_modules
unittest.main(module=None)
"""


@pytest.mark.long
def test_they_pass():
    programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"  # one runs `openstack`
    environ = {name: text for name, text in os.environ.items() if not name.startswith("OS_")}
    discover = ["discover", "-s", FOLDER, "-t", SITE]
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", RUN, *discover],
        env=environ | {"PATH": programs},
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert result.returncode == 0, result.stderr[-4000:]
    assert int(re.search(r"^Ran (\d+) tests ", result.stderr, re.MULTILINE)[1]) >= 100
