"""Which modules pytest may import to run the examples in docstrings; and Ctrl-C."""

import signal
from pathlib import Path

# a shell without a terminal ignores it in the background, and programs that are started inherit it
signal.signal(signal.SIGINT, signal.default_int_handler)

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


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Import no module only to find that it has no examples."""
    name = collection_path.name
    if collection_path.suffix != ".py" or name.startswith(("test_", "conftest.", "__init__.")):
        return None
    return None if b">>> " in collection_path.read_bytes() else True
