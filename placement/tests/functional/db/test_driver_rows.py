"""Statements that the driver executes: the rest is as if SQLAlchemy executed them."""

import pytest
import sqlalchemy as sa

from placement.db.statements import driver_rows
from placement.db.tables import projects

TWO_ROWS = "SELECT 1, 'a' UNION ALL SELECT 2, 'b' ORDER BY 1"
INSERT = "INSERT INTO projects (external_id) VALUES ('taken')"
# drivers would read it as a placeholder if they looked for parameters
PERCENT = "SELECT '100%s'"


@pytest.fixture(params=["not observed", "observed"])
def connection(request, store):
    pools = store.engines()
    if request.param == "observed":
        sa.event.listen(pools.writer, "after_cursor_execute", lambda *_: None)
    with pools.writer.connect() as connected:
        if pools.begin_write is not None:
            connected.exec_driver_sql(pools.begin_write)
        yield connected
        connected.rollback()


def rows(connection, sql, parameters=None):
    return list(map(tuple, driver_rows.execute(connection, sql, parameters)))


def test_rows_of_queries(connection):
    assert rows(connection, TWO_ROWS) == [(1, "a"), (2, "b")]
    assert rows(connection, PERCENT) == [("100%s",)]


def test_parameters_are_those_of_the_driver(connection, backend):
    sql = "SELECT CAST(%s AS CHAR(1))".replace("%s", "?" if backend == "sqlite" else "%s")
    assert rows(connection, sql, ("x",)) == [("x",)]


def test_a_write_has_no_rows_and_belongs_to_the_transaction(connection):
    assert rows(connection, INSERT) == []
    assert connection.in_transaction()
    assert connection.execute(sa.select(projects.c.external_id)).scalars().all() == ["taken"]
    connection.rollback()
    assert connection.execute(sa.select(projects)).all() == []


def test_an_error_is_that_of_sqlalchemy(connection):
    rows(connection, INSERT)
    with pytest.raises(sa.exc.IntegrityError) as raised:
        driver_rows.execute(connection, INSERT, None)
    assert raised.value.statement == INSERT
    connection.rollback()
    assert rows(connection, "SELECT 1") == [(1,)]


def test_a_connection_that_broke_is_discarded(connection):
    connection.connection.dbapi_connection.close()
    with pytest.raises(sa.exc.DBAPIError) as raised:
        driver_rows.execute(connection, "SELECT 1", None)
    assert raised.value.connection_invalidated
    assert connection.invalidated


def test_an_interruption_discards_the_connection(connection, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(connection.dialect, "do_execute_no_params", interrupted)
    with pytest.raises(KeyboardInterrupt):
        driver_rows.execute(connection, "SELECT 1", None)
    assert connection.invalidated


@pytest.mark.parametrize("connection", ["not observed"], indirect=True)
def test_listeners_see_the_statement(store, connection):
    seen = []

    def note(_connection, _cursor, statement, *_):
        seen.append(statement)

    sa.event.listen(store.engines().writer, "before_cursor_execute", note)
    rows(connection, TWO_ROWS)
    sa.event.remove(store.engines().writer, "before_cursor_execute", note)
    assert seen == [TWO_ROWS]


def test_other_statements_have_results(connection):
    result = connection.exec_driver_sql("SELECT 1 AS number")
    assert result.one().number == 1


def test_the_log_of_sqlalchemy_has_the_statement(store, caplog):
    writer = store.engines().writer
    caplog.set_level("INFO", "sqlalchemy.engine")
    with writer.connect() as connection:
        rows(connection, TWO_ROWS)
        connection.rollback()
    assert TWO_ROWS in caplog.messages
