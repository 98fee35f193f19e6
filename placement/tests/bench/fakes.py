"""A service as the benchmark sees one, without a process: it may hang, refuse, or lose claims."""

import json
from collections import Counter
from collections.abc import Callable

from bench.client import Answer, Connection, nobody
from bench.harness import OURS, REFERENCE, Budget, Stage
from bench.worlds import Kind, LoadedWorld, World

HOSTS = ["1c7d5e0c-8a1e-4f7b-9a52-0d1f2c3b4a59", "2f8e6a1d-9b2f-4c8d-8b63-1e2a3d4c5b6a"]
BUDGET = Budget(seconds=0.02, samples=5, cutoff_seconds=1, restarts=1, turns=1)

Act = Callable[[str, str], Answer | None]


def place(**kind):
    """Two hosts; what is said of their kind, such as what is used on each."""
    return LoadedWorld(World("two hosts", (Kind("host", 2, **kind),)), {"host": HOSTS})


def stage(ours=None, reference=None, at=None):
    """Both services over two hosts; each stands aside for what it is given to do instead."""
    where = at or place()
    services = {OURS: Pretended(where, ours), REFERENCE: Pretended(where, reference)}
    return Stage(services, where, BUDGET)


def answer(content, status=200):
    return Answer(status, json.dumps(content).encode())


def loses_claims(method, path):
    """Accept a write and forget it."""
    return Answer(204, b"") if method in ("PUT", "POST") else None


def refuses_claims(method, path):
    return Answer(409, b"") if method in ("PUT", "POST") else None


def hangs(method, path):
    raise TimeoutError


def offers(*providers):
    """Answer with a candidate on each."""
    content = {
        "allocation_requests": [
            {"allocations": {provider: {"resources": {"VCPU": 1}}}} for provider in providers
        ]
    }
    return lambda method, path: answer(content) if path.startswith("/allocation_cand") else None


class Pretended:
    """It keeps allocations; what ``act`` answers instead counts."""

    def __init__(self, where, act=None):
        self.place = where
        self.act = act or (lambda method, path: None)
        self.held = {}

    def connect(self, timeout_seconds, told=nobody):
        return _Line(self, told)

    def start(self, processes=2):
        return 0.5

    def stop(self, *, kindly=True):
        self.act = (lambda method, path: None) if self.act is hangs else self.act

    def workers(self):
        return []

    def answer(self, method, path, body):
        if (instead := self.act(method, path)) is not None:
            return instead
        if method == "GET":
            return answer({"usages": self.usages(path.split("/")[2] if "prov" in path else "")})
        self.held |= {path.rpartition("/")[2]: body} if method == "PUT" else body
        return Answer(204, b"")

    def usages(self, provider):
        total = self.place.used(provider)
        for claimed in self.held.values():
            for uuid, taken in claimed["allocations"].items():
                total += Counter(taken["resources"] if provider in ("", uuid) else {})
        return total


class _Line(Connection):
    """A connection on which nothing is sent."""

    def __init__(self, service, told):
        super().__init__(0, 0, told)
        self._service = service

    def _exchange(self, wire):
        head, _, body = wire.partition(b"\r\n\r\n")
        method, path, _ = head.decode().split("\r\n")[0].split(" ")
        return self._service.answer(method, path, json.loads(body) if body else None)

    def local_port(self):
        return 0
