"""What a transaction of the store promises, on each database."""

import pytest
import sqlalchemy as sa

from placement import exception
from placement.db.sqlalchemy.models import projects
from placement.db.store import RaceLost


def add(tx, name):
    tx.connection.execute(projects.insert(), {"external_id": name})


def names(store):
    with store.read() as tx:
        return set(tx.connection.execute(sa.select(projects.c.external_id)).scalars())


def test_a_write_is_there_when_it_returns(store):
    store.write(add, "one")
    assert names(store) == {"one"}


def test_a_work_that_fails_leaves_nothing(store):
    def work(tx):
        add(tx, "one")
        raise exception.TraitNotFound("X")

    with pytest.raises(exception.TraitNotFound):
        store.write(work)
    assert names(store) == set()


def test_a_lost_race_is_run_again_from_its_start(store):
    runs = []

    def work(tx):
        runs.append(1)
        add(tx, f"run {len(runs)}")
        if len(runs) < 3:
            raise RaceLost

    store.write(work)
    assert names(store) == {"run 3"}
