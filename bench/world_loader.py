"""Load a world into a database by SQL.

Only tables that every Placement database has are written, so the same statements fill the
database of openstack-placement and of this service. Rows are written as literals, thousands to a
statement: 100,000 hosts take seconds on each kind of database.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import sqlalchemy as sa

from bench.worlds import (
    PROJECT,
    Amounts,
    GeneratedProvider,
    GeneratedWorld,
    Kind,
    LoadedWorld,
    World,
    generate,
    random_uuid,
)
from placement.core.model import MAX_INT

ROWS_PER_STATEMENT = 5000
_CREATED_AT = "'2026-01-01 00:00:00'"


@dataclass(frozen=True)
class _Consumer:
    provider_id: int
    uuid: str
    used: Amounts


def load(url: str, world: World) -> LoadedWorld:
    """Write the world into a database without providers; return the UUIDs."""
    generated = generate(world)
    numbers = random.Random(f"consumers of {world.name}")
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        _write_providers(connection, generated)
        ids = _Ids(connection)
        for kind in world.kinds:
            _write_kind(connection, kind, generated.providers[kind.name], ids)
        consumers = list(_consumers(generated, numbers))
        if consumers:
            _write_consumers(connection, consumers, ids)
    _analyze(engine)
    providers = [one for of_kind in generated.providers.values() for one in of_kind]
    return LoadedWorld(
        world,
        {kind: [one.uuid for one in of_kind] for kind, of_kind in generated.providers.items()},
        generated.aggregates,
        [consumer.uuid for consumer in consumers],
        {one.uuid: one.random_used for one in providers if one.random_used},
    )


class _Ids:
    """Ids of classes and traits by name."""

    def __init__(self, connection: sa.Connection) -> None:
        self.classes = self._of(connection, "resource_classes")
        self.traits = self._of(connection, "traits")

    @staticmethod
    def _of(connection: sa.Connection, table: str) -> dict[str, int]:
        return {
            name: id_ for id_, name in connection.exec_driver_sql(f"SELECT id, name FROM {table}")
        }


def _insert(connection: sa.Connection, into: str, rows: Iterable[str]) -> None:
    """Insert rows, each written as SQL; a creation time is added to each."""
    rest = iter(rows)
    while part := list(islice(rest, ROWS_PER_STATEMENT)):
        values = ",".join(f"({row},{_CREATED_AT})" for row in part)
        connection.exec_driver_sql(f"INSERT INTO {into[:-1]},created_at) VALUES {values}")


def _write_providers(connection: sa.Connection, generated: GeneratedWorld) -> None:
    columns = "(id,uuid,name,generation,root_provider_id,parent_provider_id)"
    rows = (
        f"{one.id},'{one.uuid}','{one.name}',1,{one.root.id},"
        f"{one.parent.id if one.parent else 'NULL'}"
        for providers in generated.providers.values()
        for one in providers
    )
    _insert(connection, f"resource_providers {columns}", rows)
    aggregates = (f"{id_},'{uuid_}'" for id_, uuid_ in enumerate(generated.aggregates, 1))
    _insert(connection, "placement_aggregates (id,uuid)", aggregates)


def _write_kind(
    connection: sa.Connection, kind: Kind, providers: Sequence[GeneratedProvider], ids: _Ids
) -> None:
    """Inventories, traits and aggregates of a kind."""
    inventories = [(ids.classes[name], total) for name, total in kind.inventories.items()]
    _insert(
        connection,
        "inventories (resource_provider_id,resource_class_id,total,reserved,min_unit,max_unit,"
        "step_size,allocation_ratio)",
        (
            f"{one.id},{id_},{total},0,1,{MAX_INT},1,1"
            for one in providers
            for id_, total in inventories
        ),
    )
    traits = [ids.traits[name] for name in kind.traits]
    _insert(
        connection,
        "resource_provider_traits (trait_id,resource_provider_id)",
        (f"{trait},{one.id}" for one in providers for trait in traits),
    )
    _insert(
        connection,
        "resource_provider_aggregates (resource_provider_id,aggregate_id)",
        (f"{one.id},{one.aggregate + 1}" for one in providers if one.aggregate is not None),
    )


def _consumers(generated: GeneratedWorld, numbers: random.Random) -> Iterator[_Consumer]:
    """The consumers of each provider; one more for the usage drawn at random."""
    for kind in generated.world.kinds:
        for one in generated.providers[kind.name]:
            for used in [kind.used] * (kind.consumers if kind.used else 0):
                yield _Consumer(one.id, random_uuid(numbers), used)
            if one.random_used:
                yield _Consumer(one.id, random_uuid(numbers), one.random_used)


def _write_consumers(connection: sa.Connection, consumers: Sequence[_Consumer], ids: _Ids) -> None:
    """Consumers and their allocations."""
    project, user = _project_or_user(connection, "projects"), _project_or_user(connection, "users")
    rows = (f"'{consumer.uuid}',{project},{user},1" for consumer in consumers)
    _insert(connection, "consumers (uuid,project_id,user_id,generation)", rows)
    _insert(
        connection,
        "allocations (resource_provider_id,consumer_id,resource_class_id,used)",
        (
            f"{consumer.provider_id},'{consumer.uuid}',{ids.classes[name]},{amount}"
            for consumer in consumers
            for name, amount in consumer.used.items()
        ),
    )


def _project_or_user(connection: sa.Connection, table: str) -> int:
    """Insert the project or the user; return its id."""
    _insert(connection, f"{table} (external_id)", [f"'{PROJECT}'"])
    query = f"SELECT id FROM {table} WHERE external_id = '{PROJECT}'"
    id_: int = connection.exec_driver_sql(query).scalar_one()
    return id_


def _analyze(engine: sa.Engine) -> None:
    """Update the statistics of the optimizer, as the server does by itself after a while."""
    with engine.begin() as connection:
        if engine.dialect.name == "mysql":
            names = ",".join(sa.inspect(connection).get_table_names())
            connection.exec_driver_sql(f"ANALYZE TABLE {names}").all()
        else:
            connection.exec_driver_sql("ANALYZE")
