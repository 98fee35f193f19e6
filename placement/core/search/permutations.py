"""Isolated groups that want the same providers, or quite other ones: plain permutations."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, permutations

from placement.core.search.plan import Plan
from placement.core.search.problem import Assignment, Places

MOST_CLUSTERS = 16
Cluster = tuple[tuple[int, ...], Places]


def clusters_of(plan: Plan, options: tuple[Places, ...]) -> list[Cluster] | None:
    """Return the slots by their options if different slots have the same or quite other ones.

    Slots that are not isolated come last, each for itself. None if options overlap
    in part, or if there are too many clusters to nest one loop for each.
    """
    slots_with: defaultdict[Places, list[int]] = defaultdict(list)
    for slot in plan.isolated:
        slots_with[options[slot]].append(slot)
    if len(set(chain.from_iterable(slots_with))) < sum(map(len, slots_with)):
        return None
    clusters: list[Cluster] = [(tuple(slots), places) for places, slots in slots_with.items()]
    clusters += [((slot,), options[slot]) for slot in plan.unsuffixed]
    return clusters if len(clusters) <= MOST_CLUSTERS else None


def arrangements(clusters: Sequence[Cluster], options: tuple[Places, ...]) -> Iterator[Assignment]:
    """Yield all ways to arrange each cluster's slots on places of their own."""
    if any(len(slots) > len(places) for slots, places in clusters):
        return
    order = [slot for slots, _ in clusters for slot in slots]
    position = [order.index(slot) for slot in range(len(options))]
    for places in _nested_permutations(clusters):
        yield tuple([places[at] for at in position])


def _nested_permutations(clusters: Sequence[Cluster]) -> Iterator[Places]:
    """Yield every permutation of the last cluster, for each of the one before, and so on."""
    if len(clusters) == 1:
        yield from permutations(clusters[0][1], len(clusters[0][0]))
        return
    for before in _nested_permutations(clusters[:-1]):
        for places in permutations(clusters[-1][1], len(clusters[-1][0])):
            yield before + places
