"""Search for requests that are expensive: ``python -m bench.worst_search --seed 1``.

Hill climbing over random worlds whose trees differ, and random requests: a mutation is kept
if its response takes more CPU time, or if an aborted search exceeds its deadline by more.
All requests have a limit, so what is found is the cost of the search, not of a large response.
The worst of each climb are printed, and with ``--record`` added to ``bench/worst_found.json``,
which ``make bench-worst`` runs.
"""

import argparse
import json
import random
import time
from dataclasses import dataclass
from typing import Any

from bench.worst import FOUND, Case, Outcome, run
from bench.worst_worlds import (
    CLASSES,
    TRAITS,
    Individual,
    layout,
    mutated,
    query,
    random_individual,
)
from placement.core.request import SearchSettings
from placement.tests.support.queries import snapshot_of

BUDGET_SECONDS = 1.0


@dataclass(frozen=True)
class Scored:
    """An individual and the CPU time of its response."""

    individual: Individual
    outcome: Outcome

    @property
    def score(self) -> float:
        """Seconds of a complete response; for an aborted one ten times the time too late."""
        if self.outcome.candidates is None:
            return 10 * (self.outcome.seconds - BUDGET_SECONDS)
        return self.outcome.seconds

    @property
    def name(self) -> str:
        """A name of the case: number of groups, isolation, same_subtree, sharing providers."""
        request, world = self.individual.request, self.individual.world
        traits = [f"{len(request.groups)} groups", "isolated" if request.isolate else "any"]
        traits += [f"{len(request.subtrees)} same_subtree"] if request.subtrees else []
        traits += [f"{world.sharing} sharing"] if world.sharing else []
        return f"found: {', '.join(traits)}, seed {world.seed}"


def scored(individual: Individual) -> Scored:
    """Run an individual within a short budget of CPU time."""
    snapshot = snapshot_of(layout(individual.world), TRAITS, CLASSES)
    settings = SearchSettings(budget_seconds=BUDGET_SECONDS)
    case = Case("", lambda: snapshot, query(individual.request), settings)
    return Scored(individual, run(case, now=time.thread_time))


def climb(numbers: random.Random, steps: int) -> Scored:
    """Return the worst individual that some mutations of a random one lead to."""
    best = max((scored(random_individual(numbers)) for _ in range(5)), key=lambda one: one.score)
    for _ in range(steps):
        other = scored(mutated(best.individual, numbers))
        if other.score > best.score:
            best = other
    return best


def main() -> None:
    """Climb from several random individuals; print and perhaps record the worst."""
    parser = argparse.ArgumentParser(prog="bench.worst_search", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--climbs", type=int, default=10)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--record", type=int, default=0, metavar="N", help="add the worst N")
    options = parser.parse_args()
    before = json.loads(FOUND.read_text()) if FOUND.exists() else {}
    worst: list[Scored] = []
    for number in range(options.climbs):
        best = climb(random.Random(f"{options.seed} {number}"), options.steps)
        print(f"{best.score:6.2f} {describe(best.outcome):>16}  {best.name}", flush=True)
        worst = sorted([*worst, best], key=lambda one: one.score, reverse=True)
        if options.record:
            record(before, worst[: options.record])


def describe(outcome: Outcome) -> str:
    """Return the number of candidates as text."""
    return "aborted" if outcome.candidates is None else f"{outcome.candidates} candidates"


def record(before: dict[str, Any], worst: list[Scored]) -> None:
    """Write the requests that ``make bench-worst`` runs: earlier ones, and the new worst."""
    documents = before | {one.name: one.individual.to_json() for one in worst}
    FOUND.write_text(json.dumps(documents, indent=1) + "\n")


if __name__ == "__main__":
    main()
