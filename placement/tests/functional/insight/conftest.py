"""Fixtures of the tests of the operator surface."""

import pytest

from placement.db.sqlalchemy.store import SqlStore


@pytest.fixture
def elsewhere(settings):
    """Another store on the same database, as another process has one."""
    found = SqlStore(settings)
    yield found
    found.dispose()
