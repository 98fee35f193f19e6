"""Plans for random small clouds: a server keeps a claim on the host where it runs.

``PLAN_WORLDS`` is the number of clouds.
"""

import os
import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain

import pytest

from placement_insight.audit.consumers.model import ListedConsumer
from placement_insight.audit.live_consumers import Comparison
from placement_insight.audit.model import (
    AuditedProviders,
    FailedMigration,
    Hidden,
    Hypervisor,
    ListOfFile,
    ListOfNova,
    Moves,
    NoHost,
    RunsOn,
    Unread,
)
from placement_insight.audit.repair.actions import plan
from placement_insight.audit.repair.consumers import RemoveAllocations, TakeOverAllocations
from placement_insight.hosts import INSTANCE, MIGRATION

WORLDS = int(os.environ.get("PLAN_WORLDS", "500"))
AT = datetime(2026, 11, 22)
OLD = AT - timedelta(hours=5)
CELLS = (("h0", "h1", "h2"), ("h3", "h4", "h5"))
HOSTS = tuple(chain(*CELLS))


@dataclass
class World:
    """A cloud: its providers, the claims, and what nova knows.

    One host may be below another, and the last one may have a name that nova does not use. The
    second cell may be down. ``runs_on`` has the host of each server, ``consumers_of`` a server
    and its migrations.
    """

    rng: random.Random
    names: dict = field(default_factory=dict)
    parents: dict = field(default_factory=dict)
    consumers: dict = field(default_factory=dict)
    runs_on: dict = field(default_factory=dict)
    consumers_of: dict = field(default_factory=dict)
    places: dict = field(default_factory=dict)
    current: dict = field(default_factory=dict)
    servers_of: dict = field(default_factory=dict)

    def __post_init__(self):
        rng = self.rng
        for host in HOSTS:
            self.names |= {host: host, f"{host}-numa": f"{host}-numa"}
            self.parents[f"{host}-numa"] = host
        self.names["storage"] = "storage"
        if rng.random() < 0.1:
            self.parents["h1"] = "h0"
        if rng.random() < 0.1:
            self.names["h5"] = "h5.example.org"
        self.down = CELLS[1] if rng.random() < 0.3 else ()
        for number in range(rng.randint(1, 5)):
            self.add_server(f"s{number}")

    def claim(self, uuid, host, type_, project, at=OLD):
        """Add a claim on a host, on one of its NUMA nodes, or with shared storage."""
        amounts = {"VCPU": self.rng.choice([1, 2])}
        allocations = {self.rng.choice([host, host, f"{host}-numa"]): amounts}
        if self.rng.random() < 0.2:
            allocations["storage"] = {"DISK_GB": 5}
        if old := self.consumers.get(uuid):
            allocations = {**old.allocations, **allocations}
        type_ = self.rng.choice([type_, type_, None])
        self.consumers[uuid] = ListedConsumer(
            uuid, project, "me", type_, 1, OLD, at, allocations, {}
        )

    def add_server(self, uuid):
        """Add a server, its claims, and those of its migrations, each on any host."""
        rng = self.rng
        cell, project = rng.choice(CELLS), rng.choice(["p", "p", "p", "q", None])
        host, *others = rng.sample(cell, len(cell))
        kind = rng.choice(["listed"] * 8 + ["not listed", "moved"])
        claims = [[host], []]
        if kind != "moved":
            claims += [[rng.choice(others)], [host, rng.choice(others)]]
        for each in rng.choice(claims):
            self.claim(uuid, each, INSTANCE, project, AT if kind == "moved" else OLD)
        migrations = [f"m{number}-of-{uuid}" for number in range(rng.choice([0, 1, 1, 2]))]
        for migration in migrations:
            self.claim(migration, rng.choice([host, host, *others]), MIGRATION, project)
            place = rng.choice([None, None, None, FailedMigration(), NoHost()])
            if host not in self.down:
                self.servers_of[migration] = uuid
                self.places |= {migration: place} if place else {}
        is_moving = NoHost() in [self.places.get(each) for each in migrations]
        self.runs_on[uuid], self.consumers_of[uuid] = host, [uuid, *migrations]
        self.current[uuid] = Moves(host) if is_moving else RunsOn(host)
        if host in self.down:
            self.current[uuid] = self.places[uuid] = Hidden("its cell is down")
        elif kind == "moved":  # after the list
            self.places[uuid] = RunsOn(rng.choice(others))
        elif kind == "listed":
            self.places[uuid] = self.current[uuid]

    def providers(self):
        return AuditedProviders(self.names, {}, {*HOSTS}).in_trees(self.parents)

    def of_nova(self):
        """Return the list of nova; while a cell is down, it has no hypervisors.

        Two hosts may have each other's names in Placement: nova has the UUIDs.
        """
        down = bool(self.down)
        if not down and self.rng.random() < 0.2:
            self.names |= {"h3": "h4", "h4": "h3"}
        listed = {each: Hypervisor(each) for each in HOSTS}
        return ListOfNova(
            self.places,
            AT,
            frozenset({INSTANCE, MIGRATION}),
            Unread("500") if down else listed,
            servers_of=self.servers_of,
            covers_untyped=True,
            cell_is_down=down,
            answering={
                each.host for each in self.places.values() if isinstance(each, RunsOn | Moves)
            },
            current_places=lambda uuids: {
                each: self.current[each] for each in uuids if each in self.current
            },
            service_of=lambda _hypervisor: None,
        )

    def of_file(self, *, with_hosts):
        """Return a file without the hosts of a cell that is down, where servers have claims."""
        migrations = self.places.keys() - self.current.keys()
        places = {each: NoHost() for each in migrations if self.places[each] == NoHost()}
        for uuid, place in self.current.items():
            is_shown = not isinstance(place, Hidden) or uuid not in self.consumers
            places[uuid] = RunsOn(self.runs_on[uuid]) if is_shown else NoHost()
        if not with_hosts:
            places = dict.fromkeys(places, Hidden("the list has no hosts"))
        types = {INSTANCE, MIGRATION, *self.rng.choice([[], ["unknown"]])}
        return ListOfFile(places, AT, frozenset(types))

    def listed(self, source):
        return self.of_nova() if source == "nova" else self.of_file(with_hosts=source == "file")

    def plan(self, live):
        comparison = Comparison(live, self.providers(), AT, "young")
        comparison.add(self.consumers.values())
        return plan(comparison.of_consumers(with_orphans=True)).actions

    def servers_with_claims(self, allocations):
        """Return the servers for which one of their consumers has a claim on the host."""
        roots = self.providers().roots
        return {
            server
            for server, host in self.runs_on.items()
            if any(
                roots[provider] == host
                for uuid in self.consumers_of[server]
                for provider in allocations.get(uuid, ())
            )
        }


def applied(world, actions):
    """Return the allocations after a plan was applied."""
    allocations = {uuid: dict(each.allocations) for uuid, each in world.consumers.items()}
    for action in actions:
        if isinstance(action, RemoveAllocations):
            for provider in action.providers:
                del allocations[action.consumer][provider]
        else:
            assert isinstance(action, TakeOverAllocations)
            allocations[action.consumer] = allocations.pop(action.migration)
    return allocations


@pytest.mark.parametrize("source", ["nova", "file", "file without hosts"])
def test_no_plan_takes_the_last_claim_of_a_server(source):
    kinds = Counter()
    for seed in range(WORLDS):
        world = World(random.Random(seed))
        actions = world.plan(world.listed(source))
        before = {uuid: each.allocations for uuid, each in world.consumers.items()}
        after = applied(world, actions)
        kept = world.servers_with_claims(after)
        assert world.servers_with_claims(before) <= kept, (seed, actions)
        kinds.update(type(action).__name__ for action in actions)
    assert kinds["RemoveAllocations"] > WORLDS / 100
    if source != "file without hosts":
        assert kinds["TakeOverAllocations"] > WORLDS / 100
