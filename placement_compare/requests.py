"""The requests to compare: read from logs, or derived from the providers of a service.

The following log formats are read; a file can contain several formats:

* the request log of openstack-placement and of this service, as text or JSON:
  ``... 127.0.0.1 "GET /placement/usages?project_id=p" status: 200 len: 2 microversion: 1.9``
* uWSGI: ``... GET /placement/traits => generated 99 bytes in 3 msecs (HTTP/1.1 200) ...``
* common and combined log format of Apache and nginx:
  ``... "GET /placement/traits HTTP/1.1" 200 99 ...``

Only the first one contains microversions.

Derived requests read the collections, a sample of the providers with everything below them, their
consumers and projects, and candidates for the classes, traits and aggregates in use.
"""

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from placement_compare.client import Service
from placement_compare.model import Microversion, Read

_REQUEST_LOG = re.compile(
    r'\\?"GET (?P<uri>[^\s"\\]+)\\?" status: \d+ len: \S+ microversion: (?P<version>[\d.]*)'
)
_UWSGI = re.compile(r"\bGET (?P<uri>\S+) => generated \d+ bytes")
_COMMON = re.compile(r'"GET (?P<uri>[^\s"]+) HTTP/[\d.]+" \d{3} ')
_VERSION = re.compile(r"1\.(\d{1,3})")
# The path below the prefix at which the service is mounted.
_ROUTE = re.compile(
    r"/(?:resource_providers|resource_classes|traits|allocations|allocation_candidates|usages)"
    r"(?:[/?].*)?$"
)

# At these microversions the format of candidates changes.
_CANDIDATE_VERSIONS = ((1, 10), (1, 12), (1, 17), (1, 28), (1, 29), (1, 34), (1, 39))
_PER_PROVIDER = ("", "/inventories", "/usages", "/allocations", "/aggregates", "/traits")
_LIMIT = 1000
_MOST_TRAITS = 3


def read_log(lines: Iterable[str], default: Microversion) -> Iterator[Read]:
    """Yield the GET requests of a log, in order, with repetitions.

    Lines that are not requests, other methods, and paths that are not routes of the Placement API
    are skipped. ``default`` is the microversion of requests whose log has none.
    """
    for line in lines:
        match = _REQUEST_LOG.search(line) or _UWSGI.search(line) or _COMMON.search(line)
        route = match and _ROUTE.search(match["uri"])
        if match and route:
            yield Read(route[0], _microversion(match.groupdict().get("version"), default))


def _microversion(text: str | None, default: Microversion) -> Microversion:
    """Return a logged microversion; ``-`` is logged for requests that failed before."""
    match = _VERSION.fullmatch(text or "")
    return (1, int(match[1])) if match else default


@dataclass(frozen=True, slots=True)
class Sampled:
    """A provider of the sample, with the data for derived requests."""

    uuid: str
    name: str
    root: str
    inventories: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    traits: Sequence[str] = ()
    aggregates: Sequence[str] = ()
    consumers: Sequence[str] = ()


def derived_reads(service: Service, newest: Microversion, sample: int, seed: int) -> list[Read]:
    """Return requests derived from at most ``sample`` providers; equal for equal arguments.

    ``newest`` is a microversion of both services. Cost: four requests per provider of the sample,
    and one for a consumer of each provider. Raises: UnusableService.
    """
    listed = service.json(Read("/resource_providers", newest))["resource_providers"]
    listed.sort(key=lambda provider: provider["uuid"])
    chosen = random.Random(seed).sample(listed, min(sample, len(listed)))  # noqa: S311
    providers = [_sampled(service, newest, provider) for provider in chosen]
    reads = [Read(path, newest) for path in _collections(service, newest)]
    reads += [Read(path, newest) for provider in providers for path in _paths(provider)]
    reads += [Read(path, newest) for path in _of_consumers(service, newest, providers)]
    versions = [version for version in _CANDIDATE_VERSIONS if version <= newest]
    reads += _candidates(providers, versions)
    return list(dict.fromkeys(reads))


def _sampled(service: Service, newest: Microversion, provider: Mapping[str, Any]) -> Sampled:
    def read(noun: str) -> Any:
        path = f"/resource_providers/{provider['uuid']}/{noun}"
        return service.json(Read(path, newest))[noun]

    return Sampled(
        provider["uuid"],
        provider["name"],
        provider.get("root_provider_uuid") or provider["uuid"],
        read("inventories"),
        sorted(read("traits")),
        sorted(read("aggregates")),
        sorted(read("allocations")),
    )


def _collections(service: Service, newest: Microversion) -> Iterator[str]:
    yield from ("/", "/resource_providers", "/resource_classes", "/traits")
    yield from ("/traits?associated=true", "/traits?associated=false")
    custom = [name for name in service.json(Read("/traits", newest))["traits"] if "CUSTOM" in name]
    yield from (f"/traits/{name}" for name in sorted(custom)[:10])
    yield "/resource_classes/VCPU"


def _paths(provider: Sampled) -> Iterator[str]:
    uuid = provider.uuid
    yield from (f"/resource_providers/{uuid}{noun}" for noun in _PER_PROVIDER)
    yield from (f"/resource_providers/{uuid}/inventories/{name}" for name in provider.inventories)
    yield f"/resource_providers?uuid={uuid}"
    yield f"/resource_providers?in_tree={uuid}"
    yield from (f"/resource_providers?member_of={uuid}" for uuid in provider.aggregates[:2])
    yield from (f"/resource_providers?required={name}" for name in provider.traits[:_MOST_TRAITS])
    for name, amount in _smallest(provider).items():
        yield f"/resource_providers?resources={name}:{amount}"


def _of_consumers(
    service: Service, newest: Microversion, providers: Sequence[Sampled]
) -> Iterator[str]:
    """Yield reads of one consumer per provider, and of their projects."""
    projects = set()
    for uuid in sorted({provider.consumers[0] for provider in providers if provider.consumers}):
        yield f"/allocations/{uuid}"
        body = service.json(Read(f"/allocations/{uuid}", newest))
        if "project_id" in body:
            projects.add((body["project_id"], body["user_id"]))
    for project, user in sorted(projects):
        yield f"/usages?project_id={project}"
        yield f"/usages?project_id={project}&user_id={user}"


def _candidates(providers: Sequence[Sampled], versions: Sequence[Microversion]) -> Iterator[Read]:
    """Yield requests for candidates, at the newest and, in turn, at one older microversion."""
    queries = dict.fromkeys(
        (since, query) for provider in providers for since, query in _queries(provider)
    )
    for number, (since, query) in enumerate(queries):
        path = f"/allocation_candidates?{query}"
        usable = [version for version in versions if version >= since]
        if usable:
            yield Read(path, usable[-1])
            yield Read(path, usable[number % len(usable)])


def _queries(provider: Sampled) -> Iterator[tuple[Microversion, str]]:
    """Yield queries with the first microversion that has their parameters."""
    amounts = _smallest(provider)
    if not amounts:
        return
    resources = "resources=" + ",".join(f"{name}:{n}" for name, n in amounts.items())
    yield (1, 10), resources
    yield from (((1, 10), f"resources={name}:{n}") for name, n in amounts.items())
    yield from (((1, 10), f"resources={name}:{n}") for name, n in _largest(provider).items())
    yield (1, 16), f"{resources}&limit={_LIMIT}"
    for trait in provider.traits[:_MOST_TRAITS]:
        yield (1, 17), f"{resources}&required={trait}"
        yield (1, 22), f"{resources}&required=!{trait}"
    if len(provider.traits) > 1:
        yield (1, 39), f"{resources}&required=in:{','.join(provider.traits[:_MOST_TRAITS])}"
    for uuid in provider.aggregates[:2]:
        yield (1, 21), f"{resources}&member_of={uuid}"
        yield (1, 32), f"{resources}&member_of=!{uuid}"
    yield (1, 31), f"{resources}&in_tree={provider.root}"
    yield from _granular(amounts)


def _granular(amounts: Mapping[str, int]) -> Iterator[tuple[Microversion, str]]:
    """Yield requests with a suffixed group for one class, and two groups for one class."""
    for name, amount in list(amounts.items())[:2]:
        other_resources = ",".join(f"{other}:{n}" for other, n in amounts.items() if other != name)
        unsuffixed = f"resources={other_resources}&" if other_resources else ""
        yield (1, 25), f"{unsuffixed}resources1={name}:{amount}&limit={_LIMIT}"
        groups = f"resources1={name}:{amount}&resources2={name}:{amount}"
        for group_policy in ("isolate", "none"):
            yield (1, 25), f"{groups}&group_policy={group_policy}&limit={_LIMIT}"


def _smallest(provider: Sampled) -> dict[str, int]:
    return {
        name: max(inventory["min_unit"], inventory["step_size"])
        for name, inventory in sorted(provider.inventories.items())
    }


def _largest(provider: Sampled) -> dict[str, int]:
    """Return half of the capacity of each class: an amount that only some providers have free."""
    amounts = {}
    for name, inventory in sorted(provider.inventories.items()):
        capacity = (inventory["total"] - inventory["reserved"]) * inventory["allocation_ratio"]
        half, step_size = int(capacity / 2), inventory["step_size"]
        if half >= max(step_size, 1):
            amounts[name] = half - half % step_size
    return amounts
