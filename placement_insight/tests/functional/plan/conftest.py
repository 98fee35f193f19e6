"""Plans are computed from the snapshot, and from the rows of the statements of ``plan/sql.py``.

These statements are the same in all plans: the tests marked with ``on_each_backend`` run each of
them, with its kinds of rows, on each database; the others run on SQLite.
"""

import pytest


@pytest.fixture(params=["sqlite"])
def backend(request: pytest.FixtureRequest) -> str:
    """The kind of database that the test runs on."""
    return request.param
