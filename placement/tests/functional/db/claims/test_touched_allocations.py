"""Allocations that are written only so that concurrent transactions conflict."""

from itertools import pairwise

import sqlalchemy as sa

from placement.db.tables import allocations
from placement.tests.support.factories import claim, new_provider, uuid


def test_each_touch_changes_the_rows(store, monkeypatch):
    """MariaDB does not write rows with equal values, so nodes of Galera would see no conflict."""
    provider, consumer, other = new_provider(store, VCPU=8), uuid(), uuid()
    for each in (consumer, other):
        claim(store, each, {provider: {"VCPU": 1}})

    def written_at(tx, of):
        updated_at = sa.select(allocations.c.updated_at)
        return tx.connection.scalar(updated_at.where(allocations.c.consumer_id == of))

    def touched(tx):
        tx.allocations.touch([consumer])
        return written_at(tx, consumer)

    at = store.read_once(written_at, consumer)
    monkeypatch.setattr("placement.db.claims.allocations.utcnow", lambda: at)
    before = store.read_once(written_at, other)
    times = [at, *(store.write(touched) for _ in range(3))]
    assert store.read_once(written_at, other) == before
    assert all(time != before for before, time in pairwise(times))
