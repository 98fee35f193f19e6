"""The service beside a model of it: after any sequence of operations both are in the same state.

After each step the providers of the engine's snapshot, which is advanced step by step, and the
consumers in the database are compared with the model.
"""

import os
import tempfile
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from placement import exception
from placement.core.model import (
    ConsumerClaim,
    CreateInventory,
    Inventory,
    ReplaceInventories,
    UpdateInventory,
    UpdateProvider,
)
from placement.db.schema import migration, seed
from placement.db.settings import DatabaseSettings
from placement.db.store import Store
from placement.engine.engine import Engine
from placement.objects import aggregate, allocation, inventory, provider, reshaper, trait
from placement.tests.property.model import Claim, Model
from placement.tests.support.factories import assert_sound
from placement.tests.support.snapshots import by_id, contents

# a long run: PROPERTY_EXAMPLES=2000
EXAMPLES = int(os.environ.get("PROPERTY_EXAMPLES", "24")) // 2
STEPS = 30

HOSTS = [f"00000000-0000-4000-8000-00000000000{digit}" for digit in range(5)]
CONSUMERS = [f"11111111-0000-4000-8000-00000000000{digit}" for digit in range(4)]
AGGREGATES = [f"22222222-0000-4000-8000-00000000000{digit}" for digit in range(3)]
TRAITS = ["HW_CPU_X86_AVX", "HW_CPU_X86_AVX2"]
CLASSES = ["VCPU", "DISK_GB", "VGPU"]

hosts = st.sampled_from(HOSTS)
consumers = st.sampled_from(CONSUMERS)
late = st.sampled_from([0] * 8 + [-1, 1])  # how far the generation named is from the right one
classes = st.sampled_from(CLASSES)
an_inventory = st.builds(
    Inventory,
    total=st.integers(1, 12),
    reserved=st.integers(0, 1),
    min_unit=st.sampled_from([1, 1, 2]),
    max_unit=st.sampled_from([12, 3]),
    step_size=st.sampled_from([1, 1, 2]),
    allocation_ratio=st.sampled_from([1.0, 2.0, 0.5]),
)
inventories = st.dictionaries(classes, an_inventory)
resources = st.dictionaries(
    hosts,
    st.dictionaries(classes, st.integers(1, 6), min_size=1, max_size=2),
    max_size=2,
)


def store_at(file: Path) -> Store:
    return Store(DatabaseSettings(connection=f"sqlite:///{file}", sqlite_synchronous=False))


@cache
def new_database() -> bytes:
    """Return the file of a database that is ready for use."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "placement.sqlite"
        store = store_at(file)
        migration.upgrade(store)
        seed.sync(store)
        store.dispose()
        return file.read_bytes()


class Comparison(RuleBasedStateMachine):
    """Runs the same operations on the service and on the model."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        file = Path(self.folder.name) / "placement.sqlite"
        file.write_bytes(new_database())
        self.store = store_at(file)
        self.engine, self.model = Engine(self.store), Model()

    def teardown(self) -> None:
        assert_sound(self.store)
        self.store.dispose()
        self.folder.cleanup()

    def both(self, expected: str | None, command, *arguments, **options) -> None:
        """Run a command; the service must accept or refuse it like the model."""
        try:
            command(self.store, *arguments, **options)
            refusal = None
        except exception.PlacementException as error:
            refusal = type(error).__name__
        assert refusal == expected

    def at(self, uuid: str, off_by: int) -> int:
        host = self.model.hosts.get(uuid)
        return (host.generation if host else 0) + off_by

    @initialize()
    def some_hosts(self):
        """Begin with inventories; otherwise most steps would be refused."""
        parents = dict.fromkeys(HOSTS[:3]) | {HOSTS[3]: HOSTS[0]}
        for uuid, parent in parents.items():
            self.both(self.model.create(uuid, parent), provider.create, uuid, uuid, parent)
            new_inventories = dict.fromkeys(CLASSES[:2], Inventory(total=8))
            command = ReplaceInventories(uuid, 0, new_inventories)
            self.both(
                self.model.set_inventories(uuid, 0, new_inventories), inventory.replace, command
            )

    # --- providers ------------------------------------------------------------------

    @rule(uuid=hosts, parent=st.none() | hosts)
    def create(self, uuid, parent):
        if uuid not in self.model.hosts and uuid != parent:
            self.both(self.model.create(uuid, parent), provider.create, uuid, uuid, parent)

    @rule(uuid=hosts, parent=st.none() | hosts)
    def move(self, uuid, parent):
        self.move_to(uuid, parent)

    @rule(uuid=hosts)
    def remove(self, uuid):
        self.both(self.model.remove(uuid), provider.delete, uuid)

    @rule(one=hosts, other=hosts)
    def recreate(self, one, other):
        """Recreate two providers in the other order, between two refreshes of the engine."""
        if one == other or not {one, other} <= self.model.hosts.keys():
            return
        for uuid in (one, other):
            self.both(self.model.remove(uuid), provider.delete, uuid)
        for uuid in (other, one):
            if uuid not in self.model.hosts:
                self.both(self.model.create(uuid, None), provider.create, uuid, uuid, None)

    @rule(uuid=hosts, other=st.none() | hosts)
    def recreate_parent(self, uuid, other):
        """Recreate a provider between two refreshes: its children leave it and return.

        Another provider may get its id before, on a database that reuses ids.
        """
        if uuid not in self.model.hosts:
            return
        children = [name for name, host in self.model.hosts.items() if host.parent == uuid]
        for child in children:
            self.move_to(child, None)
        self.both(self.model.remove(uuid), provider.delete, uuid)
        for name in (other, uuid):
            if name is not None and name not in self.model.hosts:
                self.both(self.model.create(name, None), provider.create, name, name, None)
        for child in children:
            self.move_to(child, uuid)

    def move_to(self, uuid, parent):
        expected = self.model.move(uuid, parent)
        self.both(expected, provider.update, UpdateProvider(uuid, uuid, parent))

    @rule(uuid=hosts, off_by=late, new_inventories=inventories)
    def set_inventories(self, uuid, off_by, new_inventories):
        at = self.at(uuid, off_by)
        command = ReplaceInventories(uuid, at, new_inventories)
        self.both(
            self.model.set_inventories(uuid, at, new_inventories), inventory.replace, command
        )

    @rule(uuid=hosts, resource_class=classes)
    def delete_inventory(self, uuid, resource_class):
        expected = self.model.delete_inventory(uuid, resource_class)
        self.both(expected, inventory.delete, uuid, resource_class)

    @rule(uuid=hosts)
    def delete_inventories(self, uuid):
        self.both(self.model.delete_inventories(uuid), inventory.delete_all, uuid)

    @rule(uuid=hosts, resource_class=classes, new_inventory=an_inventory)
    def add(self, uuid, resource_class, new_inventory):
        expected = self.model.add(uuid, resource_class, new_inventory)
        command = CreateInventory(uuid, resource_class, new_inventory)
        self.both(expected, inventory.create, command)

    @rule(uuid=hosts, off_by=late, resource_class=classes, new_inventory=an_inventory)
    def change(self, uuid, off_by, resource_class, new_inventory):
        at = self.at(uuid, off_by)
        expected = self.model.change(uuid, at, resource_class, new_inventory)
        command = UpdateInventory(uuid, at, resource_class, new_inventory)
        self.both(expected, inventory.update, command)

    @rule(uuid=hosts)
    def clear(self, uuid):
        self.both(self.model.clear(uuid), trait.clear, uuid)

    @rule(uuid=hosts, off_by=late, traits=st.frozensets(st.sampled_from(TRAITS)))
    def replace_traits(self, uuid, off_by, traits):
        at = self.at(uuid, off_by)
        self.both(self.model.replace_traits(uuid, at, traits), trait.replace, uuid, at, traits)

    @rule(
        uuid=hosts, off_by=st.none() | late, aggregates=st.frozensets(st.sampled_from(AGGREGATES))
    )
    def associate(self, uuid, off_by, aggregates):
        at = None if off_by is None else self.at(uuid, off_by)
        expected = self.model.associate(uuid, at, aggregates)
        self.both(expected, aggregate.replace, uuid, sorted(aggregates), at)

    # --- consumers ------------------------------------------------------------------

    @rule(consumer=consumers, host=hosts, amount=st.integers(1, 6), off_by=st.none() | late)
    def claim(self, consumer, host, amount, off_by):
        self.put(self.a_claim(consumer, {host: {"VCPU": amount}}, off_by))

    @rule(consumer=consumers, amounts=resources, off_by=st.none() | late)
    def claim_several(self, consumer, amounts, off_by):
        self.put(self.a_claim(consumer, amounts, off_by))

    @rule(one=consumers, other=consumers, amounts=resources, off_by=st.none() | late)
    def swap(self, one, other, amounts, off_by):
        if one != other:
            holder = self.model.holders.get(one)
            taken_over = self.a_claim(other, holder.resources if holder else {}, 0)
            self.put(self.a_claim(one, amounts, off_by), taken_over)

    def put(self, *claims: Claim) -> None:
        self.both(self.model.claim(*claims), allocation.replace, commands_of(claims))

    def a_claim(self, consumer: str, amounts, off_by: int | None) -> Claim:
        """Return a claim with the generation of the consumer, another one, or none."""
        if off_by is None:
            return Claim(consumer, amounts, "any")
        holder = self.model.holders.get(consumer)
        if holder is None:
            return Claim(consumer, amounts, off_by or None)
        return Claim(consumer, amounts, holder.generation + off_by)

    @rule(consumer=consumers)
    def release(self, consumer):
        self.both(self.model.release(consumer), allocation.delete, consumer)

    @precondition(lambda self: len(self.model.hosts) > 1)
    @rule(data=st.data(), with_holders=st.booleans())
    def reshape(self, data, with_holders):
        names = st.sampled_from(sorted(self.model.hosts))
        source, target = data.draw(st.lists(names, min_size=2, max_size=2, unique=True))
        claims = tuple(
            self.a_claim(consumer, moved(holder.resources, source, target), 0)
            for consumer, holder in self.model.holders.items()
            if with_holders and source in holder.resources
        )
        changes = (
            ReplaceInventories(source, self.at(source, 0), {}),
            ReplaceInventories(
                target, self.at(target, 0), dict(self.model.hosts[source].inventories)
            ),
        )
        expected = self.model.reshape(source, target, claims)
        self.both(expected, reshaper.reshape, changes, commands_of(claims))

    # --- comparison -----------------------------------------------------------------

    @invariant()
    def providers_are_the_same(self):
        states = {state.provider.uuid: state for state in by_id(self.engine.current()).values()}
        assert states.keys() == self.model.hosts.keys()
        for uuid, host in self.model.hosts.items():
            state = states[uuid]
            assert state.provider.generation == host.generation
            assert state.provider.parent_uuid == host.parent
            assert state.provider.root_uuid == self.model.line(uuid)[-1]
            assert dict(state.inventories) == host.inventories
            assert state.used == self.model.used(uuid)
            assert (state.traits, state.aggregates) == (host.traits, host.aggregates)

    @invariant()
    def snapshot_is_that_of_a_new_process(self):
        assert contents(self.engine.current()) == contents(Engine(self.store).current())

    @invariant()
    def consumers_are_the_same(self):
        for uuid in CONSUMERS:
            stored, holder = allocation.of_consumer(self.store, uuid), self.model.holders.get(uuid)
            assert (stored.consumer and stored.consumer.generation) == (
                holder and holder.generation
            )
            held = {host: dict(own.resources) for host, own in stored.allocations.items()}
            assert held == (holder.resources if holder else {})


def commands_of(claims: tuple[Claim, ...]) -> tuple[ConsumerClaim, ...]:
    """Return the claims as commands of the service."""
    return tuple(
        ConsumerClaim(
            claim.consumer,
            claim.resources,
            "project",
            "user",
            generation=None if claim.generation == "any" else claim.generation,
            check_generation=claim.generation != "any",
        )
        for claim in claims
    )


def moved(amounts, source: str, target: str):
    """Return the amounts after a move from one provider to another; equal classes are added."""
    result = {uuid: dict(own) for uuid, own in amounts.items() if uuid != source}
    own = result.setdefault(target, {})
    for name, amount in amounts[source].items():
        own[name] = own.get(name, 0) + amount
    return result


class TestComparison(Comparison.TestCase):
    settings = settings(max_examples=EXAMPLES // 2, stateful_step_count=STEPS)


@pytest.mark.long
class TestMoreComparisons(Comparison.TestCase):
    settings = settings(max_examples=EXAMPLES, stateful_step_count=STEPS)
