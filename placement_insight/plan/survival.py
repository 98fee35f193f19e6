"""Whether everything on a host, in an aggregate or in a rack fits elsewhere if it fails.

Consumers are read as groups: equal allocations of many consumers are one group with a count. Most
domains survive, and a quick check finds it: their consumers are packed into the emptiest hosts.
The plan of a drain decides about all other domains.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import combinations, islice, tee
from typing import NamedTuple

import numpy as np

from placement.core.requirement import MemberOf, ProviderRequirement, RootTrait
from placement.core.search.candidate_streams import batches
from placement.core.search.deadline import Deadline
from placement.core.snapshot.rows import Indices
from placement.core.snapshot.snapshot import Snapshot
from placement.exception import SearchDeadlineExceeded
from placement_insight.hosts import hosts_by, hosts_of
from placement_insight.plan.drain import drain
from placement_insight.plan.hypothetical import Taken, free_by_root, free_by_row
from placement_insight.plan.model import (
    Demand,
    Holder,
    Keep,
    Needs,
    NeedsReader,
    Scene,
    Variant,
    Verdict,
    roots_of,
    with_children,
)
from placement_insight.plan.placing import assignments
from placement_insight.plan.shortage import lacks

_EMPTIEST = 128
"""The number of targets that the quick check tries for each root of the domain, and one more."""

_AT_ONCE = 16_384


@dataclass(frozen=True, slots=True)
class Group:
    """Consumers with equal allocations."""

    allocations: Taken
    count: int


@dataclass(frozen=True, slots=True)
class Domain:
    """Roots that fail together; targets need not have the aggregate or trait ``ignored``."""

    uuid: str
    name: str
    roots: Sequence[int]
    ignored: frozenset[ProviderRequirement] = frozenset()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What happens if a domain fails.

    ``lacks`` are needs of the stuck consumers: of the classes of which no target has enough.
    ``reason`` is a proof that not all fit, or why this is not determined.
    """

    domain: Domain
    verdict: Verdict
    consumers: int
    stuck: int = 0
    lacks: Mapping[str, int] = field(default_factory=dict)
    reason: str = ""


class Survival:
    """The consumers of a snapshot by root, and what happens if hosts fail.

    ``skipped`` is the number of consumers with allocations in several trees.
    """

    def __init__(
        self, snapshot: Snapshot, groups: Iterable[Group], keep: Keep, deadline: Deadline
    ) -> None:
        self._snapshot = snapshot
        self._deadline = deadline
        self.keep = keep
        self._is_host = snapshot.hosts[snapshot.forest.root]
        self._by_root: defaultdict[int, Counter[Needs]] = defaultdict(Counter)
        self.skipped = 0
        self.hosts = hosts_of(snapshot)
        with suppress(SearchDeadlineExceeded):  # then no domain is determined
            self._read(groups, NeedsReader(snapshot, self._is_host, keep))
        self._quick = _QuickCheck(snapshot, deadline)

    def _read(self, groups: Iterable[Group], reader: NeedsReader) -> None:
        of_row = self._snapshot.forest.root
        for group in groups:
            self._deadline.tick()
            root, *others = roots_of(self._snapshot, group.allocations)
            hosts = {of_row.item(row) for _, row in group.allocations if self._is_host[row]}
            if others or hosts - {root}:  # some hosts share what they have
                self.skipped += group.count
            elif self._is_host[root]:
                self._by_root[root][reader.needs(group.allocations, root)] += group.count

    def domains(self, by: str, prefix: str = "") -> Iterator[Domain]:
        """Yield the domains: each host, or the hosts of each aggregate or root trait."""
        snapshot = self._snapshot
        if by == "root":
            for row in np.flatnonzero(self.hosts).tolist():
                provider = snapshot.entries.state(row).provider
                yield Domain(provider.uuid, provider.name, (row,))
            return
        sets = snapshot.aggregates if by == "aggregate" else snapshot.traits
        one = MemberOf.one if by == "aggregate" else RootTrait.one
        for name, roots in hosts_by(self.hosts, sets):
            if name.startswith(prefix):
                yield Domain(name, name, roots, frozenset({one(name)}))

    def pairs(self, domains: Sequence[Domain]) -> Iterator[Domain]:
        """Yield each two hosts as a domain; the hosts with most consumers come first."""
        order = sorted(domains, key=lambda each: -self._by_root[each.roots[0]].total())
        for first, second in combinations(order, 2):
            uuid, name = f"{first.uuid} {second.uuid}", f"{first.name} {second.name}"
            yield Domain(uuid, name, (*first.roots, *second.roots))

    def until_deadline(self, domains: Iterable[Domain]) -> Iterator[Outcome]:
        """Yield what happens if each of the domains fails, until the deadline.

        Of ``_AT_ONCE`` domains, those come first of which the quick check finds that they survive.
        """
        with suppress(SearchDeadlineExceeded):
            for some in batches(domains, _AT_ONCE):
                others = []
                for domain in some:
                    self._deadline.check()
                    needs = self._needs_of(domain)
                    if self._quick.fits(needs, domain.roots):
                        yield Outcome(domain, "fits", needs.total())
                    else:
                        others.append(domain)
                for domain in others:
                    self._deadline.check()
                    yield self._planned(domain)

    def _planned(self, domain: Domain) -> Outcome:
        needs = self._needs_of(domain)
        result = drain(self._scene(needs, domain), self._deadline)
        if not result.is_complete:
            self._deadline.check()  # the domain was not reached
        lacking = Counter[str]()
        for stuck in result.stuck:
            lacking.update(lacks(stuck.shortage))
        reason = next(iter(result.reasons), "")
        return Outcome(domain, result.verdict, needs.total(), len(result.stuck), lacking, reason)

    def _needs_of(self, domain: Domain) -> Counter[Needs]:
        if len(domain.roots) == 1 and not domain.ignored:
            return self._by_root.get(domain.roots[0], Counter())
        total = Counter[Needs]()
        for root in domain.roots:
            for needs, count in self._by_root.get(root, {}).items():
                total[replace(needs, of_root=needs.of_root - domain.ignored)] += count
        return total

    def _scene(self, needs: Counter[Needs], domain: Domain) -> Scene:
        demands = [
            Demand(each, tuple(Holder(f"{n}", None, None, {}) for n in range(count)))
            for each, count in needs.items()
        ]
        return Scene.in_order(self._snapshot, with_children(self._snapshot, domain.roots), demands)


class _Target(NamedTuple):
    """What some needs take of the providers of a target, and what is free there.

    ``roots`` are the roots of these providers, and the target.
    """

    roots: frozenset[int]
    taken: Sequence[tuple[tuple[str, int], int, int]]


class _QuickCheck:
    """Packs consumers into the emptiest hosts, each by the first assignment of its providers.

    The assignments are those to the complete snapshot: domains share them.
    """

    def __init__(self, snapshot: Snapshot, deadline: Deadline) -> None:
        self._snapshot = snapshot
        self._deadline = deadline
        self._scene = Scene.in_order(snapshot, np.zeros(snapshot.size, dtype=np.bool_), ())
        self._free = cache(partial(free_by_row, snapshot))
        self._free_in_tree = cache(partial(free_by_root, snapshot))
        self._targets: dict[Needs, Iterator[_Target]] = {}  # each is at its first item

    def fits(self, needs: Counter[Needs], drained: Sequence[int]) -> bool:
        """Return whether all consumers were packed; if not, they may still fit.

        Raises: SearchDeadlineExceeded.
        """
        gone = set(drained)
        left: dict[tuple[str, int], int] = {}
        for each in sorted(needs, key=_largest_amount, reverse=True):
            count = needs[each]
            self._targets[each], targets = tee(self._targets.get(each) or self._emptiest(each))
            for target in islice(targets, _EMPTIEST * (1 + len(gone))):
                if gone.isdisjoint(target.roots):
                    count -= _taken(target, count, left)
                if not count:
                    break
            if count:
                return False
        return True

    def _emptiest(self, needs: Needs) -> Iterator[_Target]:
        """Yield the hosts that the needs fit on; the one that serves them most often is first.

        Raises: SearchDeadlineExceeded.
        """
        root_of = self._snapshot.forest.root

        def ranked(_: Variant, rows: Indices) -> Indices:
            total = needs.total.items()
            times = [self._free_in_tree(name)[rows] // amount for name, amount in total]
            return rows[np.argsort(-np.minimum.reduce(times), kind="stable")]

        for variant in self._scene.variants(needs)[:1]:
            for root, amounts in assignments(self._snapshot, variant, ranked, self._deadline):
                roots = frozenset({root, *(root_of.item(row) for _, row in amounts)})
                taken = [
                    (key, amount, self._free(key[0]).item(key[1]))
                    for key, amount in amounts.items()
                ]
                yield _Target(roots, taken)


def _largest_amount(needs: Needs) -> int:
    return max(amount for each in (needs.unsuffixed, *needs.others) for _, amount in each)


def _taken(target: _Target, most: int, left: dict[tuple[str, int], int]) -> int:
    """Take the amounts of a target as often as they are free, at most ``most`` times."""
    times = most
    for key, amount, free in target.taken:
        times = min(times, left.get(key, free) // amount)
    for key, amount, free in target.taken if times else ():
        left[key] = left.get(key, free) - times * amount
    return times
