"""Notices that connections to a server must not be used any more, and ends their lineage."""

import time
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from placement.db.lineage import Lineage
from placement.db.sqlalchemy import db_errors, server_checks, tcp_timeouts
from placement.db.sqlalchemy.database_settings import DatabaseSettings


class ConnectionWatch:
    """Checks each new connection, then again after a second; one failure discards all of them.

    Connections of an earlier lineage are replaced when they are next used.
    """

    def __init__(self, lineage: Lineage, settings: DatabaseSettings) -> None:
        self._lineage = lineage
        self._backend = settings.backend
        self._checks = server_checks.BY_BACKEND[settings.backend]
        # SQLAlchemy before 2.1 does not close a connection that cannot be set up. The drivers of
        # MySQL close it when it is collected, and raise if it is closed twice.
        self._may_close_twice = settings.backend == "postgresql"
        self._limits_tcp = "tcp_user_timeout" not in settings.url.query

    def listen(self, engine: sa.Engine, *, is_reader: bool = False) -> None:
        """Watch the connections of one pool."""

        def set_up(connection: Any, record: Any) -> None:
            self._set_up(connection, record, is_reader=is_reader)

        event.listen(engine, "do_connect", tcp_timeouts.connect)
        if self._limits_tcp:  # from the first statement on
            event.listen(engine, "connect", tcp_timeouts.limit_unresponsive, insert=True)
        event.listen(engine, "connect", set_up)
        event.listen(engine, "checkout", self._check_again)
        event.listen(engine, "handle_error", self._note_failure)

    def _set_up(self, connection: Any, record: Any, *, is_reader: bool) -> None:
        try:
            record.info["server"] = self._checks.set_up(connection)
            self._check(connection, record)
            if is_reader:
                server_checks.note_primary(self._backend, connection, record.info)
            record.info["lineage"] = self._lineage.number
        except BaseException:
            if self._may_close_twice:
                connection.close()
            raise

    def _check(self, connection: Any, record: Any) -> None:
        self._lineage.reach(self._checks.check(connection, record.info))
        record.info["checked_at"] = time.monotonic()

    def _check_again(self, connection: Any, record: Any, _proxy: object) -> None:
        age_seconds = time.monotonic() - record.info["checked_at"]
        if age_seconds >= server_checks.INTERVAL_SECONDS:
            try:
                self._check(connection, record)
            except Exception as error:
                self._lineage.end()
                raise sa.exc.DisconnectionError(db_errors.first_line(error)) from error
        if record.info["lineage"] != self._lineage.number:
            raise sa.exc.DisconnectionError("The connection is of an earlier lineage.")

    def _note_failure(self, context: sa.engine.ExceptionContext) -> None:
        if db_errors.ends_connection(context.original_exception):
            context.is_disconnect = True
        if context.is_disconnect:
            self._lineage.end()
