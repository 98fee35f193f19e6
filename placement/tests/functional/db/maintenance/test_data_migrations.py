"""Online data migrations beside a release."""

import pytest

from placement.core.model import IncompleteConsumer
from placement.db import tables
from placement.db.maintenance.data_migrations import (
    create_incomplete_consumers,
    set_root_provider_ids,
)
from placement.objects import allocation
from placement.tests.support.factories import (
    allocations_of,
    assert_sound,
    claim,
    consumer_generation,
    new_provider,
    rows,
    uuid,
)
from placement.tests.support.races import paused_at

NOBODY = IncompleteConsumer("nobody", "nobody")

WRITES = {
    "DELETE": (lambda store, consumer, host: allocation.delete(store, consumer), None),
    "PUT": (lambda store, consumer, host: claim(store, consumer, {host: {"VCPU": 2}}), 2),
    "PUT without allocations": (lambda store, consumer, host: claim(store, consumer, {}), None),
}


@pytest.mark.parametrize("backend", ["mariadb", "postgresql"], indirect=True)
@pytest.mark.parametrize("statement", ["UPDATE allocations", "INSERT INTO consumers"])
@pytest.mark.parametrize("write", WRITES)
def test_a_consumer_that_is_written_while_its_row_is_created(store, statement, write):
    """It must not be left with a row and no allocations, which would refuse new claims."""
    host, consumer, other = new_provider(store, VCPU=8), uuid(), uuid()
    for each in (consumer, other):
        claim(store, each, {host: {"VCPU": 1}})
    store.write(lambda tx: tx.connection.execute(tables.consumers.delete()))
    work, amount = WRITES[write]
    with paused_at(store, statement) as run:
        migrated, _ = run(
            lambda: create_incomplete_consumers(store, 50, NOBODY),
            lambda: work(store, consumer, host),
        )
    assert migrated in {1, 2}
    assert consumer_generation(store, other) == 0
    if amount is None:
        claim(store, consumer, {host: {"VCPU": 3}})  # a new consumer
        amount = 3
    assert allocations_of(store, consumer) == {host: {"VCPU": amount}}
    assert_sound(store)


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_only_missing_roots_are_set(store):
    hosts = [new_provider(store) for _ in range(3)]
    children = [new_provider(store, parent=host) for host in hosts]
    of, rootless = tables.resource_providers, {hosts[1], children[1]}
    remove = of.update().where(of.c.uuid.in_(rootless)).values(root_provider_id=None)
    store.write(lambda tx: tx.connection.execute(remove))
    before = rows(store, of)
    assert set_root_provider_ids(store, 50) == 2
    assert_sound(store)
    changed = {now.uuid for then, now in zip(before, rows(store, of), strict=True) if then != now}
    assert changed == rootless
