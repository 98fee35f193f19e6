"""A database whose latest commits are lost under running processes: restores and failovers."""

import pytest
import sqlalchemy as sa

from placement.db.tables import consumer_types, projects, users
from placement.objects import allocation
from placement.tests.support.factories import assert_sound, claim, new_provider, uuid

pytestmark = pytest.mark.long

OWNED = {"project_id": "ours", "user_id": "we", "type": "INSTANCE"}


def owner_of(store, consumer):
    stored = allocation.of_consumer(store, consumer).consumer
    return {"project_id": stored.project_id, "user_id": stored.user_id, "type": stored.type}


def lose_owners(store, *, reuse_ids):
    """Remove projects, users and types as a restore does; others may then get their ids."""

    def lose(tx):
        for table, name in (
            (projects, "external_id"),
            (users, "external_id"),
            (consumer_types, "name"),
        ):
            row = tx.connection.execute(sa.select(table)).one()
            tx.connection.execute(table.delete())
            if reuse_ids:
                tx.connection.execute(table.insert(), {"id": row.id, name: "THEIRS"})

    store.write(lose)


@pytest.mark.parametrize("reuse_ids", [True, False], ids=["ids are reused", "ids are not reused"])
@pytest.mark.parametrize("generation", [None, "unchecked"])
def test_claim_after_a_restore_has_the_correct_owner(store, reuse_ids, generation):
    """Ids of projects, users and types that this process read before are invalid."""
    checked = {"generation": None} if generation is None else {}
    host, before, after = new_provider(store, VCPU=8), uuid(), uuid()
    claim(store, before, {host: {"VCPU": 1}}, **OWNED, **checked)
    allocation.delete(store, before)
    lose_owners(store, reuse_ids=reuse_ids)
    claim(store, after, {host: {"VCPU": 1}}, **OWNED, **checked)
    assert owner_of(store, after) == OWNED
    assert_sound(store)
