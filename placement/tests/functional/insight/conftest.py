"""Fixtures of the tests of the operator surface."""

import pytest

from placement.db.store import Store


@pytest.fixture
def elsewhere(settings):
    """Another store on the same database, as another process has one."""
    opened = Store(settings)
    yield opened
    opened.dispose()
