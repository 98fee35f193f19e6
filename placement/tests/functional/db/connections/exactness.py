"""Operations whose results depend on settings of a database session."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from placement import exception
from placement.core.model import Inventory
from placement.db import suitability
from placement.db.schema import revisions, seed
from placement.db.store import Store
from placement.engine.engine import Engine
from placement.objects import aggregate, allocation, provider, trait
from placement.tests.support import factories, snapshots
from placement.tests.support.factories import claim, new_provider, set_inventories, uuid

NAME = "größe \\' \" %"
RATIO = 16.333333
TRAITS = frozenset({"HW_CPU_X86_AVX2", "HW_CPU_X86_SSE", "STORAGE_DISK_SSD"})
CLAIMS = 5


@contextmanager
def opened(settings) -> Iterator[Store]:
    store = Store(settings)
    try:
        yield store
    finally:
        store.dispose()


def check_exact(settings) -> None:
    """Start two processes; each result has everything that either of them wrote before."""
    with opened(settings) as reader, opened(settings) as writer:
        suitability.check(reader)
        revisions.check_is_new_enough(reader)
        seed.sync(reader)
        engine = Engine(reader)
        engine.current()
        host, child = _check_providers(writer, engine)
        claimed = _check_claims(reader, writer, engine, host)
        _check_refusals(writer, host, child)
        _remove(writer, [child, host], claimed)
        assert snapshots.by_id(engine.current()) == {}


def _check_providers(writer, engine):
    host = new_provider(writer, NAME)
    child = new_provider(writer, parent=host)
    set_inventories(writer, host, VCPU=Inventory(total=1, allocation_ratio=RATIO), MEMORY_MB=9)
    set_inventories(writer, child, VCPU=8)
    trait.replace(writer, host, factories.generation(writer, host), TRAITS)
    aggregates = [uuid() for _ in range(3)]
    aggregate.replace(writer, host, aggregates, factories.generation(writer, host))
    state = engine.current().state(host)
    assert state.provider.name == provider.show(writer, host).name == NAME
    assert state.inventories["VCPU"].allocation_ratio == pytest.approx(RATIO, rel=1e-5)
    assert (state.traits, state.aggregates) == (TRAITS, set(aggregates))
    assert engine.current().state(child).provider.parent_uuid == host
    return host, child


def _check_claims(reader, writer, engine, host):
    claimed = [uuid() for _ in range(CLAIMS)]
    for count, consumer in enumerate(claimed, 1):
        claim(writer, consumer, {host: {"VCPU": 2, "MEMORY_MB": 1}})
        expected = {"VCPU": 2 * count, "MEMORY_MB": count}
        assert engine.current().state(host).used == factories.used(reader, host) == expected
    assert factories.allocations_of(reader, claimed[0]) == {host: {"VCPU": 2, "MEMORY_MB": 1}}
    loaded = snapshots.by_id(Engine(reader).current())
    assert loaded == snapshots.by_id(engine.current())
    factories.assert_sound(reader)
    return claimed


def _check_refusals(writer, host, child):
    """Check the errors that are read from messages of the server, and the limits of claims."""
    with pytest.raises(exception.DuplicateProvider, match="name: "):
        provider.create(writer, uuid(), NAME, None)
    with pytest.raises(exception.CapacityExceeded):
        claim(writer, uuid(), {child: {"VCPU": 9}})
    with pytest.raises(exception.ProviderHasChildren):
        provider.delete(writer, host)


def _remove(writer, providers, claimed):
    for consumer in claimed:
        allocation.delete(writer, consumer)
    for each in providers:
        provider.delete(writer, each)
