"""Processes that write and read for long return what a service returns that starts this moment.

Several processes send random writes of every kind, each to a service of its own on one database.
Now and then all stop. Then each process, and a new service, answer the same requests: statuses,
ETags and bytes must be equal, also their order. The processes have different hash seeds.
"""

import json
import logging
import multiprocessing
import os
import random
import re
import time
import uuid
from contextlib import contextmanager, suppress

import pytest
import webob

from placement.core.model import SHARING_TRAIT
from placement.tests.support.stores import replaced_store
from placement_insight.tests.functional.history.replay import State, oldest_first, state_of

pytestmark = pytest.mark.long

# two rounds of two processes; a long run: STRESS_AGREEMENT_SECONDS=600, on each database
SECONDS = float(os.environ.get("STRESS_AGREEMENT_SECONDS", "0"))
SECONDS_TO_ANSWER = 120
PROCESSES = 3 if SECONDS else 2
FIRST_WRITES, MOST_WRITES = 40, 30

PROVIDERS, CONSUMERS, AGGREGATES, PROJECTS = (
    [str(uuid.UUID(int=(kind << 64) + number, version=4)) for number in range(1, count + 1)]
    for kind, count in ((1, 14), (2, 8), (3, 3), (4, 2))
)
CUSTOM_CLASSES = ["CUSTOM_A", "CUSTOM_B", "CUSTOM_C"]
CLASSES = ["VCPU", "DISK_GB", "VGPU", *CUSTOM_CLASSES]
CUSTOM_TRAITS = ["CUSTOM_T", "CUSTOM_U"]
TRAITS = [SHARING_TRAIT, "HW_CPU_X86_AVX", "HW_CPU_X86_AVX2", *CUSTOM_TRAITS]
# when the process read the last write, and identifiers of requests
DIFFERENT = re.compile(rb'"(at|request_id)": ?"[^"]+"')
HEADERS = {
    "X-Auth-Token": "admin",
    "X-Roles": "admin,service",
    "Accept": "application/json",
    "OpenStack-API-Version": "placement latest",
}
WITH_RENAMED_CLASSES = {"OpenStack-API-Version": "placement 1.6"}

CANDIDATES = [
    "resources=VCPU:1",
    "resources=VCPU:1&limit=3",
    "resources=VCPU:1,DISK_GB:2",
    "resources=VCPU:1,VGPU:1,DISK_GB:1&limit=9",
    "resources=VCPU:1,DISK_GB:1&required=HW_CPU_X86_AVX",
    "resources=VCPU:1&required=in:HW_CPU_X86_AVX,CUSTOM_T&required=!HW_CPU_X86_AVX2",
    f"resources=VCPU:2&member_of=in:{AGGREGATES[0]},{AGGREGATES[1]}",
    f"resources=VCPU:1,DISK_GB:1&member_of=!{AGGREGATES[2]}",
    "resources=DISK_GB:1&root_required=!HW_CPU_X86_AVX2",
    "resources=VCPU:1&resources_D=VGPU:1&group_policy=none",
    "resources1=VCPU:1&resources2=VCPU:1&group_policy=isolate&limit=7",
    "resources1=VCPU:1&resources2=VGPU:1&resources3=VGPU:1&group_policy=isolate",
    "resources_A=VCPU:1&resources_B=VGPU:1&same_subtree=_A,_B&group_policy=none",
    "resources=DISK_GB:1&resources_A=VCPU:1&required_B=CUSTOM_T&same_subtree=_A,_B"
    "&group_policy=none",
    "resources=CUSTOM_A:1,VCPU:1",
]
REQUESTS = [
    "/resource_providers",
    "/resource_providers?resources=VCPU:1",
    f"/resource_providers?required={SHARING_TRAIT}",
    "/resource_providers?required=!CUSTOM_T",
    f"/resource_providers?member_of=in:{','.join(AGGREGATES[:2])}",
    *(f"/resource_providers?in_tree={provider}" for provider in PROVIDERS[:4]),
    "/insight/providers",
    "/insight/providers?resources=VCPU:1&fields=uuid,inventories,traits,aggregates",
    "/insight/capacity?resources=VCPU:1",
    *(
        f"/insight/capacity?resources=VCPU:1,DISK_GB:1&by={by}"
        for by in ("root", "aggregate", "root_trait:HW_")
    ),
    "/insight/capacity?resources=VCPU:1&resources_A=VGPU:1&group_policy=none&by=root",
    "/insight/survival?keep=none",
    "/insight/explanation?resources=VCPU:100,DISK_GB:1",
    "/insight/explanation?resources=VCPU:1&required=HW_CPU_X86_AVX,HW_CPU_X86_AVX2,CUSTOM_T",
    *(f"/allocation_candidates?{query}" for query in CANDIDATES),
    *(f"/usages?project_id={project}" for project in PROJECTS),
    *(f"/resource_providers/{provider}/usages" for provider in PROVIDERS[:5]),
    *(
        f"/resource_providers/{PROVIDERS[0]}{part}"
        for part in ("", "/inventories", "/traits", "/aggregates", "/allocations")
    ),
    *(f"/allocations/{consumer}" for consumer in CONSUMERS[:3]),
    "/resource_classes",
    "/traits",
    "/traits?name=startswith:CUSTOM&associated=true",
]


PLANS = [("/insight/drain", {"in_tree": [provider]}) for provider in PROVIDERS[:3]]


class Service:
    """A service in this process, with connections of its own."""

    def __init__(self, application) -> None:
        self._application = application

    def send(self, method, path, body=None, **headers):
        """Return the response; no request may fail."""
        request = webob.Request.blank(path, method=method, headers={**HEADERS, **headers})
        if body is not None:
            request.content_type, request.body = "application/json", json.dumps(body).encode()
        response = request.get_response(self._application)
        # reading the body ends the request, which has one of few places until then
        assert response.body is not None
        assert response.status_int < 500, (method, path, body, response.text)
        return response

    def get(self, path):
        """Return the content of a response, empty if there is no such resource."""
        response = self.send("GET", path)
        return response.json if response.status_int == 200 else {}

    def answers(self, paths):
        """Return the status, the ETag and the body of each response; plans have a body."""
        responses = [
            self.send("GET", path) if isinstance(path, str) else self.send("POST", *path)
            for path in paths
        ]
        return [(each.status_int, each.etag, DIFFERENT.sub(b"", each.body)) for each in responses]


@contextmanager
def new_service(url):
    """Start a service on the database; its first request loads the snapshot."""
    from placement import db_api, deploy  # noqa: PLC0415  the import takes a second
    from placement.db.store import Store  # noqa: PLC0415
    from placement.tests.plugin import service_options  # noqa: PLC0415

    conf = service_options(url)
    store = Store(db_api.settings(conf))
    with replaced_store(store):
        yield Service(deploy.loadapp(conf))
    store.dispose()


class Writer:
    """Sends random writes of every kind; conflicts and refusals are expected."""

    def __init__(self, service, seed) -> None:
        self._service, self.random = service, random.Random(seed)
        self._operations = [each for each, weight in WEIGHTS.items() for _ in range(weight)]

    def run(self, count):
        """Send some writes, and seldom a read: otherwise many changes are applied at once."""
        for _ in range(count):
            self.random.choice(self._operations)(self)
            if self.random.random() < 0.1:
                self._service.send("GET", self.random.choice(REQUESTS))

    def _any(self, values):
        return self.random.choice(values)

    def _some(self, values, most=3):
        return self.random.sample(values, self.random.randint(0, min(most, len(values))))

    def _send(self, method, path, body=None, **headers):
        return self._service.send(method, path, body, **headers).status_int

    def _existing(self):
        return [
            each["uuid"] for each in self._service.get("/resource_providers")["resource_providers"]
        ]

    def _of(self, provider):
        return self._service.get(f"/resource_providers/{provider}")

    # --- providers ------------------------------------------------------------------

    def create(self, provider=None, parent=None):
        provider = provider or self._any(PROVIDERS)
        parent = parent or self._any([None, *self._existing()])
        body = {"uuid": provider, "name": f"p-{provider}", "parent_provider_uuid": parent}
        if self._send("POST", "/resource_providers", body) == 200:
            self.replace_inventories(provider)
            self.replace_traits(provider)

    def delete(self):
        self._send("DELETE", f"/resource_providers/{self._any(PROVIDERS)}")

    def remove(self):
        """Release what a provider has allocated, and remove it."""
        provider = self._any(PROVIDERS)
        self._empty(provider)
        self._send("DELETE", f"/resource_providers/{provider}")

    def _empty(self, provider):
        allocations = self._service.get(f"/resource_providers/{provider}/allocations")
        for consumer in allocations.get("allocations", {}):
            self._send("DELETE", f"/allocations/{consumer}")

    def move(self, provider=None, parent=None, *, to_root=False):
        provider = provider or self._any(PROVIDERS)
        parent = None if to_root else parent or self._any([None, *PROVIDERS])
        name = self._of(provider).get("name")
        if name:
            body = {"name": name, "parent_provider_uuid": parent}
            self._send("PUT", f"/resource_providers/{provider}", body)

    def rename(self):
        provider = self._any(PROVIDERS)
        body = {
            "name": f"{self._any('pq')}-{provider}",
            "parent_provider_uuid": self._of(provider).get("parent_provider_uuid"),
        }
        self._send("PUT", f"/resource_providers/{provider}", body)

    def recreate(self):
        """Remove a provider and create it with the same UUID; its children leave and return."""
        provider = self._any(PROVIDERS)
        parent = self._of(provider).get("parent_provider_uuid")
        tree = self._service.get(f"/resource_providers?in_tree={provider}")
        children = [
            each["uuid"]
            for each in tree["resource_providers"]
            if each["parent_provider_uuid"] == provider
        ]
        for child in children:
            self.move(child, to_root=True)
        self._empty(provider)
        self._send("DELETE", f"/resource_providers/{provider}")
        if self.random.random() < 0.5:
            self.create()  # on SQLite this one gets the id
        self.create(provider, parent)
        for child in children:
            self.move(child, provider)

    # --- what providers have --------------------------------------------------------

    def _inventory(self):
        return {
            "total": self.random.randint(1, 12),
            "reserved": self.random.randint(0, 1),
            "min_unit": self._any([1, 1, 1, 2]),
            "max_unit": self._any([12, 12, 3]),
            "step_size": self._any([1, 1, 1, 2, 3]),
            "allocation_ratio": self._any([1.0, 1.5, 16.0]),
        }

    def replace_inventories(self, provider=None):
        provider = provider or self._any(PROVIDERS)
        body = {
            "resource_provider_generation": self._of(provider).get("generation", 0),
            "inventories": {name: self._inventory() for name in self._some(CLASSES, 6)},
        }
        self._send("PUT", f"/resource_providers/{provider}/inventories", body)

    def change_inventory(self):
        provider, name = self._any(PROVIDERS), self._any(CLASSES)
        body = {"resource_provider_generation": self._of(provider).get("generation", 0)}
        path = f"/resource_providers/{provider}/inventories"
        match self.random.randrange(3):
            case 0:
                self._send("POST", path, {"resource_class": name, **self._inventory()})
            case 1:
                self._send("PUT", f"{path}/{name}", body | self._inventory())
            case _:
                self._send("DELETE", self._any([path, f"{path}/{name}", f"{path}/{name}"]))

    def replace_traits(self, provider=None):
        provider = provider or self._any(PROVIDERS)
        path = f"/resource_providers/{provider}/traits"
        if self.random.random() < 0.1:
            self._send("DELETE", path)
            return
        body = {
            "resource_provider_generation": self._of(provider).get("generation", 0),
            "traits": self._some(TRAITS),
        }
        self._send("PUT", path, body)

    def replace_aggregates(self):
        provider = self._any(PROVIDERS)
        body = {
            "resource_provider_generation": self._of(provider).get("generation", 0),
            "aggregates": self._some(AGGREGATES),
        }
        self._send("PUT", f"/resource_providers/{provider}/aggregates", body)

    # --- allocations ----------------------------------------------------------------

    def _claim(self, consumer, allocations):
        generation = self._service.get(f"/allocations/{consumer}").get("consumer_generation")
        return {
            "allocations": allocations,
            "project_id": self._any(PROJECTS),
            "user_id": "user",
            "consumer_generation": generation,
            "consumer_type": self._any(["INSTANCE", "MIGRATION"]),
        }

    def _offered(self):
        """Return the allocations of a candidate, none if there is none."""
        query = self._any([each for each in CANDIDATES if "CUSTOM" not in each])
        found = self._service.get(f"/allocation_candidates?{query}")
        candidates = found.get("allocation_requests")
        return self._any(candidates)["allocations"] if candidates else {}

    def _unasked(self):
        """Return allocations that may not fit."""
        return {
            provider: {"resources": {self._any(CLASSES): self.random.randint(1, 4)}}
            for provider in self._some(PROVIDERS, 2)
        }

    def claim(self):
        consumer, allocations = self._any(CONSUMERS), self._any([self._offered, self._unasked])()
        self._send("PUT", f"/allocations/{consumer}", self._claim(consumer, allocations))

    def claim_together(self):
        """Move the allocations of a consumer to another one, and give it others."""
        one, other = self.random.sample(CONSUMERS, 2)
        own = self._service.get(f"/allocations/{one}").get("allocations", {})
        kept = {each: {"resources": amounts["resources"]} for each, amounts in own.items()}
        body = {other: self._claim(other, kept), one: self._claim(one, self._offered())}
        self._send("POST", "/allocations", body)

    def release(self):
        self._send("DELETE", f"/allocations/{self._any(CONSUMERS)}")

    def reshape(self):
        """Move all inventories of a provider, and the allocations there, to another one."""
        source, target = self.random.sample(PROVIDERS, 2)
        path = "/resource_providers/{}/inventories"
        before = {each: self._service.get(path.format(each)) for each in (source, target)}
        if not all(before.values()):
            return
        inventories = {
            target: before[target]
            | {"inventories": before[target]["inventories"] | before[source]["inventories"]},
            source: before[source] | {"inventories": {}},
        }
        there = self._service.get(f"/resource_providers/{source}/allocations")
        body = {
            "inventories": inventories,
            "allocations": {
                each: self._moved(each, source, target) for each in there.get("allocations", {})
            },
        }
        self._send("POST", "/reshaper", body)

    def _moved(self, consumer, source, target):
        own = self._service.get(f"/allocations/{consumer}").get("allocations", {})
        amounts = {each: dict(allocation["resources"]) for each, allocation in own.items()}
        for name, amount in amounts.pop(source, {}).items():
            there = amounts.setdefault(target, {})
            there[name] = there.get(name, 0) + amount
        return self._claim(consumer, {each: {"resources": own} for each, own in amounts.items()})

    # --- names ----------------------------------------------------------------------

    def change_names(self):
        kind, names = self._any([("resource_classes", CUSTOM_CLASSES), ("traits", CUSTOM_TRAITS)])
        self._send(self._any(["PUT", "PUT", "DELETE"]), f"/{kind}/{self._any(names)}")

    def rename_class(self):
        path, body = f"/resource_classes/{self._any(CUSTOM_CLASSES)}", self._any(CUSTOM_CLASSES)
        self._send("PUT", path, {"name": body}, **WITH_RENAMED_CLASSES)


WEIGHTS = {
    Writer.create: 8,
    Writer.delete: 1,
    Writer.remove: 2,
    Writer.move: 4,
    Writer.rename: 1,
    Writer.recreate: 3,
    Writer.replace_inventories: 5,
    Writer.change_inventory: 3,
    Writer.replace_traits: 4,
    Writer.replace_aggregates: 4,
    Writer.claim: 8,
    Writer.claim_together: 2,
    Writer.release: 2,
    Writer.reshape: 2,
    Writer.change_names: 2,
    Writer.rename_class: 1,
}


def serve(connection):
    """Serve each database that the other end of the connection names, until it is closed."""
    from placement_insight.explain import explain  # noqa: PLC0415

    explain.BUDGET_SECONDS = 60  # the machine may be busy for a second
    logging.disable()
    with suppress(EOFError):
        while True:
            write_and_answer(connection, *connection.recv())


def write_and_answer(connection, url, seed):
    """Write, and answer requests, as the other end of the connection says, until it says None."""
    with new_service(url) as service:
        writer = Writer(service, seed)
        while order := connection.recv():
            count, paths = order
            writer.run(count)
            connection.send(service.answers(paths))


@pytest.fixture(scope="module")
def processes():
    """Connections to processes that serve one database after the other."""
    spawn = multiprocessing.get_context("spawn")
    pairs = [spawn.Pipe() for _ in range(PROCESSES)]
    processes = [spawn.Process(target=serve, args=(theirs,), daemon=True) for _, theirs in pairs]
    for process, (_, theirs) in zip(processes, pairs, strict=True):
        process.start()
        theirs.close()
    yield [own for own, _ in pairs]
    for own, _ in pairs:
        own.close()
    for process in processes:
        process.join(60)


@contextmanager
def serving(connections, url, seed):
    """Let the processes serve a database during the block."""
    for number, connection in enumerate(connections):
        connection.send((url, seed + number))
    try:
        yield
    finally:
        for connection in connections:
            connection.send(None)


def answers_of(connections, counts, paths):
    """Return the answers of each process after so many writes; all work at the same time."""
    for connection, count in zip(connections, counts, strict=True):
        connection.send((count, paths))
    assert all(each.poll(SECONDS_TO_ANSWER) for each in connections), "a process does not answer"
    return [connection.recv() for connection in connections]


@pytest.mark.xdist_group("agreement")  # the tests share the processes
@pytest.mark.timeout(SECONDS + 300)
def test_old_processes_answer_like_a_new_one(processes, database_url, store, backend):
    seed = int(os.environ.get("STRESS_SEED", random.getrandbits(20)))
    numbers = random.Random(seed)
    compared = rounds = candidates = 0
    feed = "/insight/providers?changed_since=unknown"
    with serving(processes, database_url, seed):
        end = time.monotonic() + SECONDS
        while rounds < 2 or time.monotonic() < end:
            counts = [
                numbers.randint(0, MOST_WRITES) if rounds else FIRST_WRITES for _ in processes
            ]
            answers_of(processes, counts, [])
            paths = [*REQUESTS, *PLANS, feed, f"{feed}&resources=VCPU:1"]
            old = answers_of(processes, [0] * PROCESSES, paths)
            with new_service(database_url) as service:
                new = service.answers(paths)
                token = service.get("/insight/providers")["token"]
            for number, answers in enumerate(old):
                for path, one, other in zip(paths, answers, new, strict=True):
                    assert one == other, f"seed {seed}, process {number}, round {rounds}: {path}"
            compared += len(paths) * PROCESSES
            candidates += sum(body.count(b'"mappings"') for _, _, body in new)
            rounds += 1
            feed = f"/insight/providers?changed_since={token}"
    records = oldest_first(store)
    assert State().replay(records).values() == state_of(store).values(), f"seed {seed}"
    print(
        f"\nold and new processes on {backend}: {rounds} rounds, {PROCESSES} old processes, "
        f"{compared} responses with {candidates * PROCESSES} candidates compared, none differs; "
        f"{len(records)} changes replayed"
    )
