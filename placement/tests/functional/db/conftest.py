"""Fixtures of the tests of storage."""

import pytest

from placement.tests.functional.db.races import held_at


@pytest.fixture
def stopped_at(store):
    """Return a function that runs two sides, one held where it sends a statement."""

    def run(text, stopped, other):
        with held_at(store, text) as both:
            return both(stopped, other)

    return run
