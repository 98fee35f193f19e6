"""The order in which candidates of several anchors are taken."""

import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import TypeVar

T = TypeVar("T")


def depth_first(streams: Iterable[Iterator[T]]) -> Iterator[T]:
    """Yield all of the first stream, then all of the second, and so on.

    >>> "".join(depth_first([iter("ab"), iter("cd")]))
    'abcd'
    """
    return chain.from_iterable(streams)


def breadth_first(streams: Iterable[Iterator[T]]) -> Iterator[T]:
    """Yield one item of each stream in turn; an exhausted stream is dropped.

    A stream is started only after all streams before it have yielded their
    first item or are exhausted.

    >>> "".join(breadth_first([iter("abc"), iter(""), iter("de")]))
    'adbec'
    """
    remaining: list[Iterator[T]] = []
    for stream in streams:
        for item in islice(stream, 1):
            yield item
            remaining.append(stream)
    while remaining:
        started, remaining = remaining, []
        for stream in started:
            for item in stream:
                yield item
                remaining.append(stream)
                break


def up_to(items: Iterable[T], count: int | None) -> Iterator[T]:
    """Yield the first ``count`` items, all if it is None."""
    return iter(items) if count is None else islice(items, count)


def batches(items: Iterable[T], count: int = 5000) -> Iterator[Sequence[T]]:
    """Yield the items in lists of ``count``; the last may be shorter.

    >>> list(batches("abcde", 2))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    remaining = iter(items)
    while batch := list(islice(remaining, count)):
        yield batch


def sampled(rng: random.Random, count: int, limit: int | None) -> Sequence[int]:
    """Return ``limit`` of the numbers below ``count``, a uniform sample in random order."""
    return rng.sample(range(count), count if limit is None else min(limit, count))
