"""One client of a storm: it does anything at random, and knows what must be there of its own."""

import http.client
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import UUID

from placement.tests.functional.stress.api import Answer, Client
from placement.tests.functional.stress.ledger import Amounts, Ledger

VCPU = 20  # of each host, always; the other classes grow
NAMES = [f"CUSTOM_STORM_{count}" for count in range(4)]
STALE = "placement.concurrent_update"
LONGEST_OUTAGE_SECONDS = 100


class Unanswered(Exception):  # noqa: N818
    """Nobody knows whether the request was carried out."""


@dataclass
class World:
    """What all clients work on."""

    hosts: list[str]
    shared_consumers: list[str]
    ledger: Ledger = field(default_factory=Ledger)
    survives_outages: bool = False
    workers_are_killed: bool = False


@dataclass
class Held:
    """What a consumer holds."""

    resources: Amounts
    generation: int


class Stormer:
    """A client with consumers and providers of its own, which nobody else writes."""

    def __init__(self, world: World, ports: list[int], seed: int) -> None:
        self.world, self.ledger = world, world.ledger
        self.choose = random.Random(seed)
        self.client = Client(ports, seed)
        self.own: dict[str, Held] = {}
        self.children: dict[str, str] = {}
        self.seen: dict[str, int] = {}
        self.last_claimed = time.monotonic()

    def run(self, until: Callable[[], bool]) -> None:
        """Do one thing after the other."""
        actions = [action for action, weight in WEIGHTS.items() for _ in range(weight)]
        while not until():
            action = self.choose.choice(actions)
            try:
                action(self)
            except Unanswered:
                continue
            except Exception as error:
                self.ledger.violation(f"{action.__name__}: {error!r}")
                raise
        self.client.close()

    # --- requests -------------------------------------------------------------------

    def ask(self, method: str, path: str, body: object = None) -> Answer:
        """Return the answer; raises Unanswered where a fault may be the reason."""
        begun = time.monotonic()
        try:
            answer = self.client.send(method, path, body)
        except (OSError, http.client.HTTPException) as error:
            self.ledger.count("broken")
            if not self.world.workers_are_killed:
                self.ledger.violation(f"{method} {path}: {error!r}")
            time.sleep(0.05)
            raise Unanswered from error
        self.ledger.count(f"{method} {answer.status}", time.monotonic() - begun)
        if answer.status >= 500:
            self._unavailable(method, path, answer)
        return answer

    def _unavailable(self, method: str, path: str, answer: Answer) -> None:
        is_told = answer.status == 503 and answer.retry_after
        if not (self.world.survives_outages and is_told):
            self.ledger.violation(f"{method} {path}: {answer}")
        time.sleep(0.05)
        raise Unanswered

    def insist(self, method: str, path: str) -> Answer:
        """Return the answer of a read, however long an outage is."""
        give_up_at = time.monotonic() + LONGEST_OUTAGE_SECONDS
        while True:
            try:
                return self.ask(method, path)
            except Unanswered:
                assert time.monotonic() < give_up_at, f"{method} {path} is never answered"
                time.sleep(0.1)

    def expect(self, answer: Answer, *statuses: int) -> Answer:
        """Note a violation if the answer is another."""
        if answer.status not in statuses:
            self.ledger.violation(f"expected {statuses}: {answer}")
        return answer

    # --- consumers ------------------------------------------------------------------

    def claim(self) -> None:
        """Claim for a new consumer."""
        self.put(self.new_uuid(), self.some_resources())

    def change(self) -> None:
        """Make one consumer hold something else."""
        if self.own:
            self.put(self.choose.choice(list(self.own)), self.some_resources())

    def put(self, consumer: str, resources: Amounts) -> None:
        body = self.claim_body(consumer, resources)
        self.write({consumer: resources}, "PUT", f"/allocations/{consumer}", body)

    def swap(self) -> None:
        """Write two consumers in one request, as a migration does."""
        if not self.own:
            return
        first, second = self.choose.choice(list(self.own)), self.new_uuid()
        wanted = {first: self.some_resources(), second: self.own[first].resources}
        body = {uuid: self.claim_body(uuid, resources) for uuid, resources in wanted.items()}
        self.write(wanted, "POST", "/allocations", body)

    def give_back(self) -> None:
        """Remove all that a consumer holds."""
        if self.own:
            consumer = self.choose.choice(list(self.own))
            self.write({consumer: {}}, "DELETE", f"/allocations/{consumer}")

    def write(self, wanted: dict[str, Amounts], method: str, path: str, body=None) -> bool:
        """Write own consumers, and note what they hold now; return whether it was accepted."""
        try:
            answer = self.ask(method, path, body)
        except Unanswered:
            self.find_out(wanted)
            return False
        if answer.status == 204:
            for consumer, resources in wanted.items():
                self.note(consumer, resources)
        elif answer.status != 409 or answer.code == STALE:
            self.ledger.violation(f"{method} {path}: {answer}")
        if self.choose.random() < 0.3:
            for consumer in wanted:
                self.look_at(consumer)
        return answer.status == 204

    def note(self, consumer: str, resources: Amounts) -> None:
        held = self.own.pop(consumer, None)
        if resources:
            self.own[consumer] = Held(resources, held.generation + 1 if held else 1)
            self.last_claimed = time.monotonic()

    def find_out(self, wanted: dict[str, Amounts]) -> None:
        """See which of a write that was not answered is there: all of it, or nothing."""
        time.sleep(0.3)  # a transaction that nobody waits for any more may still end
        done = {uuid: self.read(uuid) == resources for uuid, resources in wanted.items()}
        before = {uuid: self.own.get(uuid, Held({}, 0)).resources for uuid in wanted}
        for uuid in wanted:
            if not done[uuid] and self.read(uuid) != before[uuid]:
                self.ledger.violation(f"half applied: {uuid}")
        moved = {uuid for uuid, resources in wanted.items() if resources != before[uuid]}
        if len({done[uuid] for uuid in moved}) > 1:
            self.ledger.violation(f"half applied: {done}")
        for uuid in wanted:
            self.take_as_it_is(uuid)

    def take_as_it_is(self, consumer: str) -> None:
        found = self.insist("GET", f"/allocations/{consumer}").body
        self.own.pop(consumer, None)
        if found["allocations"]:
            self.own[consumer] = Held(amounts(found), found["consumer_generation"])

    def read(self, consumer: str) -> Amounts:
        return amounts(self.insist("GET", f"/allocations/{consumer}").body)

    def look_at(self, consumer: str) -> None:
        """Read back, maybe from another process, what was acknowledged."""
        answer = self.ask("GET", f"/allocations/{consumer}")
        held = self.own.get(consumer, Held({}, 0))
        found = answer.body["allocations"], answer.body.get("consumer_generation", 0)
        if (amounts(answer.body), found[1]) != (held.resources, held.generation):
            self.ledger.violation(f"{consumer} holds {found}, acknowledged is {held}")

    def look_at_own(self) -> None:
        if self.own:
            self.look_at(self.choose.choice(list(self.own)))

    def share(self) -> None:
        """Write a consumer that others write too, at the generation it is at."""
        consumer = self.choose.choice(self.world.shared_consumers)
        at = self.ask("GET", f"/allocations/{consumer}").body.get("consumer_generation")
        resources = {self.choose.choice(self.world.hosts): {"MEMORY_MB": self.amount()}}
        body = self.claim_body(consumer, resources) | {"consumer_generation": at}
        try:
            answer = self.ask("PUT", f"/allocations/{consumer}", body)
        except Unanswered:
            self.ledger.doubt(consumer)
            return
        if self.expect(answer, 204, 409).status == 204:
            self.ledger.accept(consumer, at or 0, resources)

    def claim_body(self, consumer: str, resources: Amounts) -> dict:
        held = self.own.get(consumer)
        return {
            "allocations": {uuid: {"resources": own} for uuid, own in resources.items()},
            "project_id": f"project-{self.choose.randrange(20)}",
            "user_id": f"user-{self.choose.randrange(20)}",
            "consumer_generation": held and held.generation,
            "consumer_type": self.choose.choice(["INSTANCE", "MIGRATION"]),
        }

    def some_resources(self) -> Amounts:
        hosts = self.choose.sample(self.world.hosts, self.choose.choice([1, 1, 1, 2, 3]))
        return {
            host: {"VCPU": self.choose.randint(1, 4), "MEMORY_MB": self.amount()} for host in hosts
        }

    def amount(self) -> int:
        return self.choose.randint(1, 50)

    def new_uuid(self) -> str:
        return str(UUID(int=self.choose.getrandbits(128), version=4))

    # --- providers ------------------------------------------------------------------

    def inventory(self) -> None:
        """Change an inventory that others change and claim from."""
        host = self.choose.choice(self.world.hosts)
        path = f"/resource_providers/{host}/inventories"
        found = self.ask("GET", path).body
        disk = found["inventories"]["DISK_GB"]["total"] + 1
        body = {
            "resource_provider_generation": found["resource_provider_generation"],
            "inventories": found["inventories"] | {"DISK_GB": {"total": disk}},
        }
        self.guarded(host, path, body)

    def traits(self) -> None:
        host = self.choose.choice(self.world.hosts)
        path = f"/resource_providers/{host}/traits"
        at = self.ask("GET", path).body["resource_provider_generation"]
        wanted = self.choose.sample(["HW_CPU_X86_AVX", "HW_CPU_X86_AVX2", *NAMES], 2)
        body = {"resource_provider_generation": at, "traits": wanted}
        self.expect(self.ask("PUT", path, body), 200, 400, 409)

    def aggregates(self) -> None:
        host = self.choose.choice(self.world.hosts)
        path = f"/resource_providers/{host}/aggregates"
        at = self.ask("GET", path).body["resource_provider_generation"]
        wanted = [f"00000000-0000-4000-8000-{self.choose.randrange(50):012}" for _ in range(3)]
        body = {"resource_provider_generation": at, "aggregates": list(dict.fromkeys(wanted))}
        self.guarded(host, path, body)

    def guarded(self, host: str, path: str, body: dict) -> None:
        """Write at a generation of a provider: of several at one, one is accepted."""
        answer = self.expect(self.ask("PUT", path, body), 200, 409)
        if answer.status == 200:
            at = body["resource_provider_generation"]
            self.ledger.accept(host, at, None)
            if answer.body["resource_provider_generation"] != at + 1:
                self.ledger.violation(f"{host} was at {at}, and is now at {answer.body}")

    def birth(self) -> None:
        """Add a child to a host."""
        if len(self.children) > 3:
            return
        parent, child = self.choose.choice(self.world.hosts), self.new_uuid()
        body = {"uuid": child, "name": child, "parent_provider_uuid": parent}
        try:
            self.expect(self.ask("POST", "/resource_providers", body), 200)
        except Unanswered:
            self.ledger.doubt(child)
            return
        self.children[child] = parent

    def move(self) -> None:
        """Put a child below another host, or make it a root."""
        if not self.children:
            return
        child = self.choose.choice(list(self.children))
        parent = self.choose.choice([*self.world.hosts, None])
        body = {"name": child, "parent_provider_uuid": parent}
        try:
            found = self.expect(self.ask("PUT", f"/resource_providers/{child}", body), 200).body
        except Unanswered:
            self.ledger.doubt(child)
            del self.children[child]
            return
        if found.get("root_provider_uuid") != (parent or child):
            self.ledger.violation(f"{child} was moved to {parent}, and is at {found}")
        self.children[child] = parent

    def death(self) -> None:
        """Remove a child."""
        if not self.children:
            return
        child, _parent = self.children.popitem()
        try:
            self.expect(self.ask("DELETE", f"/resource_providers/{child}"), 204)
        except Unanswered:
            self.ledger.doubt(child)

    def equip(self) -> None:
        """Give a child an inventory of a class that others remove."""
        if not self.children:
            return
        child = self.choose.choice(list(self.children))
        path = f"/resource_providers/{child}/inventories"
        at = self.ask("GET", path).body["resource_provider_generation"]
        wanted = {name: {"total": 5} for name in self.choose.sample([*NAMES, "VGPU"], 2)}
        body = {"resource_provider_generation": at, "inventories": wanted}
        answer = self.expect(self.ask("PUT", path, body), 200, 400)
        if answer.status == 200:
            found = self.ask("GET", path).body
            if found["inventories"].keys() != wanted.keys():
                self.ledger.violation(f"{child} has {found}, acknowledged is {wanted}")

    def reshape(self) -> None:
        """Move what a consumer holds from a provider to its child, with the inventory."""
        parent, child, consumer = (self.new_uuid() for _ in range(3))
        for uuid, above in ((parent, None), (child, parent)):
            body = {"uuid": uuid, "name": uuid, "parent_provider_uuid": above}
            self.expect(self.ask("POST", "/resource_providers", body), 200)
        inventory = {"VGPU": {"total": 4}}
        body = {"resource_provider_generation": 0, "inventories": inventory}
        self.expect(self.ask("PUT", f"/resource_providers/{parent}/inventories", body), 200)
        self.put(consumer, {parent: {"VGPU": 2}})
        if consumer not in self.own:
            return
        wanted = {child: {"VGPU": 2}}
        reshaped = {
            "inventories": {
                parent: {"resource_provider_generation": 2, "inventories": {}},
                child: {"resource_provider_generation": 0, "inventories": inventory},
            },
            "allocations": {consumer: self.claim_body(consumer, wanted)},
        }
        if self.write({consumer: wanted}, "POST", "/reshaper", reshaped):
            self.look_at(consumer)

    # --- names ----------------------------------------------------------------------

    def name(self) -> None:
        """Make or remove a trait and a class that others put to use."""
        name = self.choose.choice(NAMES)
        for noun in ("traits", "resource_classes"):
            if self.choose.random() < 0.5:
                self.expect(self.ask("PUT", f"/{noun}/{name}"), 201, 204)
            else:
                self.expect(self.ask("DELETE", f"/{noun}/{name}"), 204, 404, 409)

    # --- reads ----------------------------------------------------------------------

    def usages(self) -> None:
        """No host is ever over its capacity, and its generation only grows."""
        host = self.choose.choice(self.world.hosts)
        found = self.ask("GET", f"/resource_providers/{host}/usages").body
        if found["usages"]["VCPU"] > VCPU:
            self.ledger.violation(f"{host} is over its capacity: {found}")
        at = found["resource_provider_generation"]
        if at < self.seen.get(host, 0):
            self.ledger.violation(f"{host} went back from {self.seen[host]} to {at}")
        self.seen[host] = at

    def candidates(self) -> None:
        """Ask what has room, and find in the summaries no more used than there is."""
        found = self.ask("GET", "/allocation_candidates?resources=VCPU:2,MEMORY_MB:50&limit=3")
        for host, summary in self.expect(found, 200).body["provider_summaries"].items():
            amounts_ = summary["resources"].get("VCPU")
            if amounts_ and amounts_["used"] > amounts_["capacity"]:
                self.ledger.violation(f"{host} is over its capacity: {summary}")


def amounts(body: dict) -> Amounts:
    """Return what the allocations of a consumer are, by provider."""
    return {uuid: own["resources"] for uuid, own in body["allocations"].items()}


WEIGHTS: dict[Callable[[Stormer], None], int] = {
    Stormer.claim: 6,
    Stormer.change: 4,
    Stormer.swap: 3,
    Stormer.give_back: 6,
    Stormer.share: 4,
    Stormer.inventory: 2,
    Stormer.traits: 2,
    Stormer.aggregates: 2,
    Stormer.birth: 2,
    Stormer.move: 2,
    Stormer.death: 1,
    Stormer.equip: 1,
    Stormer.reshape: 1,
    Stormer.name: 2,
    Stormer.look_at_own: 4,
    Stormer.usages: 4,
    Stormer.candidates: 2,
}
