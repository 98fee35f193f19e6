"""A database of this service alone, filled with a world."""

import sqlalchemy as sa

from bench.databases import Database
from bench.world_loader import load
from bench.worlds import LoadedWorld, World
from placement import db_api, wsgi
from placement.db.schema import migration, seed
from placement.db.store import Store

SCHEMA = "placement"
# as ``db sync`` would set them in batches, which takes most of the time of a large world
_SET_USAGE_COUNTERS = """
    UPDATE inventories SET used = (
        SELECT SUM(allocations.used) FROM allocations
        WHERE allocations.resource_provider_id = inventories.resource_provider_id
        AND allocations.resource_class_id = inventories.resource_class_id)
    WHERE EXISTS (
        SELECT 1 FROM allocations
        WHERE allocations.resource_provider_id = inventories.resource_provider_id
        AND allocations.resource_class_id = inventories.resource_class_id)
"""
_NOTE_AS_COUNTED = "UPDATE resource_providers SET counted_generation = generation"


def opened(url: str) -> Store:
    """Return the store of a database."""
    defaults = {("placement_database", "connection"): url}
    return Store(db_api.settings(wsgi.read_configuration([], defaults)))


def fill(database: Database, world: World) -> LoadedWorld:
    """Create the schema, and load the world; what another world left there is dropped."""
    database.create(SCHEMA)
    url = database.url(SCHEMA)
    _sync(url)
    loaded_world = load(url, world)
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql(_SET_USAGE_COUNTERS)
        connection.exec_driver_sql(_NOTE_AS_COUNTED)
    _sync(url)  # compares the counters
    return loaded_world


def _sync(url: str) -> None:
    store = opened(url)
    migration.sync(store)
    seed.sync(store)
    store.dispose()
