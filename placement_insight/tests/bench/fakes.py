"""Fake services for tests of the benchmark: they may time out, refuse or lose claims."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from bench.client import Connection, Response, ignore_response
from bench.harness import PLACEMENT, UPSTREAM, Budget, Harness
from bench.worlds import Kind, LoadedWorld, World

HOSTS = ["1c7d5e0c-8a1e-4f7b-9a52-0d1f2c3b4a59", "2f8e6a1d-9b2f-4c8d-8b63-1e2a3d4c5b6a"]
BUDGET = Budget(seconds=0.02, samples=5, cutoff_seconds=1, restarts=1, rounds=1)
# ends with its last sample, however long a busy machine takes
ALL_SAMPLES = replace(BUDGET, seconds=60)

Override = Callable[[str, str], Response | None]


def loaded_world(**kind):
    """Two hosts; the arguments are those of their Kind."""
    return LoadedWorld(World("two hosts", (Kind("host", 2, **kind),)), {"host": HOSTS})


def harness(placement=None, upstream=None, world=None, budget=BUDGET):
    """Both services over two hosts; the arguments override their responses."""
    world = world or loaded_world()
    services = {PLACEMENT: FakeService(world, placement), UPSTREAM: FakeService(world, upstream)}
    return Harness(services, world, budget)


def response(content, status=200):
    return Response(status, json.dumps(content).encode())


def loses_claims(method, path):
    """Accept a write without storing it."""
    return Response(204, b"") if method in ("PUT", "POST") else None


def refuses_claims(method, path):
    return Response(409, b"") if method in ("PUT", "POST") else None


def times_out(method, path):
    raise TimeoutError


def offers(*providers):
    """Return a candidate on each provider."""
    content = {
        "allocation_requests": [
            {"allocations": {provider: {"resources": {"VCPU": 1}}}} for provider in providers
        ]
    }
    return lambda method, path: response(content) if path.startswith("/allocation_cand") else None


class FakeService:
    """Stores allocations; a response of ``override`` replaces its own."""

    def __init__(self, world, override=None):
        self.loaded_world = world
        self.override = override or (lambda method, path: None)
        self.allocations = {}

    def connect(self, timeout_seconds, on_response=ignore_response):
        return _FakeConnection(self, on_response)

    def start(self, processes=2):
        return 0.5

    def stop(self, *, graceful=True):
        if self.override is times_out:
            self.override = lambda method, path: None

    def workers(self):
        return []

    def respond(self, method, path, body):
        if (replacement := self.override(method, path)) is not None:
            return replacement
        if method == "GET":
            return response({"usages": self.usages(path.split("/")[2] if "prov" in path else "")})
        self.allocations |= {path.rpartition("/")[2]: body} if method == "PUT" else body
        return Response(204, b"")

    def usages(self, provider):
        total = self.loaded_world.used(provider)
        for consumer in self.allocations.values():
            for uuid, amounts in consumer["allocations"].items():
                total += Counter(amounts["resources"] if provider in ("", uuid) else {})
        return total


class _FakeConnection(Connection):
    """A connection to a fake service."""

    def __init__(self, service, on_response):
        super().__init__(0, 0, on_response)
        self._service = service

    def _exchange(self, wire):
        head, _, body = wire.partition(b"\r\n\r\n")
        method, path, _ = head.decode().split("\r\n")[0].split(" ")
        return self._service.respond(method, path, json.loads(body) if body else None)

    def local_port(self):
        return 0
