"""How often other rules about maintenance are wrong: ``python -m bench.drains [clouds]``.

Random small clouds are drained. All plans, by brute force, say whether the consumers fit
elsewhere. The rules that are compared with them:

sums   the sum of each class over all consumers is free on all other enabled hosts together
       (Watcher compares sums of VCPUs, memory and disks of a host with a backup host)
slots  each consumer counts as the largest amount of each class over all consumers (a slot), and
       each host has as many slots as fit (VMware's admission control by slots)
drain  ``placement_insight.plan``
"""

import random
import sys
from collections import Counter
from collections.abc import Callable, Mapping

from placement.core.model import SHARING_TRAIT
from placement_insight.tests.support.drains import BruteForce, Case, planned, random_case, root_of

Amounts = Counter[str]


def needs(case: Case) -> list[Amounts]:
    """Return what each consumer has, without amounts of sharing providers that remain."""
    return [
        sum(
            (
                Counter(amounts)
                for at, amounts in held.items()
                if at in case.drained or SHARING_TRAIT not in case.states[at].traits
            ),
            Counter[str](),
        )
        for held in case.consumers.values()
    ]


def free_by_host(case: Case) -> list[Amounts]:
    """Return what is free in each tree that may take some consumer."""
    force = BruteForce(case)
    sources = {force.source(held) for held in case.consumers.values()}
    free: dict[int, Amounts] = {
        at: Counter()
        for at in range(len(case.states))
        if any(force.is_target(at, source) for source in sources if source is not None)
    }
    for (at, name), amount in force.free.items():
        root = root_of(case.states, at)
        if root in free:
            free[root][name] += amount
    return list(free.values())


def sums_say(case: Case) -> bool:
    """Return whether the sums fit."""
    free = sum(free_by_host(case), Counter[str]())
    return sum(needs(case), Counter[str]()) <= free


def slots_say(case: Case) -> bool:
    """Return whether there are enough slots."""
    slot = Counter[str]()
    for amounts in needs(case):
        slot |= amounts
    slots = sum(
        min(free[name] // amount for name, amount in slot.items()) for free in free_by_host(case)
    )
    return len(case.consumers) <= slots


def drain_says(case: Case) -> bool | None:
    """Return whether a plan was found, None if it is not determined."""
    _, result, _ = planned(case)
    return None if result.verdict == "undetermined" else result.verdict == "fits"


def main() -> int:
    """Print for each rule how often it is wrong, and in which direction."""
    clouds = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    rules: Mapping[str, Callable[[Case], bool | None]] = {
        "sums": sums_say,
        "slots": slots_say,
        "drain": drain_says,
    }
    wrong: Counter[tuple[str, str]] = Counter()
    possible = counted = 0
    for seed in range(clouds):
        case = random_case(random.Random(seed))
        force = BruteForce(case)
        if not case.consumers or None in map(force.source, case.consumers.values()):
            continue
        counted += 1
        truth = force.is_possible()
        possible += truth
        for name, rule in rules.items():
            verdict = rule(case)
            if verdict is None:
                wrong[name, "undetermined"] += 1
            elif verdict != truth:
                wrong[name, "wrong fits" if verdict else "wrong does not fit"] += 1
    print(f"{counted} clouds, in {possible} of them all consumers fit elsewhere")
    for (name, kind), count in sorted(wrong.items()):
        print(f"{name:<11} {kind:<18} {count:>6}  {100 * count / counted:5.1f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
