"""Rows that database servers return as JSON are those of the columns."""

import pytest
import sqlalchemy as sa

from placement.core.model import Inventory
from placement.db.statements import compiled, packed_rows
from placement.db.tables import inventories, projects, resource_providers
from placement.tests.functional.db.factories import new_provider

RATIOS = [1.0, 16.0, 1.1, 0.1, 1.0 / 3, 12345.678, 1e-7, 3.4e38]

INVENTORIES = (
    sa.select(
        resource_providers.c.uuid,
        (inventories.c.total > 5).label("is_large"),
        inventories.c.total,
        inventories.c.allocation_ratio,
        inventories.c.updated_at.is_(None).label("is_new"),
        (inventories.c.used + 2**40).label("large"),
    )
    .select_from(
        resource_providers.outerjoin(
            inventories, inventories.c.resource_provider_id == resource_providers.c.id
        )
    )
    .where(resource_providers.c.uuid == sa.bindparam("uuid"))
    .order_by(inventories.c.id)
)


def both(store, statement, values):
    """Return the rows of a statement, packed and not."""
    with store.read() as tx:
        packed = packed_rows.execute(tx.connection, statement, values)
        plain = compiled.execute(tx.connection, statement, values).all()
    return list(map(tuple, packed)), list(map(tuple, plain))


@pytest.mark.parametrize("ratio", RATIOS)
def test_numbers(store, ratio):
    host = new_provider(store, VCPU=Inventory(total=8, allocation_ratio=ratio), DISK_GB=1)
    packed, plain = both(store, INVENTORIES, {"uuid": host})
    assert packed == plain
    assert packed[0][:2] == (host, 1)
    assert packed[0][3] == pytest.approx(ratio, rel=1e-5)
    assert isinstance(packed[0][3], float)


def test_missing_values(store):
    host = new_provider(store)
    packed, plain = both(store, INVENTORIES, {"uuid": host})
    assert packed == plain
    assert packed[0][:4] == (host, None, None, None)


def test_unions_and_special_characters(store):
    names = ['a"b', "c\\d", "100%", "größe", "tab\there", "[1, null]"]
    insert = compiled.inserted(projects, "external_id")
    store.write(lambda tx: tx.batch.execute(insert, [{"external_id": name} for name in names]))
    query = sa.select(projects.c.id, projects.c.external_id.label("name"))
    union = sa.union_all(query, sa.select(sa.literal_column("0"), sa.null()))
    with store.read() as tx:
        rows = packed_rows.execute(tx.connection, union, {})
    assert {row.name for row in rows} == {*names, None}
    assert all(isinstance(row.id, int) for row in rows)
