"""Worlds of providers for the benchmark: their definitions, and what they consist of.

A World says how many providers of each kind there are. ``generate`` draws its providers,
with UUIDs and usages, from random numbers seeded by the name of the world, so each call
returns the same. ``load`` writes them into a database.
"""

import random
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, cycle

import sqlalchemy as sa

from placement.core.model import MAX_INT, Inventory, Provider, ProviderState
from placement_insight.demo.cloud import UNTIL, Cloud, CloudConsumer
from placement_insight.demo.database import write

PROJECT = "bench"  # of all consumers

Amounts = Mapping[str, int]


@dataclass(frozen=True)
class Kind:
    """Providers with the same inventories: ``count`` below each provider of the parent kind.

    Without a parent kind they are ``count`` roots.
    """

    name: str
    count: int
    parent: str = ""
    inventories: Amounts = field(default_factory=dict)
    traits: Sequence[str] = ()
    # the i-th provider is in aggregate aggregates[i % len(aggregates)]
    aggregates: Sequence[int] = ()
    used: Amounts = field(default_factory=dict)
    # the number of consumers of each provider, each using ``used``
    consumers: int = 1
    # the amounts one more consumer of each provider draws from, by class; 0 is no allocation
    random_used: Mapping[str, Sequence[int]] = field(default_factory=dict)


@dataclass(frozen=True)
class World:
    """Kinds, parents before children."""

    name: str
    kinds: tuple[Kind, ...]


@dataclass(frozen=True)
class LoadedWorld:
    """A world in a database: UUIDs of providers by kind, of aggregates and of consumers."""

    world: World
    providers: Mapping[str, Sequence[str]]
    aggregates: Sequence[str] = ()
    consumers: Sequence[str] = ()
    # usage drawn at random, by provider
    random_used: Mapping[str, Amounts] = field(default_factory=dict)

    def fill(self, path: str) -> str:
        """Replace names in braces by the first UUID of a kind, an aggregate or a consumer."""
        named = {**self.providers, "aggregate": self.aggregates, "consumer": self.consumers}
        return path.format(**{name: uuids[0] for name, uuids in named.items() if uuids})

    def used(self, provider: str = "") -> Counter[str]:
        """The usage of one provider, or of all."""
        total: Counter[str] = Counter()
        for kind in self.world.kinds:
            number = sum(provider in ("", one) for one in self.providers[kind.name])
            for name, amount in kind.used.items():
                total[name] += amount * kind.consumers * number
        for uuid_, amounts in self.random_used.items():
            if provider in ("", uuid_):
                total.update(amounts)
        return total


def load(url: str, world: World) -> LoadedWorld:
    """Write the world into a database without providers; return the UUIDs.

    The database is of openstack-placement, or of this service.
    """
    cloud, loaded_world = generate(world)
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        write(connection, cloud)
    with engine.begin() as connection:  # as the server does by itself after a while
        names = ",".join(sa.inspect(connection).get_table_names())
        is_mysql = engine.dialect.name == "mysql"
        connection.exec_driver_sql(f"ANALYZE TABLE {names}" if is_mysql else "ANALYZE")
    return loaded_world


def generate(world: World) -> tuple[Cloud, LoadedWorld]:
    """Return a world and its UUIDs; ids count from 1 in the order of the kinds."""
    numbers = random.Random(world.name)
    providers: dict[str, list[Provider]] = {}
    ids = count(1)
    for kind in world.kinds:
        parents: Sequence[Provider | None] = providers.get(kind.parent, [None])
        each = (parent for parent in parents for _ in range(kind.count))
        providers[kind.name] = [
            _provider(f"{kind.name}-{id_}", id_, random_uuid(numbers), parent)
            for parent, id_ in zip(each, ids, strict=False)
        ]
    aggregates = [random_uuid(numbers) for _ in range(_aggregate_count(world))]
    usages = random.Random(f"usage of {world.name}")
    random_used = {
        provider.uuid: used
        for kind in world.kinds
        for provider in providers[kind.name]
        if (used := _random_used(kind, usages))
    }
    uuids = {name: [provider.uuid for provider in each] for name, each in providers.items()}
    consumers = list(_consumers(world, uuids, random_used))
    states = [
        state for kind in world.kinds for state in _states(kind, providers[kind.name], aggregates)
    ]
    loaded_world = LoadedWorld(
        world, uuids, aggregates, [consumer.uuid for consumer in consumers], random_used
    )
    return Cloud(states, consumers, servers={}), loaded_world


def _provider(name: str, id_: int, uuid_: str, parent: Provider | None) -> Provider:
    if parent is None:
        return Provider(id_, uuid_, name, 1, None, uuid_)
    return Provider(id_, uuid_, name, 1, parent.uuid, parent.root_uuid)


def _states(
    kind: Kind, providers: Iterable[Provider], aggregates: Sequence[str]
) -> Iterator[ProviderState]:
    inventories = {name: Inventory(total) for name, total in kind.inventories.items()}
    traits = frozenset(kind.traits)
    memberships = cycle(frozenset({aggregates[number]}) for number in kind.aggregates)
    for provider in providers:
        yield ProviderState(provider, inventories, {}, traits, next(memberships, frozenset()))


def _consumers(
    world: World, providers: Mapping[str, Iterable[str]], random_used: Mapping[str, Amounts]
) -> Iterator[CloudConsumer]:
    """Yield the consumers of each provider; one more for the usage drawn at random."""
    numbers = random.Random(f"consumers of {world.name}")
    for kind in world.kinds:
        for provider in providers[kind.name]:
            each = [kind.used] * (kind.consumers if kind.used else 0)
            for used in (*each, *filter(None, [random_used.get(provider)])):
                yield CloudConsumer(random_uuid(numbers), PROJECT, None, UNTIL, {provider: used})


def _random_used(kind: Kind, numbers: random.Random) -> Amounts:
    used = {name: numbers.choice(amounts) for name, amounts in kind.random_used.items()}
    return {name: amount for name, amount in used.items() if amount}


def random_uuid(numbers: random.Random) -> str:
    """Return a UUID made of random numbers."""
    return str(uuid.UUID(int=numbers.getrandbits(128), version=4))


def _aggregate_count(world: World) -> int:
    return max((max(kind.aggregates, default=-1) for kind in world.kinds), default=-1) + 1


# --- the worlds of the rows ---------------------------------------------------

# standard traits stand for two models: the tables of openstack-placement have no others
GPU_TRAITS = {"vulkan_gpu": "HW_GPU_API_VULKAN", "opencl_gpu": "HW_GPU_API_OPENCL_V2_0"}
HOST = {"VCPU": 1024, "MEMORY_MB": 524288, "DISK_GB": 10000}


def flat(hosts: int) -> World:
    """Empty hosts with one trait in one aggregate; and one large host for concurrent claims."""
    return World(
        f"flat {hosts}",
        (
            Kind("host", hosts, inventories=HOST, traits=["HW_CPU_X86_AVX2"], aggregates=[0]),
            Kind("huge", 1, inventories=dict.fromkeys(HOST, MAX_INT)),
        ),
    )


def nova(computes: int, servers: int) -> World:
    """Hosts of one aggregate, each with as many servers."""
    server = {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 10}
    traits = ["HW_CPU_X86_AVX2"]
    hosts = Kind("host", computes, "", HOST, traits, [0], server, consumers=servers)
    return World(f"nova {computes}", (hosts,))


def used(hosts: int) -> World:
    """Hosts in use: three are empty, half have 512 VCPU free, the others 128."""

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
    """Hosts with many equal devices."""
    return World(
        f"wide {hosts}x{devices}",
        (
            Kind("host", hosts, inventories={"VCPU": 64}),
            Kind("device", devices, "host", {"FPGA": 1}),
        ),
    )


def sharing(hosts: int, consumers: int) -> World:
    """Hosts in ten aggregates, each with one shared storage; one of them has all consumers."""
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


def gpu(hosts: int) -> World:
    """Hosts of two NUMA nodes with eight GPUs each, four of each of two kinds; partly in use.

    60 % of the GPUs are allocated; the used VCPU and MEMORY_MB of each NUMA node are random.
    So hardly two trees have the same free capacity. 19 providers a host.
    """
    is_allocated = (0, 0, 1, 1, 1)
    numa = {"VCPU": 64, "MEMORY_MB": 262144}
    numa_used = {"VCPU": range(65), "MEMORY_MB": range(0, 262145, 1024)}
    device = {"PGPU": 1}
    return World(
        f"gpu {hosts}",
        (
            Kind("host", hosts, inventories={"DISK_GB": 10000}),
            Kind("numa", 2, "host", numa, ["HW_NUMA_ROOT"], random_used=numa_used),
            *(
                Kind(name, 4, "numa", device, [trait], random_used={"PGPU": is_allocated})
                for name, trait in GPU_TRAITS.items()
            ),
        ),
    )
