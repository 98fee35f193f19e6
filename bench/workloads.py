"""Workloads: the operations that clients repeat.

A Workload returns, for a loaded world and a source of random numbers, the operation that is
timed: it sends one request (two in the scheduling loop) and returns the response.
"""

import random
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bench.client import Allocations, Connection, Delete, Get, Request, Response, Send
from bench.worlds import PROJECT, LoadedWorld

Operation = Callable[[Connection], Response]
Workload = Callable[[LoadedWorld, random.Random], Operation]

FLAVOR: Mapping[str, int] = {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 10}
_ALLOCATIONS = b'"allocations"'
# the provider of a candidate in a flat world
_CANDIDATE = re.compile(rb'"allocations":\s*\{\s*"([0-9a-f-]{36})"')


def sending(request: Request) -> Operation:
    """Return the operation that sends a request."""
    return lambda connection: connection.send(request)


def get(path: str, *version: str) -> Workload:
    """GET a path; {kind} is replaced by the UUID of the first provider of a kind."""
    return lambda world, _: sending(Get(world.fill(path), *version))


def claim(kind: str, resources: Mapping[str, int] = FLAVOR) -> Workload:
    """PUT the first allocation of a new consumer on a random provider of the kind."""

    def workload(loaded_world: LoadedWorld, numbers: random.Random) -> Operation:
        providers = loaded_world.providers[kind]

        def operation(connection: Connection) -> Response:
            return connection.send(put({numbers.choice(providers): resources}))

        return operation

    return workload


def claim_and_delete(kind: str) -> Workload:
    """Claim for a new consumer, and delete its allocations."""

    def workload(loaded_world: LoadedWorld, numbers: random.Random) -> Operation:
        providers = loaded_world.providers[kind]

        def operation(connection: Connection) -> Response:
            request = put({numbers.choice(providers): FLAVOR})
            response = connection.send(request)
            if response.status != 204:
                return response
            (consumer,) = request.allocations
            return connection.send(Delete(f"/allocations/{consumer}", {consumer: {}}))

        return operation

    return workload


def schedule(path: str) -> Workload:
    """The loop of a scheduler: GET candidates, then claim one of them."""

    def workload(loaded_world: LoadedWorld, numbers: random.Random) -> Operation:
        request = Get(loaded_world.fill(path))

        def operation(connection: Connection) -> Response:
            response = connection.send(request)
            if response.status != 200:
                return response
            return connection.send(put({_random_candidate(response.body, numbers): FLAVOR}))

        return operation

    return workload


def swap(kind: str) -> Workload:
    """Exchange the hosts of two consumers in one POST, as the end of a migration does."""

    def workload(loaded_world: LoadedWorld, numbers: random.Random) -> Operation:
        hosts = numbers.sample(list(loaded_world.providers[kind]), 2)
        consumers = [str(uuid.uuid4()), str(uuid.uuid4())]
        times = 0

        def operation(connection: Connection) -> Response:
            nonlocal times
            request = _exchange(consumers, hosts if times % 2 else hosts[::-1], times or None)
            times += 1
            return connection.send(request)

        return operation

    return workload


def put(allocations: Allocations) -> Request:
    """Return the PUT of the allocations of a new consumer."""
    consumer = str(uuid.uuid4())
    return Send(
        "PUT",
        f"/allocations/{consumer}",
        _consumer_body(allocations, None),
        {consumer: allocations},
    )


def _post(allocations: Mapping[str, Allocations], generation: int | None = None) -> Request:
    body = {consumer: _consumer_body(each, generation) for consumer, each in allocations.items()}
    return Send("POST", "/allocations", body, allocations)


def _exchange(consumers: Sequence[str], hosts: Sequence[str], generation: int | None) -> Request:
    allocations = {
        consumer: {host: FLAVOR} for consumer, host in zip(consumers, hosts, strict=True)
    }
    return _post(allocations, generation)


def _consumer_body(allocations: Allocations, generation: int | None) -> dict[str, Any]:
    """The body of one consumer since microversion 1.38."""
    return {
        "allocations": {
            provider: {"resources": dict(amounts)} for provider, amounts in allocations.items()
        },
        "project_id": PROJECT,
        "user_id": PROJECT,
        "consumer_generation": generation,
        "consumer_type": "INSTANCE",
    }


def _random_candidate(body: bytes, numbers: random.Random) -> str:
    """The provider of a random candidate, found without decoding a megabyte of JSON."""
    first, last = body.find(_ALLOCATIONS), body.rfind(_ALLOCATIONS)
    match = _CANDIDATE.search(body, numbers.randint(first, last)) if first >= 0 else None
    if match is None:
        raise ValueError("the response has no candidates")
    return match[1].decode()
