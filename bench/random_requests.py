"""Random requests to a few providers, for a comparison of two services.

The requests are valid, or nearly: a generation may be old, capacity may be missing. They avoid the
documented differences from openstack-placement: sharing providers, the unsuffixed group beside
suffixed ones, unknown names, and consumers without allocations that are written twice.
"""

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from uuid import UUID

from bench.client import Get, Request, Send

PROVIDERS = [str(UUID(int=number, version=4)) for number in range(8)]
AGGREGATES = [str(UUID(int=100 + number, version=4)) for number in range(3)]
CLASSES = ["VCPU", "MEMORY_MB", "DISK_GB", "CUSTOM_DEVICE"]
TRAITS = ["HW_CPU_X86_AVX", "COMPUTE_NODE", "CUSTOM_RED"]
LATEST = 39
PROJECT, USER = "project", "user"

Read = Callable[[str], Any]
"""Returns the body of a GET of a path, as both services return it."""


class RandomRequests:
    """An endless sequence of requests, determined by a seed and by the responses to reads."""

    def __init__(self, seed: int, read: Read) -> None:
        self._random = random.Random(seed)
        self._read = read
        self._kinds = [
            (self._create, 2),
            (self._update, 3),
            (self._delete, 1),
            (self._inventories, 6),
            (self._traits, 3),
            (self._aggregates, 3),
            (self._claim, 8),
            (self._claims, 5),
            (self._release, 2),
            (self._reshape, 4),
            (self._list, 4),
            (self._part, 6),
            (self._candidates, 8),
        ]

    def __iter__(self) -> Iterator[Request]:
        yield Send("PUT", "/resource_classes/CUSTOM_DEVICE", None, {})
        yield Send("PUT", "/traits/CUSTOM_RED", None, {})
        for number, uuid in enumerate(PROVIDERS):
            yield self._send("POST", "/resource_providers", _provider(number, uuid))
        kinds, weights = zip(*self._kinds, strict=True)
        while True:
            (kind,) = self._random.choices(kinds, weights)
            yield kind()

    # --- providers ------------------------------------------------------------------

    def _create(self) -> Request:
        number = self._random.randrange(len(PROVIDERS))
        body = _provider(number, PROVIDERS[number])
        return self._send("POST", "/resource_providers", body | self._parent(), least=14)

    def _update(self) -> Request:
        number = self._random.randrange(len(PROVIDERS))
        body = {"name": f"{self._random.choice(['host', 'node'])}{number}"}
        return self._send("PUT", _path(PROVIDERS[number]), body | self._parent(), least=14)

    def _parent(self) -> dict[str, str | None]:
        if self._random.random() < 0.2:
            return {}
        return {"parent_provider_uuid": self._random.choice([*PROVIDERS, None])}

    def _delete(self) -> Request:
        return self._send("DELETE", _path(self._provider()))

    def _inventories(self) -> Request:
        uuid = self._provider()
        body = self._at_generation(uuid) | {"inventories": self._some_inventories()}
        return self._send("PUT", f"{_path(uuid)}/inventories", body)

    def _some_inventories(self) -> dict[str, dict[str, Any]]:
        choice = self._random.choice
        return {
            name: {
                "total": choice([1, 4, 8, 100]),
                "reserved": choice([0, 0, 0, 1]),
                "max_unit": choice([100, 100, 2]),
                "step_size": choice([1, 1, 1, 2]),
                "allocation_ratio": choice([1.0, 1.0, 0.5, 1.15, 16.0]),
            }
            for name in self._some(CLASSES)
        }

    def _traits(self) -> Request:
        uuid = self._provider()
        body = self._at_generation(uuid) | {"traits": self._some(TRAITS)}
        return self._send("PUT", f"{_path(uuid)}/traits", body, least=6)

    def _aggregates(self) -> Request:
        uuid = self._provider()
        body = self._at_generation(uuid) | {"aggregates": self._some(AGGREGATES)}
        return self._send("PUT", f"{_path(uuid)}/aggregates", body, least=19)

    # --- allocations ----------------------------------------------------------------

    def _claim(self) -> Request:
        version = self._version(28)
        consumer = self._consumer()
        return self._send(
            "PUT", f"/allocations/{consumer}", self._wanted(consumer, version), version
        )

    def _claims(self) -> Request:
        version = self._version(28)
        consumers = {self._consumer() for _ in range(self._random.randint(1, 5))}
        body = {consumer: self._wanted(consumer, version) for consumer in sorted(consumers)}
        return self._send("POST", "/allocations", body, version)

    def _release(self) -> Request:
        return self._send("DELETE", f"/allocations/{self._consumer()}")

    def _reshape(self) -> Request:
        version, source, target = self._version(30), self._provider(), self._provider()
        moved = self._random.choice(CLASSES)
        inventories = {uuid: self._current(uuid) for uuid in (source, target)}
        record = inventories[source]["inventories"].pop(moved, {"total": 8})
        inventories[target]["inventories"][moved] = record
        consumers = sorted(self._allocations_of(source))
        claims = {
            consumer: self._moved(consumer, source, target, moved) | _consumer_type(version)
            for consumer in consumers
        }
        body = {"inventories": inventories, "allocations": claims}
        return self._send("POST", "/reshaper", body, version)

    def _moved(self, consumer: str, source: str, target: str, moved: str) -> dict[str, Any]:
        """Return the allocations of a consumer with the amount of one class moved."""
        current = self._read(f"/allocations/{consumer}")
        allocations = {
            uuid: {"resources": dict(held["resources"])}
            for uuid, held in current["allocations"].items()
        }
        amount = allocations[source]["resources"].pop(moved, None)
        if amount is not None:
            allocations.setdefault(target, {"resources": {}})["resources"][moved] = amount
        return {
            "allocations": {uuid: held for uuid, held in allocations.items() if held["resources"]},
            "project_id": PROJECT,
            "user_id": USER,
            "consumer_generation": current["consumer_generation"],
        }

    def _current(self, uuid: str) -> dict[str, Any]:
        content = self._read(f"{_path(uuid)}/inventories")
        return {
            "resource_provider_generation": content.get("resource_provider_generation", 0),
            "inventories": content.get("inventories", {}),
        }

    def _wanted(self, consumer: str, version: int) -> dict[str, Any]:
        current = self._read(f"/allocations/{consumer}")
        claim: dict[str, Any] = {
            "allocations": {
                uuid: {"resources": {self._random.choice(CLASSES): self._random.randint(1, 4)}}
                for uuid in self._some(self._existing(), least=1)
            },
            "project_id": PROJECT,
            "user_id": USER,
            "consumer_generation": current.get("consumer_generation"),
        }
        return claim | _consumer_type(version)

    def _consumer(self) -> str:
        """Return a consumer with allocations, or a new one."""
        consumers = sorted(self._allocations_of(self._provider()))
        if consumers and self._random.random() < 0.5:
            return self._random.choice(consumers)
        return str(UUID(int=self._random.getrandbits(128), version=4))

    def _allocations_of(self, uuid: str) -> Mapping[str, Any]:
        allocations: Mapping[str, Any] = self._read(f"{_path(uuid)}/allocations").get(
            "allocations", {}
        )
        return allocations

    # --- reads ----------------------------------------------------------------------

    def _list(self) -> Request:
        filters = ["", f"?in_tree={self._provider()}", f"?member_of={self._aggregate()}"]
        filters += [f"?resources={self._amounts()}", f"?required={self._random.choice(TRAITS)}"]
        return self._get(f"/resource_providers{self._random.choice(filters)}", least=18)

    def _part(self) -> Request:
        parts = ["", "/inventories", "/usages", "/allocations", "/traits", "/aggregates"]
        return self._get(f"{_path(self._provider())}{self._random.choice(parts)}", least=6)

    def _candidates(self) -> Request:
        suffixes = self._random.choice([[""], ["1"], ["1", "2"]])
        pairs = [pair for suffix in suffixes for pair in self._group(suffix)]
        if len(suffixes) > 1:
            pairs.append(f"group_policy={self._random.choice(['none', 'isolate'])}")
        return self._get(f"/allocation_candidates?{'&'.join(pairs)}", least=32)

    def _group(self, suffix: str) -> Iterator[str]:
        yield f"resources{suffix}={self._amounts()}"
        if self._random.random() < 0.3:
            exclamation = self._random.choice(["", "!"])
            yield f"required{suffix}={exclamation}{self._random.choice(TRAITS)}"
        if self._random.random() < 0.2:
            yield f"member_of{suffix}={self._random.choice(['', '!'])}{self._aggregate()}"

    def _amounts(self) -> str:
        names = self._some(CLASSES, least=1)[:2]
        return ",".join(f"{name}:{self._random.randint(1, 3)}" for name in names)

    # --- parts ----------------------------------------------------------------------

    def _provider(self) -> str:
        return self._random.choice(PROVIDERS)

    def _aggregate(self) -> str:
        return self._random.choice(AGGREGATES)

    def _existing(self) -> list[str]:
        content = self._read("/resource_providers")
        return sorted(provider["uuid"] for provider in content["resource_providers"])

    def _some(self, names: list[str], least: int = 0) -> list[str]:
        return self._random.sample(names, min(len(names), self._random.randint(least, 3)))

    def _at_generation(self, uuid: str) -> dict[str, Any]:
        """Return the current generation, now and then the one before."""
        generation = self._read(_path(uuid)).get("generation", 0)
        outdated = self._random.random() < 0.05
        return {"resource_provider_generation": max(0, generation - outdated)}

    def _version(self, least: int) -> int:
        return self._random.choice([LATEST, self._random.randint(least, LATEST)])

    def _send(
        self, method: str, path: str, body: Any = None, version: int = 0, *, least: int = 0
    ) -> Request:
        return Send(method, path, body, {}, f"1.{version or self._version(least)}")

    def _get(self, path: str, *, least: int) -> Request:
        return Get(path, f"1.{self._version(least)}")


def _path(uuid: str) -> str:
    return f"/resource_providers/{uuid}"


def _consumer_type(version: int) -> dict[str, str]:
    return {"consumer_type": "INSTANCE"} if version >= 38 else {}


def _provider(number: int, uuid: str) -> dict[str, Any]:
    return {"uuid": uuid, "name": f"host{number}"}
