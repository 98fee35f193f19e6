"""Runs transactions again after conflicts, and after a lost connection."""

import random
import time
from collections.abc import Callable
from typing import TypeVar

from placement import exception
from placement.db.sqlalchemy import db_errors, tcp_timeouts
from placement.db.sqlalchemy.db_errors import WriteConflict

T = TypeVar("T")

MAX_ATTEMPTS = 30
# After a conflict, no attempt begins later than this after the first one.
RETRY_SECONDS = 30.0


def ignore() -> None:
    """Do nothing about a conflict."""


def retried(
    attempt: Callable[[], T],
    max_attempts: int = MAX_ATTEMPTS,
    on_conflict: Callable[[], object] = ignore,
) -> T:
    """Return the result of the attempt, repeated after conflicts and after one lost connection.

    One connection, because a restarted server leaves a pool of broken ones: the first broken
    connection that is noticed discards them all, so the next one is new. While the host is
    unresponsive, the attempt is repeated only if it did not wait for a new connection yet.

    Raises: Conflict; DatabaseUnavailable, also if the last attempt timed out waiting for a lock.
    """
    deadline = time.monotonic() + RETRY_SECONDS
    conflicts = lost_connections = 0
    while conflicts < max_attempts:
        begun_at = time.monotonic()
        try:
            return attempt()
        except db_errors.HostUnresponsive as error:
            raise exception.DatabaseUnavailable(str(error)) from error
        except WriteConflict as error:
            conflicts += 1
            on_conflict()
            if time.monotonic() > deadline:
                if isinstance(error, db_errors.LockTimeout):
                    raise exception.DatabaseUnavailable(str(error)) from error
                break
        except db_errors.ConnectionLost as error:
            lost_connections += 1
            if lost_connections > 1 or not tcp_timeouts.has_time_to_reconnect(begun_at):
                raise exception.DatabaseUnavailable(str(error)) from error
        time.sleep(random.uniform(0, min(0.1, 0.001 * 2**conflicts)))  # noqa: S311
    raise exception.Conflict


def retried_read(attempt: Callable[[], T]) -> T:
    """Return the result of the attempt.  Raises: DatabaseUnavailable, also after conflicts."""
    try:
        return retried(attempt)
    except exception.Conflict as error:
        raise exception.DatabaseUnavailable("Reads are refused for conflicts.") from error
