"""Engines of SQLAlchemy without its ping and rollback, which are round trips."""

import traceback
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from placement.db.sqlalchemy.database_settings import DatabaseSettings


def new_engine(settings: DatabaseSettings, **arguments: Any) -> sa.Engine:
    """Return an engine without SQLAlchemy's ping and rollback.

    The store ends every transaction itself. A connection that broke in the pool is noticed by its
    first statement, which is then retried.
    """
    engine = sa.create_engine(
        settings.url,
        pool_recycle=settings.connection_recycle_time,
        pool_pre_ping=False,
        pool_reset_on_return=None,
        **arguments,
    )
    if settings.connection_trace:
        event.listen(engine, "before_cursor_execute", _add_origin, retval=True)
    return engine


def _add_origin(
    _connection: object, _cursor: object, statement: str, parameters: Any, *_: object
) -> tuple[str, Any]:
    """Append, as a comment, the place in the code outside of ``db.sqlalchemy`` that sends it."""
    for frame in reversed(traceback.extract_stack()):
        if "/sqlalchemy/" not in frame.filename:
            origin = f"{frame.filename}:{frame.lineno} {frame.name}".replace("*/", "")
            return f"{statement} /* {origin.replace('%', '%%')} */", parameters
    return statement, parameters
