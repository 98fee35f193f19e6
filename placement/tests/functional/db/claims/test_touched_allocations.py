"""Allocations that are written only so that concurrent transactions conflict."""

from itertools import pairwise

import sqlalchemy as sa

from placement.db.tables import allocations
from placement.tests.support.factories import claim, new_provider, uuid


def test_each_touch_changes_the_rows(store, monkeypatch):
    """MariaDB does not write rows with equal values, so nodes of Galera would see no conflict."""
    provider, consumer = new_provider(store, VCPU=8), uuid()
    claim(store, consumer, {provider: {"VCPU": 1}})

    def touched(tx):
        tx.allocations.touch([consumer])
        return tx.connection.scalar(sa.select(allocations.c.updated_at))

    at = store.read_once(lambda tx: tx.connection.scalar(sa.select(allocations.c.updated_at)))
    monkeypatch.setattr("placement.db.claims.allocations.utcnow", lambda: at)
    times = [at, *(store.write(touched) for _ in range(3))]
    assert all(time != before for before, time in pairwise(times))
