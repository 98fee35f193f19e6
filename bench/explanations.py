"""Time explanations of requests that no host satisfies: ``python -m bench.explanations``.

On 10,000 flat hosts and on 10,000 hosts with GPUs (190,000 providers), in this process, without
HTTP and database. Times are CPU seconds, the least of five, and include near misses.
"""

import argparse
import sys
import time
from collections.abc import Mapping

from bench.gpu_requests import GPU_REQUESTS
from bench.worlds import World, gpu, provider_states, used
from placement.core.search.deadline import Deadline
from placement.core.snapshot.snapshot import Snapshot
from placement.insight.explanation.explain import BUDGET_SECONDS, explain
from placement.insight.explanation.model import (
    Explanation,
)
from placement.insight.explanation.query import Question
from placement.microversion import MAX_VERSION
from placement.parse.candidates import candidate_request
from placement.tests.support.provider_tables import snapshot_of_states
from placement.tests.support.queries import pairs

NOBODY = "00000000-1111-2222-3333-444444444444"
TRAIT = "CUSTOM_EXPLAINED"
_PLAIN = "resources=VCPU:16,MEMORY_MB:32768,DISK_GB:100"
_ANY = {
    "empty aggregate": f"{_PLAIN}&member_of={NOBODY}",
    "unknown tree": f"{_PLAIN}&in_tree={NOBODY}",
    "missing trait": f"{_PLAIN}&required={TRAIT}",
    "too much": "resources=VCPU:2000000,MEMORY_MB:32768,DISK_GB:100",
}
_GROUPS = {"two isolated groups": "resources1=VCPU:3000&resources2=VCPU:3000&group_policy=isolate"}
_GPUS = {"9 GPUs of one NUMA node": GPU_REQUESTS["9 GPUs of one NUMA node"]}
CASES: Mapping[str, tuple[World, Mapping[str, str]]] = {
    "flat": (used(10_000), _ANY | _GROUPS),
    "gpu": (gpu(10_000), _ANY | _GPUS),
}


def snapshot_of(world: World) -> Snapshot:
    """Return the snapshot of a world, which knows one more trait."""
    snapshot = snapshot_of_states(provider_states(world))
    return snapshot.apply((), trait_names=snapshot.trait_names | {TRAIT})


def explained(snapshot: Snapshot, query: str, *, remedies: bool) -> tuple[float, Explanation]:
    """Return the CPU seconds of an explanation, the least of five, and the explanation."""
    question = Question(candidate_request(pairs(query), MAX_VERSION), query, "", remedies)
    seconds = []
    for _ in range(5):
        began = time.process_time()
        explanation = explain(snapshot, question, Deadline(BUDGET_SECONDS, time.monotonic))
        seconds.append(time.process_time() - began)
    return min(seconds), explanation


def main() -> int:
    """Print a line for each request."""
    parser = argparse.ArgumentParser(prog="bench.explanations", description=__doc__)
    parser.add_argument("worlds", nargs="*", default=list(CASES), help="flat, gpu")
    for name in parser.parse_args().worlds:
        world, queries = CASES[name]
        snapshot = snapshot_of(world)
        for label, query in queries.items():
            for remedies in (False, True):
                seconds, explanation = explained(snapshot, query, remedies=remedies)
                suffix = " with remedies" if remedies else ""
                undetermined = ", ".join(explanation.undetermined)
                print(f"{name} {label}{suffix}: {seconds * 1000:.1f} ms {undetermined}".rstrip())
    return 0


if __name__ == "__main__":
    sys.exit(main())
