"""Worlds of providers, put straight into the tables.

Only what every Placement database has is written, so the same statements fill
the reference's database and ours. Rows are written as literals, thousands to a
statement: 100,000 hosts take seconds on each kind of database.
"""

import random
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

import sqlalchemy as sa

ROWS_PER_STATEMENT = 5000
MAX_INT = 2**31 - 1
_MADE_AT = "'2026-01-01 00:00:00'"
# whose consumers they all are; the user is called the same
PROJECT = "bench"


@dataclass(frozen=True)
class Kind:
    """Like providers: so many below each provider of the parent kind, or so many roots."""

    name: str
    count: int
    parent: str = ""
    inventories: Mapping[str, int] = field(default_factory=dict)
    traits: Sequence[str] = ()
    # the i-th provider is in aggregate aggregates[i % len(aggregates)]
    aggregates: Sequence[int] = ()
    used: Mapping[str, int] = field(default_factory=dict)
    # the number of consumers of each provider, each using ``used``
    consumers: int = 1


@dataclass(frozen=True)
class World:
    """Kinds, parents before children."""

    name: str
    kinds: tuple[Kind, ...]


@dataclass(frozen=True)
class Place:
    """A world that was loaded: the UUIDs of its providers by kind, aggregates and consumers."""

    world: World
    providers: Mapping[str, Sequence[str]]
    aggregates: Sequence[str] = ()
    consumers: Sequence[str] = ()

    def fill(self, path: str) -> str:
        """Put the first UUID of each kind, aggregate and consumer into a path's braces."""
        named = {**self.providers, "aggregate": self.aggregates, "consumer": self.consumers}
        return path.format(**{name: uuids[0] for name, uuids in named.items() if uuids})

    def used(self, provider: str = "") -> Counter[str]:
        """What its consumers use of one provider, or of all."""
        total: Counter[str] = Counter()
        for kind in self.world.kinds:
            concerned = [one for one in self.providers[kind.name] if provider in ("", one)]
            for name, amount in kind.used.items():
                total[name] += amount * kind.consumers * len(concerned)
        return total


@dataclass(frozen=True)
class _Provider:
    id: int
    uuid: str
    name: str
    root: int
    parent: int | None


def load(url: str, world: World) -> Place:
    """Write the world into an empty database and return where things are."""
    numbers = random.Random(world.name)
    placed = dict(_providers(world, numbers))
    aggregates = [_uuid(numbers) for _ in range(_aggregate_count(world))]
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        _write_providers(connection, placed, aggregates)
        names = _Names(connection)
        consumers: list[str] = []
        for kind in world.kinds:
            _write_kind(connection, kind, placed[kind.name], names)
            consumers += _write_usage(connection, kind, placed[kind.name], names, numbers)
    _analyze(engine)
    uuids = {kind: [provider.uuid for provider in made] for kind, made in placed.items()}
    return Place(world, uuids, aggregates, consumers)


class _Names:
    """Ids of classes and traits by name."""

    def __init__(self, connection: sa.Connection) -> None:
        self.classes = self._ids(connection, "resource_classes")
        self.traits = self._ids(connection, "traits")

    @staticmethod
    def _ids(connection: sa.Connection, table: str) -> dict[str, int]:
        return {
            name: id_ for id_, name in connection.exec_driver_sql(f"SELECT id, name FROM {table}")
        }


def _uuid(numbers: random.Random) -> str:
    return str(uuid.UUID(int=numbers.getrandbits(128), version=4))


def _aggregate_count(world: World) -> int:
    return max((max(kind.aggregates, default=-1) for kind in world.kinds), default=-1) + 1


def _providers(world: World, numbers: random.Random) -> Iterator[tuple[str, list[_Provider]]]:
    """Each kind's providers, with ids in a row from 1."""
    placed: dict[str, list[_Provider]] = {}
    next_id = 1
    for kind in world.kinds:
        parents: Sequence[_Provider | None] = placed[kind.parent] if kind.parent else [None]
        made: list[_Provider] = []
        for parent in (parent for parent in parents for _ in range(kind.count)):
            id_ = next_id + len(made)
            root, parent_id = (parent.root, parent.id) if parent else (id_, None)
            made.append(_Provider(id_, _uuid(numbers), f"{kind.name}-{id_}", root, parent_id))
        placed[kind.name] = made
        next_id += len(made)
        yield kind.name, made


def _insert(connection: sa.Connection, into: str, rows: Iterable[str]) -> None:
    """Insert rows that are written as SQL already, each with the time it was made."""
    left = iter(rows)
    while part := list(islice(left, ROWS_PER_STATEMENT)):
        values = ",".join(f"({row},{_MADE_AT})" for row in part)
        connection.exec_driver_sql(f"INSERT INTO {into[:-1]},created_at) VALUES {values}")


def _write_providers(
    connection: sa.Connection, placed: Mapping[str, list[_Provider]], aggregates: list[str]
) -> None:
    columns = "(id,uuid,name,generation,root_provider_id,parent_provider_id)"
    rows = (
        f"{one.id},'{one.uuid}','{one.name}',1,{one.root},{one.parent or 'NULL'}"
        for made in placed.values()
        for one in made
    )
    _insert(connection, f"resource_providers {columns}", rows)
    known = (f"{id_},'{uuid_}'" for id_, uuid_ in enumerate(aggregates, 1))
    _insert(connection, "placement_aggregates (id,uuid)", known)


def _write_kind(
    connection: sa.Connection, kind: Kind, made: list[_Provider], names: _Names
) -> None:
    """Inventories, traits and aggregates of a kind."""
    inventories = [(names.classes[name], total) for name, total in kind.inventories.items()]
    _insert(
        connection,
        "inventories (resource_provider_id,resource_class_id,total,reserved,min_unit,max_unit,"
        "step_size,allocation_ratio)",
        (
            f"{one.id},{id_},{total},0,1,{MAX_INT},1,1"
            for one in made
            for id_, total in inventories
        ),
    )
    traits = [names.traits[name] for name in kind.traits]
    _insert(
        connection,
        "resource_provider_traits (trait_id,resource_provider_id)",
        (f"{trait},{one.id}" for one in made for trait in traits),
    )
    if kind.aggregates:
        joined = (
            f"{one.id},{kind.aggregates[i % len(kind.aggregates)] + 1}"
            for i, one in enumerate(made)
        )
        into = "resource_provider_aggregates (resource_provider_id,aggregate_id)"
        _insert(connection, into, joined)


def _write_usage(
    connection: sa.Connection,
    kind: Kind,
    made: list[_Provider],
    names: _Names,
    numbers: random.Random,
) -> list[str]:
    """Consumers of each provider of a kind, and what they use; return their UUIDs."""
    if not kind.used:
        return []
    used = [(names.classes[name], amount) for name, amount in kind.used.items()]
    holders = [(one.id, _uuid(numbers)) for one in made for _ in range(kind.consumers)]
    project, user = _identity(connection, "projects"), _identity(connection, "users")
    consumers = (f"'{consumer}',{project},{user},1" for _, consumer in holders)
    _insert(connection, "consumers (uuid,project_id,user_id,generation)", consumers)
    _insert(
        connection,
        "allocations (resource_provider_id,consumer_id,resource_class_id,used)",
        (f"{id_},'{who}',{cls},{amount}" for id_, who in holders for cls, amount in used),
    )
    return [who for _, who in holders]


def _identity(connection: sa.Connection, table: str) -> int:
    """The id of our project or user, made when it is not there."""
    find = f"SELECT id FROM {table} WHERE external_id = '{PROJECT}'"
    if connection.exec_driver_sql(find).scalar() is None:
        _insert(connection, f"{table} (external_id)", [f"'{PROJECT}'"])
    found: int = connection.exec_driver_sql(find).scalar_one()
    return found


def _analyze(engine: sa.Engine) -> None:
    """Let the database look at its tables, as it would have before long by itself."""
    with engine.begin() as connection:
        if engine.dialect.name == "mysql":
            names = ",".join(sa.inspect(connection).get_table_names())
            connection.exec_driver_sql(f"ANALYZE TABLE {names}").all()
        else:
            connection.exec_driver_sql("ANALYZE")


# --- the worlds of the rows ---------------------------------------------------

HOST = {"VCPU": 1024, "MEMORY_MB": 524288, "DISK_GB": 10000}


def flat(hosts: int) -> World:
    """Empty hosts with one trait in one aggregate; and one huge one without, to fight for."""
    return World(
        f"flat {hosts}",
        (
            Kind("host", hosts, inventories=HOST, traits=["HW_CPU_X86_AVX2"], aggregates=[0]),
            Kind("huge", 1, inventories=dict.fromkeys(HOST, MAX_INT)),
        ),
    )


def used(hosts: int) -> World:
    """Hosts in use: three are free, half have room for 512 VCPU, the others for 128."""

    def kind(name: str, count: int, vcpus: int) -> Kind:
        used = {"VCPU": vcpus, "MEMORY_MB": 512 * vcpus // 2, "DISK_GB": vcpus} if vcpus else {}
        return Kind(name, count, "", HOST, ["HW_CPU_X86_AVX2"], [0], used)

    half = hosts // 2
    kinds = kind("free", 3, 0), kind("quiet", half, 512), kind("busy", hosts - half - 3, 896)
    return World(f"used {hosts}", kinds)


def nested(hosts: int) -> World:
    """Seven providers a host: two NUMA nodes, each with a network device and an accelerator."""
    return World(
        f"nested {hosts}",
        (
            Kind("host", hosts, inventories={"DISK_GB": 10000}),
            Kind("numa", 2, "host", {"VCPU": 64, "MEMORY_MB": 262144}),
            Kind("nic", 1, "numa", {"SRIOV_NET_VF": 8}, ["HW_NIC_SRIOV"]),
            Kind("accelerator", 1, "numa", {"FPGA": 2}),
        ),
    )


def wide(hosts: int, devices: int) -> World:
    """Hosts with many devices that are all alike."""
    return World(
        f"wide {hosts}x{devices}",
        (
            Kind("host", hosts, inventories={"VCPU": 64}),
            Kind("device", devices, "host", {"FPGA": 1}),
        ),
    )


def sharing(hosts: int, consumers: int) -> World:
    """Hosts in ten aggregates, each with one shared storage; one of them has the consumers."""
    compute = {"VCPU": 1024, "MEMORY_MB": 524288}
    shared, trait = {"DISK_GB": MAX_INT}, ["MISC_SHARES_VIA_AGGREGATE"]
    return World(
        f"sharing {hosts}",
        (
            Kind("host", hosts, inventories=compute, aggregates=range(10)),
            Kind("storage", 9, "", shared, trait, range(1, 10)),
            Kind("crowded", 1, "", shared, trait, [0], {"DISK_GB": 10}, consumers),
        ),
    )
