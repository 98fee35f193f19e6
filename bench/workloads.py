"""What one client does again and again.

A Work makes, for a loaded world and a source of random numbers, the step that
is timed: it sends one request (two in a scheduler's loop) and returns the answer.
"""

import random
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bench.client import Answer, Connection, Get, Holding, Request, Send
from bench.worlds import PROJECT, LoadedWorld

Step = Callable[[Connection], Answer]
Work = Callable[[LoadedWorld, random.Random], Step]

FLAVOR: Mapping[str, int] = {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 10}
_TAKEN = b'"allocations"'
# a provider that a candidate of a flat world takes from
_OFFERED = re.compile(rb'"allocations":\s*\{\s*"([0-9a-f-]{36})"')


def get(path: str, *version: str) -> Work:
    """GET a path; {kind} in it becomes the UUID of the first provider of a kind."""

    def work(place: LoadedWorld, _: random.Random) -> Step:
        request = Get(place.fill(path), *version)
        return lambda connection: connection.send(request)

    return work


def claim(kind: str, resources: Mapping[str, int] = FLAVOR) -> Work:
    """PUT the first allocation of a new consumer on any provider of the kind."""

    def work(place: LoadedWorld, numbers: random.Random) -> Step:
        providers = place.providers[kind]

        def step(connection: Connection) -> Answer:
            return connection.send(_put({numbers.choice(providers): resources}))

        return step

    return work


def schedule(path: str) -> Work:
    """A scheduler's loop: GET candidates, then claim one of them."""

    def work(place: LoadedWorld, numbers: random.Random) -> Step:
        question = Get(place.fill(path))

        def step(connection: Connection) -> Answer:
            answer = connection.send(question)
            if answer.status != 200:
                return answer
            return connection.send(_put({_any_offered(answer.body, numbers): FLAVOR}))

        return step

    return work


def swap(kind: str) -> Work:
    """Exchange the hosts of two consumers in one POST, as the end of a migration does."""

    def work(place: LoadedWorld, numbers: random.Random) -> Step:
        hosts = numbers.sample(list(place.providers[kind]), 2)
        consumers = [str(uuid.uuid4()), str(uuid.uuid4())]
        times = 0

        def step(connection: Connection) -> Answer:
            nonlocal times
            request = _exchange(consumers, hosts if times % 2 else hosts[::-1], times or None)
            times += 1
            return connection.send(request)

        return step

    return work


def _put(taken: Holding) -> Request:
    consumer = str(uuid.uuid4())
    return Send("PUT", f"/allocations/{consumer}", _claimed(taken, None), {consumer: taken})


def _exchange(consumers: Sequence[str], hosts: Sequence[str], generation: int | None) -> Request:
    taken = {who: {host: FLAVOR} for who, host in zip(consumers, hosts, strict=True)}
    body = {who: _claimed(holding, generation) for who, holding in taken.items()}
    return Send("POST", "/allocations", body, taken)


def _claimed(taken: Holding, generation: int | None) -> dict[str, Any]:
    """What one consumer is to hold, as it is written at 1.38."""
    return {
        "allocations": {provider: {"resources": dict(what)} for provider, what in taken.items()},
        "project_id": PROJECT,
        "user_id": PROJECT,
        "consumer_generation": generation,
        "consumer_type": "INSTANCE",
    }


def _any_offered(body: bytes, numbers: random.Random) -> str:
    """A provider that is offered, found without decoding a megabyte of JSON."""
    first, last = body.find(_TAKEN), body.rfind(_TAKEN)
    found = _OFFERED.search(body, numbers.randint(first, last)) if first >= 0 else None
    if found is None:
        raise ValueError("no candidate in an answer that should hold some")
    return found[1].decode()
