"""Writes of a transaction: their order, their errors, and connections that break."""

from dataclasses import replace

import pymysql
import pytest
import sqlalchemy as sa

from placement import exception
from placement.db import writes
from placement.db.store import Store
from placement.db.tables import projects
from placement.db.writes import Write, writes_of

INSERT = projects.insert().inline()
RENAME = (
    projects.update()
    .where(projects.c.external_id == sa.bindparam("old"))
    .values(external_id=sa.bindparam("new"))
)
DELETE = projects.delete()
SPECIAL_CHARACTERS = [
    *("it's", "back\\slash", "größe", "100%", "%s", '"', "{}", "a; b", "tab\t", "?:x$1"),
]


@pytest.fixture(params=["", "listeners"])
def store(request, store):
    """A store, also with listeners for statements, as OSProfiler has them."""
    if request.param:
        for name in ("before_cursor_execute", "after_cursor_execute"):
            sa.event.listen(store.engines().writer, name, lambda *_: None)
    return store


def names(connection) -> list[str]:
    return sorted(connection.execute(sa.select(projects.c.external_id)).scalars())


def saved(store) -> list[str]:
    with store.read() as tx:
        return names(tx.connection)


def inserted(*external_ids) -> Write:
    return Write(INSERT, [{"external_id": name} for name in external_ids])


def renamed(old, new) -> Write:
    return Write(RENAME, {"old": old, "new": new})


def deleted(*external_ids) -> list[Write]:
    return writes_of(DELETE, projects.c.external_id, external_ids)


def execute(store, *listed) -> None:
    store.write(lambda tx: tx.execute_all(listed))


def test_writes_are_executed_in_their_order_and_at_once(store):
    def work(tx):
        tx.execute_all([inserted("one", "100%"), renamed("one", "two"), inserted("one")])
        return names(tx.connection)

    assert store.write(work) == saved(store) == ["100%", "one", "two"]


def test_lists_of_values(store):
    execute(store, inserted("a", "b", "c", "d"), *deleted("a", "b", "c"))
    assert saved(store) == ["d"]
    execute(store, *deleted(), *deleted("d"), inserted("e"))
    assert saved(store) == ["e"]


def test_nothing_is_sent_for_no_writes(store):
    execute(store)
    assert saved(store) == []


@pytest.mark.parametrize("position", range(4))
def test_error_of_any_write_rolls_back_and_the_work_starts_again(store, position):
    runs = []

    def work(tx):
        runs.append(1)
        listed = [inserted(name) for name in "abcd"]
        if len(runs) == 1:
            listed[position : position + 1] = [inserted("x"), inserted("x")]
        tx.execute_all(listed)

    store.write(work)
    assert len(runs) == 2
    assert saved(store) == ["a", "b", "c", "d"]


def test_connection_is_usable_after_an_error(store):
    def work(tx):
        with pytest.raises(sa.exc.IntegrityError):
            tx.execute_all([inserted("one"), inserted("one"), inserted("two")])
        tx.connection.rollback()

    if store.settings.backend != "sqlite":  # the store sends BEGIN itself there
        store.write(work)
    execute(store, inserted("three"))
    assert saved(store) == ["three"]


def test_text_that_the_database_cannot_store_is_refused(store, backend):
    if backend == "sqlite":
        pytest.skip("it stores any text")
    with pytest.raises(exception.BadRequest):
        execute(store, inserted("one"), inserted("x" * 1000))
    assert saved(store) == []


def test_write_is_retried_if_the_connection_breaks_before_it(store, backend, server, database_url):
    if backend == "sqlite":
        pytest.skip("there is no connection to lose")
    runs = []

    def work(tx):
        runs.append(1)
        names(tx.connection)
        if len(runs) == 1:
            server(backend).disconnect(sa.make_url(database_url).database)
        tx.execute_all([inserted("one"), inserted("two")])

    store.write(work)
    assert len(runs) == 2
    assert saved(store) == ["one", "two"]


def test_write_is_retried_after_a_packet_out_of_turn(store, backend):
    """KILL QUERY between two statements of a message: the idle transaction ends, then this."""
    if backend != "mariadb":
        pytest.skip("PyMySQL reports it")
    errors = [pymysql.err.InternalError("Packet sequence number wrong - got 9 expected 4")]

    def fail(*_):
        if errors:
            raise errors.pop()

    sa.event.listen(store.engines().writer, "after_cursor_execute", fail)
    lineage = store.lineage
    execute(store, inserted("one"), inserted("two"))
    assert saved(store) == ["one", "two"]
    assert store.lineage > lineage


def test_equal_writes_are_sent_many_times(store):
    """Drivers prepare statements that are repeated."""
    execute(store, inserted("one"))
    for _ in range(20):
        execute(store, renamed("one", "two"), renamed("two", "one"))
    assert saved(store) == ["one"]


def test_text_with_special_characters(store):
    for text in SPECIAL_CHARACTERS:
        execute(store, inserted("before", text), renamed(text, text + "+"), inserted(text))
        assert saved(store) == sorted(["before", text, text + "+"])
        execute(store, *deleted("before", text, text + "+"))
        assert saved(store) == []


def test_many_writes_are_sent_in_parts(store, monkeypatch):
    monkeypatch.setattr(writes, "_MAX_PARAMETERS", 30)
    external_ids = [f"{number:03}" for number in range(201)]
    execute(store, *(inserted(name) for name in external_ids))
    assert saved(store) == external_ids


@pytest.mark.parametrize("has_comments", [False, True])
def test_statements_can_be_logged(settings, caplog, has_comments):
    """They are sent as they are otherwise."""
    options = replace(settings, connection_debug=50, connection_trace=has_comments)
    observed = Store(options)
    caplog.set_level("INFO", "sqlalchemy.engine")
    execute(observed, inserted("one"), renamed("one", "two"))
    assert saved(observed) == ["two"]
    observed.dispose()
    (text,) = [message for message in caplog.messages if "UPDATE projects" in message]
    assert ("test_writes.py" in text) == has_comments
