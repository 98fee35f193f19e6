"""Requests for candidates over the world ``gpu``, where nearly all trees differ.

They are query strings without ``limit``.
"""

from bench.worlds import GPU_TRAITS

_PLAIN = "resources=VCPU:4,MEMORY_MB:8192,DISK_GB:10"
_VULKAN, _OPENCL = GPU_TRAITS.values()


def _gpus(count: int) -> str:
    """One GPU for each group, and no device twice."""
    groups = "&".join(f"resources_{i}=PGPU:1" for i in range(1, count + 1))
    return f"{groups}&group_policy=isolate"


def _gpus_of_one_numa_node(count: int) -> str:
    """GPUs below one NUMA node, which is the provider of the VCPUs, too."""
    suffixes = ",".join(f"_{i}" for i in range(1, count + 1))
    return (
        f"resources_N=VCPU:4,MEMORY_MB:8192&{_gpus(count)}"
        f"&required_N=HW_NUMA_ROOT&same_subtree=_N,{suffixes}"
    )


GPU_REQUESTS = {
    "plain": _PLAIN,
    "2 GPUs, isolated": f"{_PLAIN}&{_gpus(2)}",
    "NUMA affine": (
        "resources_N=VCPU:4,MEMORY_MB:8192&required_N=HW_NUMA_ROOT"
        f"&resources_A=PGPU:1&required_A={_VULKAN}&resources_B=PGPU:1&required_B={_OPENCL}"
        "&same_subtree=_N,_A,_B&group_policy=isolate"
    ),
    "8 GPUs of one NUMA node": _gpus_of_one_numa_node(8),
    "9 GPUs of one NUMA node": _gpus_of_one_numa_node(9),
}
