"""What tests of repairs share: images of the database, and consumers as nova makes them."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from placement.db import tables
from placement.http.request import Context
from placement.tests.support.factories import claim, uuid
from placement_insight.history.observer import History

TABLES = (
    *(tables.allocations, tables.consumers, tables.inventories, tables.resource_classes),
    *(tables.traits, tables.resource_providers, tables.resource_provider_traits),
    *(tables.resource_provider_aggregates, tables.consumer_types),
)


def image(store):
    """Return all rows as text, but for the stamps of the clocks."""
    with store.read() as tx:
        return {
            table.name: sorted(
                str({name: value for name, value in row.items() if name != "stamp"})
                for row in tx.connection.execute(sa.select(table)).mappings()
            )
            for table in TABLES
        }


def without_generations(rows):
    """Return rows without the generations of consumers: an undo increases those of kept ones."""
    consumers = [re.sub("'generation': .+?,", "", row) for row in rows["consumers"]]
    return {**rows, "consumers": consumers}


def age(store, days=2):
    """Make all consumers old."""
    old = datetime.now(UTC).replace(tzinfo=None, microsecond=0) - timedelta(days=days)

    def work(tx):
        tx.connection.execute(tables.consumers.update().values(created_at=old, updated_at=None))

    store.write(work)


def instance(store, *hosts, type="INSTANCE", vcpus=2):  # noqa: A002
    """Return an old consumer with allocations on hosts."""
    consumer = uuid()
    claim(store, consumer, {host.uuid: {"VCPU": vcpus} for host in hosts}, type=type)
    age(store)
    return consumer


def by_nova(store, write, *values, **named):
    """Write with a record in the thread of a request."""

    def run():
        Context(request_id="req-1", user_id="nova")
        observer = History(store, 1000, lambda work: work())
        write(store.writing_with(observer=observer), *values, **named)

    with ThreadPoolExecutor(1) as thread:
        thread.submit(run).result()
