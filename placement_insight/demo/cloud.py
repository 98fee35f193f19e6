"""Clouds as operators have them: unequal hosts, unevenly full, with what years of operation leave.

    cloud(hosts=300, seed=1) -> Cloud

A cloud has ``hosts`` roots that are hosts, and pools of shared storage beside them. Usage,
consumers and defects are drawn from random numbers with a seed; UUIDs of providers and aggregates
follow from their names.
``database`` writes a cloud into a database.
"""

import random
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count

from placement.core import capacity
from placement.core.model import SHARING_TRAIT, Inventory, Provider, ProviderState
from placement_insight.hosts import COMPUTE_NODE, DISABLED

DOMAIN = ".dc1.example.org"
ZONES = ("az1", "az2", "az3")
HOSTS_IN_RACK = 20
DEVICES = {"CUSTOM_GPU", "VGPU"}
MOST_SERVERS = 12  # of one host
UNTIL = datetime(2026, 6, 1)

TENANTS = {"tenant-acme": 20, "tenant-globex": 12, "tenant-initech": 4}
"""The aggregates of tenants, and how many of 300 hosts they have."""

Inventories = Mapping[str, Inventory]


_SPACE = uuid.UUID("0b5b7f0e-6c0e-4b5c-8f2e-6f6d0a2f7a11")


def provider_uuid(name: str) -> str:
    """Return the UUID of the provider with this name."""
    return str(uuid.uuid5(_SPACE, f"provider/{name}"))


def aggregate_uuid(name: str) -> str:
    """Return the UUID of the aggregate with this name."""
    return str(uuid.uuid5(_SPACE, f"aggregate/{name}"))


def _amount(amount: int, reserved: int = 0, ratio: float = 1.0) -> Inventory:
    return Inventory(amount, reserved, max_unit=amount, allocation_ratio=ratio)


def _disk(gb: int) -> Inventory:
    return _amount(gb, 50)


def _host(vcpus: int, ratio: float, memory_gib: int) -> Inventories:
    memory = _amount(memory_gib * 1024, 4096)
    return {"VCPU": _amount(vcpus, ratio=ratio), "MEMORY_MB": memory}


@dataclass(frozen=True)
class Model:
    """Hosts that were bought together; ``share`` is how many of 15 hosts they are.

    A host with devices has two NUMA nodes, and each of them has ``device_count`` providers with
    the inventory ``device``. Hosts without DISK_GB have their disks in the storage pool of their
    zone.
    """

    prefix: str
    share: int
    root: Inventories
    traits: Sequence[str]
    device: Inventories = field(default_factory=dict)
    device_trait: str = ""
    device_count: int = 0


_AVX = ("HW_CPU_X86_SSE42", "HW_CPU_X86_AVX")
_AVX2 = (*_AVX, "HW_CPU_X86_AVX2")
_AVX512 = (*_AVX2, "HW_CPU_X86_AVX512F")
_GPU_ROOT: Inventories = {"DISK_GB": _disk(3600)}
_GPU_HOST = (*_AVX512, "CUSTOM_GPU_HOST")
_GPU: Inventories = {"CUSTOM_GPU": Inventory(1, max_unit=1)}
_VGPU: Inventories = {"VGPU": Inventory(8, max_unit=4)}

MODELS = (
    Model("old", 3, {**_host(32, 4.0, 128), "DISK_GB": _disk(900)}, _AVX),
    Model("cmp", 4, {**_host(64, 4.0, 512), "DISK_GB": _disk(1800)}, _AVX2),
    Model("new", 5, _host(128, 2.0, 1024), _AVX512),
    Model("mem", 1, _host(192, 1.0, 4096), _AVX512),
    Model("gpu", 1, _GPU_ROOT, _GPU_HOST, _GPU, "CUSTOM_NVIDIA_A100", 2),
    Model("vgpu", 1, _GPU_ROOT, _GPU_HOST, _VGPU, "CUSTOM_NVIDIA_A40_8Q", 1),
)
_NODE = {"VCPU": _amount(32), "PCPU": _amount(16), "MEMORY_MB": _amount(256 * 1024, 4096)}
_PORT = {"SRIOV_NET_VF": _amount(16)}
_PORT_TRAITS = {"HW_NIC_SRIOV", "CUSTOM_PHYSNET_PROVIDER"}

FLAVORS: Sequence[Mapping[str, int]] = (
    {"VCPU": 2, "MEMORY_MB": 4096, "DISK_GB": 20},
    {"VCPU": 4, "MEMORY_MB": 16384, "DISK_GB": 40},
    {"VCPU": 8, "MEMORY_MB": 32768, "DISK_GB": 80},
    {"VCPU": 16, "MEMORY_MB": 65536, "DISK_GB": 80},
    {"VCPU": 32, "MEMORY_MB": 131072, "DISK_GB": 160},
    {"VCPU": 64, "MEMORY_MB": 262144, "DISK_GB": 160},
)


@dataclass(frozen=True)
class CloudConsumer:
    """A consumer; ``allocations`` has the amounts by class, by the UUID of the provider."""

    uuid: str
    project: str
    type: str | None
    created_at: datetime
    allocations: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Cloud:
    """Providers with their usage, parents first, and consumers.

    ``servers`` is what nova lists: the name of the host by the UUID of the consumer. It does not
    list some consumers, and others are allocated on another host, or on two.
    """

    states: Sequence[ProviderState]
    consumers: Sequence[CloudConsumer]
    servers: Mapping[str, str]


def cloud(hosts: int = 300, seed: int = 1) -> Cloud:
    """Return the cloud with this number of hosts: the same one for the same arguments."""
    return _Builder(hosts, seed).cloud()


@dataclass(eq=False)
class _Provider:
    """A provider while the cloud is built."""

    name: str
    parent: "_Provider | None"
    inventories: dict[str, Inventory]
    traits: set[str]
    aggregates: set[str] = field(default_factory=set)
    used: Counter[str] = field(default_factory=Counter)

    @property
    def uuid(self) -> str:
        return provider_uuid(self.name)

    @property
    def root(self) -> "_Provider":
        return self.parent.root if self.parent else self

    def fits(self, name: str, amount: int) -> bool:
        inventory = self.inventories.get(name)
        return inventory is not None and capacity.fits(inventory, self.used[name], amount)

    def state(self, id_: int) -> ProviderState:
        parent = self.parent.uuid if self.parent else None
        return ProviderState(
            provider=Provider(id_, self.uuid, self.name, 1, parent, self.root.uuid, UNTIL),
            inventories=self.inventories,
            used=dict(self.used),
            traits=frozenset(self.traits),
            aggregates=frozenset(map(aggregate_uuid, self.aggregates)),
        )


class _Builder:
    def __init__(self, hosts: int, seed: int) -> None:
        self._scale = hosts / 300
        self._random = random.Random(f"{hosts} hosts, seed {seed}")  # noqa: S311  not a secret
        self._projects = [self._uuid().replace("-", "") for _ in range(12)]
        self._consumers: list[CloudConsumer] = []
        self._servers: dict[str, str] = {}
        self._pools = {
            zone: _Provider(
                name=f"ceph-{zone}",
                parent=None,
                inventories={},  # its size is known once the hosts have their servers
                traits={SHARING_TRAIT, "CUSTOM_CEPH"},
                # the one of the last zone was never added to the zone
                aggregates={f"ceph-{zone}"} | ({zone} - {ZONES[-1]}),
            )
            for zone in ZONES
        }
        # fast disks for one rack, in no zone
        nvme = _Provider(
            name="nvme-r02",
            parent=None,
            inventories={"DISK_GB": _disk(20_000)},
            traits={SHARING_TRAIT, "CUSTOM_NVME"},
            aggregates={"rack-r02"},
        )
        self._providers = [*self._pools.values(), nvme]
        self._trees = [self._host(number, model) for number, model in self._models(hosts)]

    def cloud(self) -> Cloud:
        for name, hosts in TENANTS.items():
            for tree in self._some(hosts):
                tree[0].aggregates.add(name)
        for tree in self._trees:
            self._fill(tree)
        self._move(3)
        self._double(3)
        self._rename(4)
        self._orphan(10)
        for pool in self._pools.values():
            pool.inventories["DISK_GB"] = _disk(50 + pool.used["DISK_GB"] * 4 // 3)
        for tree in self._some(6):
            _reserve_all(tree)
        for tree in self._some(20):
            tree[0].traits.add(DISABLED)
        states = [provider.state(id_) for id_, provider in enumerate(self._providers, 1)]
        return Cloud(states, self._consumers, self._servers)

    def _uuid(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def _some(self, of_300: int) -> list[list[_Provider]]:
        """Return random hosts, of which there are this many in a cloud of 300."""
        return self._random.sample(self._trees, round(of_300 * self._scale))

    # --- providers

    def _models(self, hosts: int) -> Iterator[tuple[int, Model]]:
        """Yield the model of each host; hosts of a model are in adjacent racks."""
        shares = sum(model.share for model in MODELS)
        numbers = count()
        for model in MODELS:
            for _ in range(hosts * model.share // shares):
                yield next(numbers), model
        for number in range(next(numbers), hosts):
            yield number, MODELS[0]

    def _host(self, number: int, model: Model) -> list[_Provider]:
        """Add the providers of a host; return them, the root first."""
        rack, slot = divmod(number, HOSTS_IN_RACK)
        zone = ZONES[rack % len(ZONES)]
        name = f"{model.prefix}-{zone}-r{rack + 1:02}-{slot + 1:02}"
        aggregates = {zone, model.prefix}
        if "DISK_GB" not in model.root:
            aggregates.add(f"ceph-{zone}")
        if rack == 1:  # it has a pool of fast disks
            aggregates.add("rack-r02")
        traits = {*model.traits, COMPUTE_NODE, f"CUSTOM_RACK_R{rack + 1:02}"}
        root = _Provider(name, None, dict(model.root), traits, aggregates)
        tree = [root]
        for node in range(2 if model.device else 0):
            numa = _Provider(f"{name}_NUMA{node}", root, dict(_NODE), {"HW_NUMA_ROOT"})
            tree.append(numa)
            for device in range(model.device_count):
                address = f"{name}_0000:{0x3B + 0x40 * node + device:02x}:00.0"
                tree.append(_Provider(address, numa, dict(model.device), {model.device_trait}))
            if not node:
                tree.append(_Provider(f"{name}_enp59s0f0", numa, dict(_PORT), _PORT_TRAITS))
        self._providers += tree
        return tree

    # --- consumers

    def _consume(
        self,
        allocations: Mapping[_Provider, Mapping[str, int]],
        host: str | None,
        type_: str | None = "INSTANCE",
    ) -> None:
        """Add a consumer, which nova lists on a host if there is one."""
        for provider, amounts in allocations.items():
            provider.used.update(amounts)
        consumer = CloudConsumer(
            uuid=self._uuid(),
            project=self._random.choice(self._projects),
            type=type_,
            created_at=UNTIL - timedelta(minutes=self._random.randrange(60, 1_000_000)),
            allocations={provider.uuid: amounts for provider, amounts in allocations.items()},
        )
        self._consumers.append(consumer)
        if host:
            self._servers[consumer.uuid] = host

    def _fill(self, tree: list[_Provider]) -> None:
        """Allocate devices and servers; hosts are mostly nearly full or nearly empty."""
        devices = [provider for provider in tree if provider.inventories.keys() & DEVICES]
        for device in devices[:1] + [each for each in devices[1:] if self._random.random() < 0.7]:
            if device.parent is None:
                continue
            units = {name: inventory.max_unit for name, inventory in device.inventories.items()}
            self._consume({device: units, device.parent: {"VCPU": 4}}, tree[0].name)
        nodes = [provider for provider in tree if "VCPU" in provider.inventories]
        flavors = self._flavors(nodes[0])
        servers = round(MOST_SERVERS * self._random.betavariate(1.0, 0.6))
        for number in range(servers):
            flavor = self._random.choice(flavors)
            allocations = self._placed(tree, nodes[number % len(nodes)], flavor)
            if allocations:
                self._consume(allocations, tree[0].name, self._random.choice(_TYPES))

    def _flavors(self, node: _Provider) -> Sequence[Mapping[str, int]]:
        """Return the flavors that a host of this size usually has."""
        largest = node.inventories["VCPU"].max_unit // 2
        return [flavor for flavor in FLAVORS if flavor["VCPU"] <= largest][-3:]

    def _placed(
        self, tree: list[_Provider], node: _Provider, flavor: Mapping[str, int]
    ) -> dict[_Provider, dict[str, int]] | None:
        """Return the allocations of a server of this flavor, None if it does not fit."""
        zone = next(name for name in ZONES if name in tree[0].aggregates)
        disk = tree[0] if "DISK_GB" in tree[0].inventories else self._pools[zone]
        allocations: dict[_Provider, dict[str, int]] = {}
        for name, amount in flavor.items():
            provider = disk if name == "DISK_GB" else node
            if provider not in self._pools.values() and not provider.fits(name, amount):
                return None
            allocations.setdefault(provider, {})[name] = amount
        return allocations

    # --- what is left over

    def _move(self, of_300: int) -> None:
        """Let nova have servers on another host than the one with the allocations."""
        for server in self._random.sample(sorted(self._servers), round(of_300 * self._scale)):
            former = self._servers[server]
            others = [tree[0].name for tree in self._trees if tree[0].name != former]
            self._servers[server] = self._random.choice(others)

    def _double(self, of_300: int) -> None:
        """Add servers with allocations on two hosts, as a failed evacuation leaves them."""
        roots = [tree[0] for tree in self._trees if "MEMORY_MB" in tree[0].inventories]
        for _ in range(round(of_300 * self._scale)):
            former, current = self._random.sample(roots, 2)
            used = {"VCPU": 4, "MEMORY_MB": 8192}
            self._consume({former: used, current: used}, current.name)

    def _rename(self, of_300: int) -> None:
        """Add the provider of the full name for hosts that reported their short name before."""
        trees = [tree for tree in self._trees if len(tree) == 1]
        for (former,) in self._random.sample(trees, round(of_300 * self._scale)):
            name = former.name + DOMAIN
            inventories, traits = dict(former.inventories), set(former.traits)
            host = _Provider(name, None, inventories, traits, former.aggregates)
            self._providers.append(host)
            self._consume({host: {"VCPU": 2, "MEMORY_MB": 4096}}, name)

    def _orphan(self, of_300: int) -> None:
        """Add consumers that nova does not have any more."""
        for tree in self._some(of_300):
            node = next(provider for provider in tree if "VCPU" in provider.inventories)
            self._consume({node: {"VCPU": 2, "MEMORY_MB": 4096}}, None)


# Consumers of microversions below 1.38 have no type.
_TYPES = ("INSTANCE",) * 8 + ("MIGRATION", None)


def _reserve_all(tree: list[_Provider]) -> None:
    """Reserve the whole host, as for its maintenance."""
    for provider in tree:
        for name, inventory in provider.inventories.items():
            provider.inventories[name] = replace(inventory, reserved=inventory.total)
