"""A stress client: it sends random requests and checks the state of its own resources."""

import http.client
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import UUID

from placement.tests.functional.stress.api import Client, Response
from placement.tests.functional.stress.history import Amounts, History

VCPU = 20  # of each host, always; the other classes grow
NAMES = [f"CUSTOM_STRESS_{number}" for number in range(4)]
STALE = "placement.concurrent_update"
ATTEMPTS_USED_UP = "Another thread concurrently updated the data"
LONGEST_OUTAGE_SECONDS = 100


def _nothing() -> None:
    """Wait for nothing: no fault leaves a transaction behind."""


class NoResponse(Exception):  # noqa: N818
    """There is no response, so it is unknown whether the request was carried out."""


@dataclass
class SharedState:
    """The state that all clients share."""

    hosts: list[str]
    shared_consumers: list[str]
    history: History = field(default_factory=History)
    survives_outages: bool = False
    attempts_are_used_up: bool = False
    workers_are_killed: bool = False
    wait_for_abandoned: Callable[[], None] = _nothing


@dataclass
class ConsumerState:
    """The allocations and the generation of a consumer."""

    resources: Amounts
    generation: int


class StressClient:
    """A client with consumers and providers of its own, which no other client writes."""

    def __init__(self, shared: SharedState, ports: list[int], seed: int) -> None:
        self.shared, self.history = shared, shared.history
        self.random = random.Random(seed)
        self.client = Client(ports, seed)
        self.consumers: dict[str, ConsumerState] = {}
        self.children: dict[str, str] = {}
        self.seen: dict[str, int] = {}
        self.last_claimed = time.monotonic()
        self.last_refused = 0.0

    def run(self, until: Callable[[], bool], pause_seconds: float) -> None:
        """Send requests until ``until()`` holds."""
        actions = [action for action, weight in WEIGHTS.items() for _ in range(weight)]
        while not until():
            time.sleep(pause_seconds)
            action = self.random.choice(actions)
            try:
                action(self)
            except NoResponse:
                continue
            except Exception as error:
                self.history.record_violation(f"{action.__name__}: {error!r}")
                raise

    # --- requests -------------------------------------------------------------------

    def send(self, method: str, path: str, body: object = None) -> Response:
        """Return the response.  Raises: NoResponse if a fault may be the reason."""
        started_at = time.monotonic()
        try:
            response = self.client.send(method, path, body)
        except (OSError, http.client.HTTPException) as error:
            self.history.record_response("broken")
            if not self.shared.workers_are_killed:
                self.history.record_violation(f"{method} {path}: {error!r}")
            time.sleep(0.05)
            raise NoResponse from error
        self.history.record_response(f"{method} {response.status}", time.monotonic() - started_at)
        if response.status >= 500:
            self._unavailable(method, path, response)
        return response

    def _unavailable(self, method: str, path: str, response: Response) -> None:
        is_announced = response.status == 503 and response.retry_after
        if not (self.shared.survives_outages and is_announced):
            self.history.record_violation(f"{method} {path}: {response}")
        self.last_refused = time.monotonic()
        time.sleep(0.05)
        raise NoResponse

    def read_until_available(self, method: str, path: str) -> Response:
        """Repeat a read until there is a response."""
        deadline = time.monotonic() + LONGEST_OUTAGE_SECONDS
        while True:
            try:
                return self.send(method, path)
            except NoResponse:
                assert time.monotonic() < deadline, f"{method} {path} has no response"
                time.sleep(0.1)

    def expect(self, response: Response, *statuses: int) -> Response:
        """Record a violation if the status is another."""
        if response.status not in statuses:
            self.history.record_violation(f"expected {statuses}: {response}")
        return response

    # --- consumers ------------------------------------------------------------------

    def claim(self) -> None:
        """Claim for a new consumer."""
        self.put_allocations(self.new_uuid(), self.some_resources())

    def replace_allocations(self) -> None:
        """Replace the allocations of a consumer."""
        if self.consumers:
            self.put_allocations(self.random.choice(list(self.consumers)), self.some_resources())

    def put_allocations(self, consumer: str, resources: Amounts) -> None:
        body = self.claim_body(consumer, resources)
        self.write({consumer: resources}, "PUT", f"/allocations/{consumer}", body)

    def swap(self) -> None:
        """Write two consumers in one request, like a migration."""
        if not self.consumers:
            return
        first, second = self.random.choice(list(self.consumers)), self.new_uuid()
        requested = {first: self.some_resources(), second: self.consumers[first].resources}
        body = {uuid: self.claim_body(uuid, resources) for uuid, resources in requested.items()}
        self.write(requested, "POST", "/allocations", body)

    def release(self) -> None:
        """Remove the allocations of a consumer."""
        if self.consumers:
            consumer = self.random.choice(list(self.consumers))
            self.write({consumer: {}}, "DELETE", f"/allocations/{consumer}")

    def write(self, requested: dict[str, Amounts], method: str, path: str, body=None) -> bool:
        """Write consumers of this client; return whether the write was accepted."""
        try:
            response = self.send(method, path, body)
        except NoResponse:
            self.resolve(requested)
            return False
        if response.status == 204:
            for consumer, resources in requested.items():
                self.set_state(consumer, resources)
        elif response.status != 409 or (response.code == STALE and not self._gave_up(response)):
            self.history.record_violation(f"{method} {path}: {response}")
        if response.code == STALE or self.random.random() < 0.3:
            for consumer in requested:
                self.verify(consumer)
        return response.status == 204

    def _gave_up(self, response: Response) -> bool:
        """Whether all attempts of the service met other writes: then nothing is stored."""
        text = response.body["errors"][0]["detail"]
        return self.shared.attempts_are_used_up and ATTEMPTS_USED_UP in text

    def set_state(self, consumer: str, resources: Amounts) -> None:
        state = self.consumers.pop(consumer, None)
        if resources:
            self.consumers[consumer] = ConsumerState(
                resources, state.generation + 1 if state else 1
            )
            self.last_claimed = time.monotonic()

    def resolve(self, requested: dict[str, Amounts]) -> None:
        """Check that a write without a response was applied as a whole, or not at all."""
        time.sleep(0.3)  # the server reads the rest of the abandoned transaction
        self.shared.wait_for_abandoned()
        applied = {uuid: self.read(uuid) == resources for uuid, resources in requested.items()}
        before = {
            uuid: self.consumers.get(uuid, ConsumerState({}, 0)).resources for uuid in requested
        }
        for uuid in requested:
            if not applied[uuid] and self.read(uuid) != before[uuid]:
                self.history.record_violation(f"applied in part: {uuid}")
        changed = {uuid for uuid, resources in requested.items() if resources != before[uuid]}
        if len({applied[uuid] for uuid in changed}) > 1:
            self.history.record_violation(f"applied in part: {applied}")
        for uuid in requested:
            self.reload(uuid)

    def reload(self, consumer: str) -> None:
        body = self.read_until_available("GET", f"/allocations/{consumer}").body
        self.consumers.pop(consumer, None)
        if body["allocations"]:
            self.consumers[consumer] = ConsumerState(amounts(body), body["consumer_generation"])

    def read(self, consumer: str) -> Amounts:
        return amounts(self.read_until_available("GET", f"/allocations/{consumer}").body)

    def verify(self, consumer: str) -> None:
        """Compare the stored allocations with the acknowledged ones."""
        response = self.send("GET", f"/allocations/{consumer}")
        state = self.consumers.get(consumer, ConsumerState({}, 0))
        stored = amounts(response.body), response.body.get("consumer_generation", 0)
        if stored != (state.resources, state.generation):
            self.history.record_violation(f"{consumer} has {stored}, acknowledged is {state}")

    def verify_any(self) -> None:
        if self.consumers:
            self.verify(self.random.choice(list(self.consumers)))

    def write_shared_consumer(self) -> None:
        """Write a consumer that other clients write, too, at its current generation."""
        consumer = self.random.choice(self.shared.shared_consumers)
        at = self.send("GET", f"/allocations/{consumer}").body.get("consumer_generation")
        resources = {self.random.choice(self.shared.hosts): {"MEMORY_MB": self.amount()}}
        body = self.claim_body(consumer, resources) | {"consumer_generation": at}
        try:
            response = self.send("PUT", f"/allocations/{consumer}", body)
        except NoResponse:
            self.history.record_unknown(consumer)
            return
        if self.expect(response, 204, 409).status == 204:
            self.history.record_write(consumer, at or 0, resources)

    def claim_body(self, consumer: str, resources: Amounts) -> dict:
        state = self.consumers.get(consumer)
        return {
            "allocations": {uuid: {"resources": amounts} for uuid, amounts in resources.items()},
            "project_id": f"project-{self.random.randrange(20)}",
            "user_id": f"user-{self.random.randrange(20)}",
            "consumer_generation": state and state.generation,
            "consumer_type": self.random.choice(["INSTANCE", "MIGRATION"]),
        }

    def some_resources(self) -> Amounts:
        hosts = self.random.sample(self.shared.hosts, self.random.choice([1, 1, 1, 2, 3]))
        return {
            host: {"VCPU": self.random.randint(1, 4), "MEMORY_MB": self.amount()} for host in hosts
        }

    def amount(self) -> int:
        return self.random.randint(1, 50)

    def new_uuid(self) -> str:
        return str(UUID(int=self.random.getrandbits(128), version=4))

    # --- providers ------------------------------------------------------------------

    def replace_inventory(self) -> None:
        """Change an inventory that other clients change and claim from."""
        host = self.random.choice(self.shared.hosts)
        path = f"/resource_providers/{host}/inventories"
        current = self.send("GET", path).body
        disk = current["inventories"]["DISK_GB"]["total"] + 1
        body = {
            "resource_provider_generation": current["resource_provider_generation"],
            "inventories": current["inventories"] | {"DISK_GB": {"total": disk}},
        }
        self.write_at_generation(host, path, body)

    def replace_traits(self) -> None:
        host = self.random.choice(self.shared.hosts)
        path = f"/resource_providers/{host}/traits"
        at = self.send("GET", path).body["resource_provider_generation"]
        requested = self.random.sample(["HW_CPU_X86_AVX", "HW_CPU_X86_AVX2", *NAMES], 2)
        body = {"resource_provider_generation": at, "traits": requested}
        self.expect(self.send("PUT", path, body), 200, 400, 409)

    def replace_aggregates(self) -> None:
        host = self.random.choice(self.shared.hosts)
        path = f"/resource_providers/{host}/aggregates"
        at = self.send("GET", path).body["resource_provider_generation"]
        requested = [f"00000000-0000-4000-8000-{self.random.randrange(50):012}" for _ in range(3)]
        body = {"resource_provider_generation": at, "aggregates": list(dict.fromkeys(requested))}
        self.write_at_generation(host, path, body)

    def write_at_generation(self, host: str, path: str, body: dict) -> None:
        """Write at a generation of a provider; one write per generation is accepted."""
        response = self.expect(self.send("PUT", path, body), 200, 409)
        if response.status == 200:
            at = body["resource_provider_generation"]
            self.history.record_write(host, at, None)
            if response.body["resource_provider_generation"] != at + 1:
                self.history.record_violation(f"{host} was at {at}, and is now at {response.body}")

    def add_child(self) -> None:
        """Add a child to a host."""
        if len(self.children) > 3:
            return
        parent, child = self.random.choice(self.shared.hosts), self.new_uuid()
        body = {"uuid": child, "name": child, "parent_provider_uuid": parent}
        try:
            self.expect(self.send("POST", "/resource_providers", body), 200)
        except NoResponse:
            self.history.record_unknown(child)
            return
        self.children[child] = parent

    def move_child(self) -> None:
        """Move a child below another host, or make it a root."""
        if not self.children:
            return
        child = self.random.choice(list(self.children))
        parent = self.random.choice([*self.shared.hosts, None])
        body = {"name": child, "parent_provider_uuid": parent}
        try:
            provider = self.expect(
                self.send("PUT", f"/resource_providers/{child}", body), 200
            ).body
        except NoResponse:
            self.history.record_unknown(child)
            del self.children[child]
            return
        if provider.get("root_provider_uuid") != (parent or child):
            self.history.record_violation(f"{child} was moved to {parent}, and is at {provider}")
        self.children[child] = parent

    def remove_child(self) -> None:
        """Remove a child."""
        if not self.children:
            return
        child, _parent = self.children.popitem()
        try:
            self.expect(self.send("DELETE", f"/resource_providers/{child}"), 204)
        except NoResponse:
            self.history.record_unknown(child)

    def replace_child_inventory(self) -> None:
        """Write an inventory of classes that other clients remove."""
        if not self.children:
            return
        child = self.random.choice(list(self.children))
        path = f"/resource_providers/{child}/inventories"
        at = self.send("GET", path).body["resource_provider_generation"]
        requested = {name: {"total": 5} for name in self.random.sample([*NAMES, "VGPU"], 2)}
        body = {"resource_provider_generation": at, "inventories": requested}
        response = self.expect(self.send("PUT", path, body), 200, 400)
        if response.status == 200:
            current = self.send("GET", path).body
            if current["inventories"].keys() != requested.keys():
                self.history.record_violation(
                    f"{child} has {current}, acknowledged is {requested}"
                )

    def reshape(self) -> None:
        """Move allocations and inventory from a provider to its child."""
        parent, child, consumer = (self.new_uuid() for _ in range(3))
        for uuid, above in ((parent, None), (child, parent)):
            body = {"uuid": uuid, "name": uuid, "parent_provider_uuid": above}
            self.expect(self.send("POST", "/resource_providers", body), 200)
        inventory = {"VGPU": {"total": 4}}
        body = {"resource_provider_generation": 0, "inventories": inventory}
        self.expect(self.send("PUT", f"/resource_providers/{parent}/inventories", body), 200)
        self.put_allocations(consumer, {parent: {"VGPU": 2}})
        if consumer not in self.consumers:
            return
        requested = {child: {"VGPU": 2}}
        reshaped = {
            "inventories": {
                parent: {"resource_provider_generation": 2, "inventories": {}},
                child: {"resource_provider_generation": 0, "inventories": inventory},
            },
            "allocations": {consumer: self.claim_body(consumer, requested)},
        }
        if self.write({consumer: requested}, "POST", "/reshaper", reshaped):
            self.verify(consumer)

    # --- traits and classes ----------------------------------------------------------------------

    def create_or_remove_names(self) -> None:
        """Create or remove a trait and a class that other clients use."""
        name = self.random.choice(NAMES)
        for noun in ("traits", "resource_classes"):
            if self.random.random() < 0.5:
                self.expect(self.send("PUT", f"/{noun}/{name}"), 201, 204)
            else:
                self.expect(self.send("DELETE", f"/{noun}/{name}"), 204, 404, 409)

    # --- reads ----------------------------------------------------------------------

    def verify_usages(self) -> None:
        """Check that no host exceeds its capacity, and that its generation increases."""
        host = self.random.choice(self.shared.hosts)
        usages = self.send("GET", f"/resource_providers/{host}/usages").body
        if usages["usages"]["VCPU"] > VCPU:
            self.history.record_violation(f"{host} exceeds its capacity: {usages}")
        at = usages["resource_provider_generation"]
        if at < self.seen.get(host, 0):
            self.history.record_violation(
                f"{host} decreased its generation from {self.seen[host]} to {at}"
            )
        self.seen[host] = at

    def verify_candidates(self) -> None:
        """Check that no summary of candidates exceeds its capacity."""
        response = self.send("GET", "/allocation_candidates?resources=VCPU:2,MEMORY_MB:50&limit=3")
        for host, summary in self.expect(response, 200).body["provider_summaries"].items():
            amounts_ = summary["resources"].get("VCPU")
            if amounts_ and amounts_["used"] > amounts_["capacity"]:
                self.history.record_violation(f"{host} exceeds its capacity: {summary}")


def amounts(body: dict) -> Amounts:
    """Return the allocations of a consumer by provider."""
    return {uuid: own["resources"] for uuid, own in body["allocations"].items()}


WEIGHTS: dict[Callable[[StressClient], None], int] = {
    StressClient.claim: 6,
    StressClient.replace_allocations: 4,
    StressClient.swap: 3,
    StressClient.release: 6,
    StressClient.write_shared_consumer: 4,
    StressClient.replace_inventory: 2,
    StressClient.replace_traits: 2,
    StressClient.replace_aggregates: 2,
    StressClient.add_child: 2,
    StressClient.move_child: 2,
    StressClient.remove_child: 1,
    StressClient.replace_child_inventory: 1,
    StressClient.reshape: 1,
    StressClient.create_or_remove_names: 2,
    StressClient.verify_any: 4,
    StressClient.verify_usages: 4,
    StressClient.verify_candidates: 2,
}
