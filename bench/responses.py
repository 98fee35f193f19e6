"""Check a response, and compare the responses of two services."""

from collections.abc import Hashable, Iterable
from typing import Any

from bench.client import Response

# keys whose values differ between services and times
_IGNORED = frozenset({"links"})


class WrongResponse(Exception):  # noqa: N818
    """A response is incorrect; the run continues and fails at its end."""


def count(response: Response) -> int:
    """Return the number of candidates or providers in a response; 1 for a single resource."""
    content = response.json()
    for key in ("allocation_requests", "resource_providers"):
        if key in content:
            return len(content[key])
    return 1


def check(response: Response, expected: int | None, service: str) -> None:
    """Raise WrongResponse unless the status is 200 and the number of results as expected."""
    if response.status != 200:
        raise WrongResponse(f"{service} answered {response.status}: {response.body[:300]!r}")
    content = response.json()
    if expected is not None and count(response) != expected:
        raise WrongResponse(f"{service} returned {count(response)}, not {expected}")
    candidates = [_candidate(one) for one in content.get("allocation_requests", ())]
    if len(set(candidates)) != len(candidates):
        raise WrongResponse(f"{service} returned a candidate twice")


def compare(placement: Response, upstream: Response, *, limited: bool) -> None:
    """Raise WrongResponse if two responses differ; with a limit, only the numbers must agree."""
    if limited:
        if count(placement) != count(upstream):
            raise WrongResponse(
                f"{count(placement)} from placement, {count(upstream)} from openstack-placement"
            )
    elif plain(placement.json()) != plain(upstream.json()):
        raise WrongResponse("the response differs from that of openstack-placement")


def _candidate(one: dict[str, Any]) -> Hashable:
    """The allocations and mappings of a candidate, as a comparable value."""
    return plain(one["allocations"]), plain(one.get("mappings", {}))


def plain(content: Any) -> Hashable:
    """A decoded document as a comparable value, without order and links."""
    if isinstance(content, dict):
        items: Iterable[Any] = content.items()
        return frozenset((key, plain(value)) for key, value in items if key not in _IGNORED)
    if isinstance(content, list):
        return frozenset(map(plain, content))
    value: Hashable = content
    return value
