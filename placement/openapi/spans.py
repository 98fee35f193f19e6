"""Ranges of microversions, and what holds in which of them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from placement.microversion import MAX_VERSION, MIN_VERSION, Version, Versioned
from placement.schemas.base import Schema

HeldT = TypeVar("HeldT")
Windows = Sequence[tuple[tuple[int, int], HeldT]]


class Span(NamedTuple):
    """All microversions from the first to the last."""

    first: Version = MIN_VERSION
    last: Version = MAX_VERSION

    def within(self, other: "Span") -> "Span | None":
        """Return what both have, None if that is nothing."""
        common = Span(max(self.first, other.first), min(self.last, other.last))
        return common if common.first <= common.last else None

    def marked(self, whole: "Span") -> dict[str, Any]:
        """Return the note on what holds in this part of the whole; none is needed on all of it."""
        if self == whole:
            return {}
        return {"x-openstack": {"min-ver": str(self.first), "max-ver": str(self.last)}}


def served(handler: object) -> Span:
    """Return the microversions in which a handler answers: all, if none of its layers chooses."""
    while not isinstance(handler, Versioned):
        handler = getattr(handler, "__wrapped__", None)
        if handler is None:
            return Span()
    return Span(handler.windows[0].first, handler.windows[-1].last)


def held(windows: Windows[HeldT], whole: Span) -> Iterator[tuple[Span, HeldT]]:
    """Yield what holds in each part of the whole; a window ends where the next one begins."""
    ends = [Version(1, minor - 1) for (_, minor), _ in windows[1:]]
    for (since, what), last in zip(windows, [*ends, MAX_VERSION], strict=False):
        part = Span(Version(*since), last).within(whole)
        if part:
            yield part, what


def by_version(schemas: Iterable[tuple[Span, Schema]], whole: Span) -> dict[str, Any]:
    """Return one schema of several, as OpenStack describes what changes with the microversion."""
    forms = [{**schema, **span.marked(whole)} for span, schema in _joined(schemas)]
    if len(forms) == 1:
        return forms[0]
    return {"oneOf": forms, "x-openstack": {"discriminator": "microversion"}}


def _joined(schemas: Iterable[tuple[Span, Schema]]) -> list[tuple[Span, Schema]]:
    """Return the schemas with neighbours made one that do not differ."""
    joined: list[tuple[Span, Schema]] = []
    for part, schema in schemas:
        if joined and joined[-1][1] == schema:
            joined[-1] = (Span(joined[-1][0].first, part.last), schema)
        else:
            joined.append((part, schema))
    return joined
