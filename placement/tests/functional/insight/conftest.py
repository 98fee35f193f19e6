"""Fixtures of the tests of the operator surface."""

import pytest

from placement.db.store import Store


@pytest.fixture
def elsewhere(settings):
    """Another store on the same database, as another process has one."""
    found = Store(settings)
    yield found
    found.dispose()
