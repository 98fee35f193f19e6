"""Ranges of microversions, and the values that apply in each part of a range."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from placement.microversion import MAX_VERSION, MIN_VERSION, Version, Versioned
from placement.schemas.base import Schema

ValueT = TypeVar("ValueT")
Windows = Sequence[tuple[tuple[int, int], ValueT]]


class VersionRange(NamedTuple):
    """All microversions from ``first`` to ``last``, both included."""

    first: Version = MIN_VERSION
    last: Version = MAX_VERSION

    def intersect(self, other: "VersionRange") -> "VersionRange | None":
        """Return the microversions in both ranges, None if there are none.

        >>> VersionRange(Version(1, 2), Version(1, 6)).intersect(VersionRange(Version(1, 7)))
        """
        common = VersionRange(max(self.first, other.first), min(self.last, other.last))
        return common if common.first <= common.last else None

    def annotation(self, whole: "VersionRange") -> dict[str, Any]:
        """Return the ``x-openstack`` annotation of this part of a range; none for the whole."""
        if self == whole:
            return {}
        return {"x-openstack": {"min-ver": str(self.first), "max-ver": str(self.last)}}


def supported_versions(handler: object) -> VersionRange:
    """Return the microversions that a handler serves: all unless a decorator limits them."""
    while not isinstance(handler, Versioned):
        handler = getattr(handler, "__wrapped__", None)
        if handler is None:
            return VersionRange()
    return VersionRange(handler.windows[0].first, handler.windows[-1].last)


def values_in_range(
    windows: Windows[ValueT], whole: VersionRange
) -> Iterator[tuple[VersionRange, ValueT]]:
    """Yield the value for each part of the range; a window ends where the next one begins."""
    ends = [Version(1, minor - 1) for (_, minor), _ in windows[1:]]
    for (since, value), last in zip(windows, [*ends, MAX_VERSION], strict=False):
        part = VersionRange(Version(*since), last).intersect(whole)
        if part:
            yield part, value


def by_version(
    schemas: Iterable[tuple[VersionRange, Schema]], whole: VersionRange
) -> dict[str, Any]:
    """Return one schema for several, in OpenStack's notation for changes with the microversion."""
    alternatives = [{**schema, **part.annotation(whole)} for part, schema in _merged(schemas)]
    if len(alternatives) == 1:
        return alternatives[0]
    return {"oneOf": alternatives, "x-openstack": {"discriminator": "microversion"}}


def _merged(
    schemas: Iterable[tuple[VersionRange, Schema]],
) -> list[tuple[VersionRange, Schema]]:
    """Return the schemas with equal neighbors merged into one."""
    merged: list[tuple[VersionRange, Schema]] = []
    for part, schema in schemas:
        if merged and merged[-1][1] == schema:
            merged[-1] = (VersionRange(merged[-1][0].first, part.last), schema)
        else:
            merged.append((part, schema))
    return merged
