"""Waits for the end of transactions whose client has lost its connection or its process.

Such a transaction may be about to commit, for as long as the disk takes.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import sqlalchemy as sa

from placement.tests.support import innodb_status
from placement.tests.support.waiting import wait_until

POSTGRESQL = (
    "SELECT pid || ' ' || xact_start FROM pg_stat_activity"
    " WHERE datname = current_database() AND xact_start IS NOT NULL AND pid <> pg_backend_pid()"
)


@contextmanager
def ends_of_transactions(url: str) -> Iterator[Callable[[], None]]:
    """Yield a function that returns when all transactions that are open at its call have ended."""
    engine = sa.create_engine(url, poolclass=sa.NullPool)

    def wait() -> None:
        pending = _open_transactions(engine)

        def are_ended() -> bool:
            pending.intersection_update(pending and _open_transactions(engine))
            return not pending

        wait_until(are_ended, pause_seconds=0.1)

    yield wait
    engine.dispose()


def _open_transactions(engine: sa.Engine) -> set[str]:
    """Return what identifies each transaction; none without a server, where none is open."""
    if engine.dialect.name == "sqlite":
        return set()
    try:
        with engine.connect() as connection:
            if engine.dialect.name == "postgresql":
                return set(connection.exec_driver_sql(POSTGRESQL).scalars())
            return {each.number for each in innodb_status.open_transactions(connection)}
    except sa.exc.OperationalError:
        return set()
