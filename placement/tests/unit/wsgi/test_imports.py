"""A process imports at its start what serves the Placement API, and the rest when it is needed."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.xdist_group("imports")  # the tests share a process

LATER = (
    "alembic",
    "jsonschema",
    "osprofiler",
    "prometheus_client",
)

START = """
import sys
import placement.wsgi
from placement.core.snapshot.snapshot import EMPTY
EMPTY.apply([])
print(*sys.modules)
"""


@pytest.fixture(scope="module")
def imported():
    """The modules that a process has imported when it accepts requests."""
    command = [sys.executable, "-c", START]
    return set(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())


@pytest.mark.parametrize("module", LATER)
def test_what_few_processes_need_is_imported_later(imported, module):
    assert module not in imported


def test_what_serves_candidates_is_imported(imported):
    assert {"placement.handlers.allocation_candidate", "placement.core.search.search"} <= imported
