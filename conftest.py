"""Which modules pytest may import, also to run the examples in docstrings; and Ctrl-C."""

import importlib.util
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# a shell without a terminal ignores it in the background, and programs that are started inherit it
signal.signal(signal.SIGINT, signal.default_int_handler)

# jsonschema imports it, if it is installed, for formats that no schema here has: two seconds
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]

# fixtures of the tests of both storeys
pytest_plugins = [
    "placement.tests.plugin",
    "placement.tests.functional.plugin",
]

# importing these starts the service, needs a migration in progress, or replaces modules
collect_ignore_glob = [
    "placement/wsgi/*.py",
    "placement/db/schema/alembic/*",
    "placement_insight/tests/support/openstack_modules.py",
]


@pytest.fixture(scope="session", autouse=True)
def no_late_records() -> Iterator[None]:
    """Write records at once, not in a thread that may outlive the database of a test."""
    with pytest.MonkeyPatch.context() as patch:
        if importlib.util.find_spec("placement_insight") is not None:
            from placement_insight.tests.support.records import at_once  # noqa: PLC0415

            patch.setattr("placement_insight.explain.records.recorder.start_timer", at_once)
        yield


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Import no module only to find that it has no examples."""
    name = collection_path.name
    if collection_path.suffix != ".py" or name.startswith(("test_", "conftest.", "__init__.")):
        return None
    return None if b">>> " in collection_path.read_bytes() else True
