"""Statements that are sent together: their order, their errors, and connections that break."""

import pytest
import sqlalchemy as sa

from placement import exception
from placement.db.statements import batch, compiled
from placement.db.tables import projects

INSERT = compiled.inserted(projects, "external_id")
RENAME = (
    projects.update()
    .where(projects.c.external_id == sa.bindparam("old"))
    .values(external_id=sa.bindparam("new"))
)


def names(connection) -> list[str]:
    return sorted(connection.execute(sa.select(projects.c.external_id)).scalars())


def saved(store) -> list[str]:
    with store.read() as tx:
        return names(tx.connection)


def insert(tx, *external_ids) -> None:
    tx.batch.execute(INSERT, [{"external_id": each} for each in external_ids])


@pytest.fixture
def has_batches(backend) -> bool:
    return backend != "sqlite"


def test_statements_are_executed_in_their_order_at_the_end(store, has_batches):
    def work(tx):
        with tx.batch.together():
            insert(tx, "one", "100%")
            tx.batch.execute(RENAME, {"old": "one", "new": "two"})
            with tx.batch.together():
                insert(tx, "one")
            before = names(tx.connection)
        return before, names(tx.connection)

    before, after = store.write(work)
    assert before == ([] if has_batches else after)
    assert after == saved(store) == ["100%", "one", "two"]


def test_statements_for_rows_of_a_list(store):
    def work(tx):
        with tx.batch.together():
            insert(tx, "a", "b", "c", "d")
            tx.batch.execute_for(projects.delete(), projects.c.external_id, ["a", "b", "c"])

    store.write(work)
    assert saved(store) == ["d"]


def test_error_of_one_statement_ends_the_batch_and_the_write_starts_again(store):
    runs = []

    def work(tx):
        runs.append(1)
        with tx.batch.together():
            insert(tx, "one")
            insert(tx, "one" if len(runs) == 1 else "two")
            insert(tx, "three")

    store.write(work)
    assert len(runs) == 2
    assert saved(store) == ["one", "three", "two"]


def test_text_that_the_database_cannot_store_is_refused(store, backend):
    if backend == "sqlite":
        pytest.skip("it stores any text")

    def work(tx):
        with tx.batch.together():
            insert(tx, "one")
            insert(tx, "x" * 1000)

    with pytest.raises(exception.BadRequest):
        store.write(work)
    assert saved(store) == []


def test_nothing_is_sent_if_the_work_fails(store, has_batches):
    def fail(tx):
        with tx.batch.together():
            insert(tx, "one")
            raise KeyError

    def work(tx):
        with pytest.raises(KeyError):
            fail(tx)
        insert(tx, "two")

    store.write(work)
    assert saved(store) == (["two"] if has_batches else ["one", "two"])


def test_write_is_retried_if_the_connection_breaks_before_the_batch(
    store, backend, server, database_url
):
    if backend == "sqlite":
        pytest.skip("there is no connection to lose")
    runs = []

    def work(tx):
        runs.append(1)
        names(tx.connection)
        with tx.batch.together():
            insert(tx, "one")
            insert(tx, "two")
            if len(runs) == 1:
                server(backend).disconnect(sa.make_url(database_url).database)

    store.write(work)
    assert len(runs) == 2
    assert saved(store) == ["one", "two"]


def last(tx, *external_ids) -> None:
    with tx.batch.at_commit():
        insert(tx, *external_ids)
        with tx.batch.together():
            insert(tx, *(each + "+" for each in external_ids))


def test_last_statements_are_sent_with_the_commit(store):
    for number in range(3):
        store.write(last, f"{number}")
        assert f"{number}+" in saved(store)
        store.write(insert, f"{number}++")  # on the same connection
        assert f"{number}++" in saved(store)
    assert len(saved(store)) == 9


def test_statements_of_the_batch_after_the_last_ones_follow_them(store):
    def work(tx):
        last(tx, "one")
        tx.batch.execute(RENAME, {"old": "one", "new": "two"})

    store.write(work)
    assert saved(store) == ["one+", "two"]


def test_error_of_the_last_statements_is_not_committed_and_starts_the_write_again(store):
    runs = []

    def work(tx):
        runs.append(1)
        last(tx, *(["one", "one"] if len(runs) == 1 else ["two"]))

    store.write(work)
    assert len(runs) == 2
    assert saved(store) == ["two", "two+"]


def test_nothing_is_committed_if_the_work_fails_after_its_last_statements(store):
    def work(tx):
        last(tx, "one")
        raise KeyError

    with pytest.raises(KeyError):
        store.write(work)
    store.write(insert, "two")
    assert saved(store) == ["two"]


def test_equal_messages_are_sent_many_times(store):
    """psycopg prepares a statement that is repeated; it cannot prepare several in one text."""
    store.write(insert, "one")

    def work(tx):
        with tx.batch.at_commit():
            tx.batch.execute(RENAME, {"old": "one", "new": "two"})
            tx.batch.execute(RENAME, {"old": "two", "new": "one"})

    for _ in range(20):
        store.write(work)
    assert saved(store) == ["one"]


@pytest.mark.parametrize(
    "text", ["it's", "back\\slash", "größe", "100%", "%s", '"', "{}", "a; b", "tab\t", "?:x$1"]
)
def test_text_with_special_characters(store, text):
    store.write(last, "before", text, "after")
    assert sorted(saved(store)) == sorted(
        each + end for each in ("before", text, "after") for end in ("", "+")
    )


def test_large_batches_are_sent_in_parts(store, monkeypatch):
    monkeypatch.setattr(batch, "_MAX_CHARACTERS", 3000)
    external_ids = [f"{number:03}" for number in range(201)]

    def work(tx):
        with tx.batch.together():
            for each in external_ids:
                insert(tx, each)

    store.write(work)
    assert saved(store) == external_ids
