"""The rows of the benchmark: world, measure and target."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from bench.audit import PLAIN_USAGES
from bench.gpu_requests import GPU_REQUESTS
from bench.harness import PLACEMENT, UPSTREAM
from bench.loads import CpuTime, Spread
from bench.measures import (
    Concurrent,
    FirstRequest,
    Measure,
    Memory,
    ReadAfterWrite,
    StartUp,
    Timed,
)
from bench.mixed_load import Mixed, Stream
from bench.targets import AtMost, Below, Faster, Target
from bench.workloads import claim, claim_and_delete, get, schedule, swap
from bench.worlds import PROJECT, LoadedWorld, World, flat, gpu, nested, nova, sharing, used, wide

# the correct number of candidates or providers in a world
ExpectedCount = Callable[[LoadedWorld], int]


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    name: str
    world: World
    measure: Measure
    target: Target | None = None
    quick: bool = True


def _all(kind: str = "host", times: int = 1, limit: int = 10**9) -> ExpectedCount:
    """``times`` candidates for each provider of a kind, at most the limit."""
    return lambda loaded_world: min(limit, times * len(loaded_world.providers[kind]))


def _exactly(number: int) -> ExpectedCount:
    return lambda _: number


def _candidates(query: str, expected: ExpectedCount, *, limited: bool = True) -> Timed:
    return Timed(get(f"/allocation_candidates?{query}"), expected, limited)


FLAT = "resources=VCPU:1,MEMORY_MB:512,DISK_GB:10&required=HW_CPU_X86_AVX2&member_of={aggregate}"
NESTED = (
    "resources_C=VCPU:2,MEMORY_MB:1024&resources_N=SRIOV_NET_VF:1&resources_A=FPGA:1"
    "&required_N=HW_NIC_SRIOV&same_subtree=_C,_N,_A&group_policy=none"
)
_SHARING = "resources=VCPU:1,MEMORY_MB:512,DISK_GB:10"


def _devices(groups: int) -> str:
    device_groups = "&".join(f"resources{i}=FPGA:1" for i in range(1, groups + 1))
    return f"{device_groups}&group_policy=isolate&limit=1000"


def _in_use(vcpus: int) -> str:
    """The flat request with more VCPUs: half of the hosts in use have 200 free, three 1,000."""
    return FLAT.replace("VCPU:1,", f"VCPU:{vcpus},") + "&limit=1000"


def _flat_rows(hosts: int, faster: float | None, *, quick: bool) -> Iterator[Row]:
    """Candidates over empty flat hosts."""
    world, name = flat(hosts), f"candidates, {hosts:,} flat hosts"
    target = Faster(faster) if faster else AtMost(3)
    tenth = Faster(400) if hosts == 10_000 else None
    thousand = _candidates(f"{FLAT}&limit=1000", _all(limit=1000))
    ten = _candidates(f"{FLAT}&limit=10", _all(limit=10))
    every = _candidates(FLAT, _all(), limited=False)
    yield Row(f"{name}, limit=1000", world, thousand, target, quick)
    yield Row(f"{name}, limit=10", world, ten, tenth, quick)
    yield Row(f"{name}, unlimited", world, every, None, quick and hosts == 1_000)


def _used_rows(hosts: int, *, quick: bool) -> Iterator[Row]:
    """Candidates over hosts in use."""
    world, name = used(hosts), f"candidates, {hosts:,} hosts"
    few = _candidates(_in_use(1000), _exactly(3), limited=False)
    half = _candidates(_in_use(200), _exactly(min(1000, hosts // 2 + 3)))
    yield Row(f"{name}, 3 fit, limit=1000", world, few, AtMost(3), quick)
    yield Row(f"{name}, half full, limit=1000", world, half, AtMost(3), quick)


def _consumer_rows(hosts: int) -> Iterator[Row]:
    """Reads of consumers; each host in use has one."""
    reads = {
        "allocations of a consumer": get("/allocations/{consumer}"),
        f"usages of a project with {hosts:,} consumers": get(
            f"/usages?project_id={PROJECT}", PLAIN_USAGES
        ),
    }
    for name, workload in reads.items():
        yield Row(f"GET {name}", used(hosts), Timed(workload, None, limited=False))


def _gpu_row_name(hosts: int, request: str) -> str:
    return f"candidates, {hosts:,} GPU hosts, {request}"


def _nested_rows(hosts: int, faster: float | None, *, quick: bool) -> Iterator[Row]:
    world, name = nested(hosts), f"candidates, {hosts:,} nested hosts, 3 groups"
    measure = _candidates(f"{NESTED}&limit=1000", _all(times=2, limit=1000))
    yield Row(f"{name}, limit=1000", world, measure, Faster(faster) if faster else None, quick)


# the target over 1,000 hosts, by request, and that over 10,000
_GPU_TARGETS: Mapping[str, tuple[Target, Target]] = {
    "plain": (Faster(60), AtMost(1.5, _gpu_row_name(1_000, "plain"))),
    "2 GPUs, isolated": (Faster(200), AtMost(1.5, _gpu_row_name(1_000, "2 GPUs, isolated"))),
    "NUMA affine": (Faster(60), AtMost(1.5, _gpu_row_name(1_000, "NUMA affine"))),
    "8 GPUs of one NUMA node": (Below(20, "ms"), Below(60, "ms")),
    "9 GPUs of one NUMA node": (Below(10, "ms"), Below(40, "ms")),
}


def _gpu_rows(hosts: int, *, quick: bool) -> Iterator[Row]:
    """Candidates of trees that differ; with 10,000 hosts only of this service."""
    is_large = hosts > 1_000
    for request, targets in _GPU_TARGETS.items():
        expected = _exactly(0 if request.startswith("9") else 1000)
        path = f"/allocation_candidates?{GPU_REQUESTS[request]}&limit=1000"
        measure = Timed(get(path), expected, only_placement=is_large)
        yield Row(_gpu_row_name(hosts, request), gpu(hosts), measure, targets[is_large], quick)


def _wide_rows() -> Iterator[Row]:
    """Groups that each request a device of their own."""
    name = "candidates, 10 hosts x {} devices, {} isolated"
    for groups, faster in ((4, 150), (5, 800)):
        measure = _candidates(_devices(groups), _exactly(1000))
        yield Row(name.format(8, groups), wide(10, 8), measure, Faster(faster), quick=groups == 4)
    for devices, candidates in ((16, 1000), (15, 0)):
        measure = _candidates(_devices(16), _exactly(candidates))
        yield Row(name.format(devices, 16), wide(10, devices), measure, AtMost(8))


def _sharing_rows(hosts: int, consumers: int, *, quick: bool) -> Iterator[Row]:
    """Shared storage, one of which has many consumers."""
    world, one = sharing(hosts, consumers), {"DISK_GB": 10}
    shared = _candidates(f"{_SHARING}&limit=1000", _all(limit=1000))
    empty, crowded = (
        "claim on an empty storage",
        f"claim on a storage with {consumers:,} consumers",
    )
    yield Row(f"candidates, {hosts:,} hosts with shared storage", world, shared, None, quick)
    yield Row(empty, world, Timed(claim("storage", one)), None, quick)
    yield Row(crowded, world, Timed(claim("crowded", one)), AtMost(1.5, empty), quick)


def _provider_rows(hosts: int, *, quick: bool) -> Iterator[Row]:
    """Lists of providers, and single resources."""
    world, every = flat(hosts), _all()
    filters = {
        "resources, required": "resources=VCPU:1,MEMORY_MB:512&required=HW_CPU_X86_AVX2",
        "resources, required, member_of": "resources=VCPU:1&required=HW_CPU_X86_AVX2"
        "&member_of={aggregate}",
        "resources, in_tree": "resources=VCPU:1&in_tree={host}",
    }
    for name, query in filters.items():
        expected = _exactly(1) if "in_tree" in name else every
        measure = Timed(get(f"/resource_providers?{query}"), expected, limited=False)
        target = Faster(15) if name == "resources, required" else None
        yield Row(f"providers by {name}, {hosts:,} hosts", world, measure, target, quick)
    provider = "/resource_providers/{host}"
    reads = {
        "version document": "/",
        "provider": provider,
        "inventories of a provider": f"{provider}/inventories",
    }
    for name, path in reads.items():
        yield Row(f"GET {name}", world, Timed(get(path), None, limited=False), None, quick)


def _write_rows(hosts: int, *, quick: bool) -> Iterator[Row]:
    """Claims; they follow the reads of their world, which expect empty hosts."""
    world, huge = flat(hosts), "claim, 1 client, one host"
    loop = f"/allocation_candidates?{FLAT}&limit=1000"
    yield Row(huge, world, Timed(claim("huge")), Faster(6), quick)
    yield Row("claim, 1 client, many hosts", world, Timed(claim("host")), Faster(6), quick)
    yield Row("claims, 8 clients, many hosts", world, Concurrent(claim("host")), Faster(9), quick)
    yield Row("claims, 8 clients, one host", world, Concurrent(claim("huge")), Faster(8), quick)
    scheduler = f"candidates, then claim, 8 clients, {hosts:,} hosts"
    yield Row(scheduler, world, Concurrent(schedule(loop)), Faster(60), quick)
    yield Row("swap of two consumers by POST", world, Timed(swap("host")), Faster(5), quick)
    read = get(f"/allocation_candidates?{FLAT}&limit=10")
    after = ReadAfterWrite(read, claim("host"))
    yield Row("added to a read by a claim in another process", world, after, AtMost(0.5), quick)
    yield from _mixed_rows(world, loop)
    yield _first_row(hosts, Below(1500, "ms"), quick=quick)
    yield Row("start-up", world, StartUp(), None, quick)


# of each nova-compute: the requests of 60 s, and those of 300 s (nova 34, ResourceTracker)
_PROVIDER = "/resource_providers/{host}"
NOVA_MINUTE = {
    f"{_PROVIDER}/allocations": 60,
    "/resource_providers?in_tree={host}": 300,
    f"{_PROVIDER}/inventories": 300,
    f"{_PROVIDER}/aggregates": 300,
    f"{_PROVIDER}/traits": 300,
    "/resource_providers?member_of=in:{aggregate}&required=MISC_SHARES_VIA_AGGREGATE": 300,
}


def _nova_rows(computes: int, servers: int) -> Iterator[Row]:
    """The CPU cores that the requests of nova-compute use, and the CPU time of each request."""
    world = nova(computes, servers)
    minute = [(get(path), computes / seconds / 1000) for path, seconds in NOVA_MINUTE.items()]
    name = f"nova's minute, {computes:,} computes of {servers} servers"
    yield Row(name, world, CpuTime(minute, "cores"), Faster(5), quick=False)
    requests = {
        **{f"GET {path}": get(path) for path in NOVA_MINUTE},
        "GET /usages": get("/usages?project_id=nobody"),
        "claim": claim("host"),
        "claim and DELETE of allocations": claim_and_delete("host"),
    }
    for request, workload in requests.items():
        yield Row(f"CPU of {request}", world, CpuTime([(workload, 1)]), None, quick=False)


def _spread_row(hosts: int, claims: int) -> Row:
    """Servers per host if a client claims on the emptiest host of each limited response."""
    measure = Spread(f"/allocation_candidates?{FLAT}&limit={hosts // 3}", claims)
    name = f"deviation of servers per host, {hosts} hosts, limit={hosts // 3}"
    return Row(name, flat(hosts), measure, Below(0.75, "servers"))


def _mixed_rows(world: World, candidates: str) -> Iterator[Row]:
    """Claims and candidates at once, of each service as many as it can serve, or as many GET /."""
    reads = Stream(get(candidates), {PLACEMENT: 20, UPSTREAM: 0.3})
    claims = Stream(claim("host"), {PLACEMENT: 100, UPSTREAM: 3})
    root = "version documents, steady rates"
    for name, *streams in (
        (root, Stream(get("/"), claims.rates), Stream(get("/"), reads.rates)),
        ("candidates beside claims, steady rates", reads, claims),
        ("claims beside candidates, steady rates", claims, reads),
    ):
        target = None if name == root else AtMost(3, root, of_p99=True)
        yield Row(name, world, Mixed(*streams), target, quick=False)


def _first_row(hosts: int, target: Target | None, *, quick: bool) -> Row:
    first = FirstRequest(get(f"/allocation_candidates?{FLAT}&limit=1000"))
    name = f"first request of a process, {hosts:,} hosts"
    return Row(name, flat(hosts), first, target, quick)


def _memory_row(hosts: int, target: Target | None, *, quick: bool) -> Row:
    return Row(f"memory of a process, {hosts:,} flat hosts", flat(hosts), Memory(), target, quick)


def rows(*, quick: bool) -> list[Row]:
    """All rows in the order of measuring: by world, reads before writes."""
    every = [
        *_flat_rows(1_000, 20, quick=True),
        _memory_row(1_000, None, quick=False),
        *_used_rows(1_000, quick=False),
        *_flat_rows(10_000, 150, quick=True),
        *_provider_rows(10_000, quick=True),
        _memory_row(10_000, None, quick=True),
        *_write_rows(10_000, quick=True),
        *_used_rows(10_000, quick=True),
        *_consumer_rows(10_000),
        *_nova_rows(10_000, 20),
        _spread_row(30, 150),
        *_nested_rows(1_000, 60, quick=True),
        *_gpu_rows(1_000, quick=False),
        *_gpu_rows(10_000, quick=False),
        *_wide_rows(),
        *_sharing_rows(1_000, 10_000 if quick else 100_000, quick=True),
        *_flat_rows(100_000, None, quick=False),
        _memory_row(100_000, Below(600, "MB"), quick=False),
        _first_row(100_000, None, quick=False),
        *_used_rows(100_000, quick=False),
    ]
    return [row for row in every if row.quick or not quick]


def by_world(chosen: list[Row]) -> Iterator[tuple[World, list[Row]]]:
    """The rows of each world, worlds in the order of their first row."""
    for _, group in groupby(chosen, key=lambda row: row.world.name):
        rows_of_world = list(group)
        yield rows_of_world[0].world, rows_of_world
