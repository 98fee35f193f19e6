"""Rows as the driver returns them.

For each result SQLAlchemy computes names, types and conversions of the columns: that takes longer
than the driver needs for a few rows, and a claim has two results. Here the cursor is read at once.
Transactions, events and errors are those of any other statement.
"""

from collections.abc import Sequence
from typing import Any, cast

import sqlalchemy as sa

_ONLY_ROWS = "only_rows"
_OPTIONS = {_ONLY_ROWS: True}
_OPTIONS_WITHOUT_PARAMETERS = {_ONLY_ROWS: True, "no_parameters": True}


def prepare(engine: sa.Engine) -> None:
    """Let the statements of ``execute`` on connections of an engine return rows."""
    base: Any = engine.dialect.execution_ctx_cls

    class Context(base):  # type: ignore[misc]  # the class of the dialect
        def _setup_result_proxy(self) -> Any:
            if _ONLY_ROWS not in self.execution_options:
                return super()._setup_result_proxy()
            rows = self.cursor.fetchall() if self.cursor.description else ()
            self.cursor.close()
            return rows

    engine.dialect.execution_ctx_cls = Context


def execute(
    connection: sa.Connection, sql: str, parameters: tuple[Any, ...] | None
) -> Sequence[Sequence[Any]]:
    """Execute the text of a statement; return its rows, none if it is not a query.

    Without parameters (None) the text is sent as it is.
    """
    options = _OPTIONS_WITHOUT_PARAMETERS if parameters is None else _OPTIONS
    rows = connection.exec_driver_sql(sql, parameters, execution_options=options)
    return cast("Sequence[Sequence[Any]]", rows)
