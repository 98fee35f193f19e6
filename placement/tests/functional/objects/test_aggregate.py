"""Aggregates of providers, on each database."""

import pytest

from placement import exception
from placement.db import tables
from placement.objects import aggregate
from placement.tests.support.factories import (
    generation,
    new_provider,
    rows,
    statements,
    uuid,
)


def of(store, provider) -> set:
    return set(aggregate.of_provider(store, provider).aggregates)


def test_replace_aggregates_sets_the_associations(store):
    provider, one, two, three = new_provider(store), uuid(), uuid(), uuid()
    replaced = aggregate.replace(store, provider, [two, one], 0)
    assert replaced.aggregates == (two, one)
    assert replaced.generation == 1
    assert of(store, provider) == {one, two}
    aggregate.replace(store, provider, [two, three], 1)
    assert of(store, provider) == {two, three}
    aggregate.replace(store, provider, [], 2)
    assert of(store, provider) == set()


def test_generation_increases_with_each_replacement_that_names_it(store):
    provider, one = new_provider(store), uuid()
    aggregate.replace(store, provider, [one], 0)
    aggregate.replace(store, provider, [one], 1)
    assert generation(store, provider) == 2
    with pytest.raises(exception.StaleGenerationPleaseUpdate):
        aggregate.replace(store, provider, [], 1)


def test_generation_is_unchanged_without_a_generation_in_the_request(store):
    provider, one = new_provider(store), uuid()
    assert aggregate.replace(store, provider, [one], None).generation == 0
    assert (generation(store, provider), of(store, provider)) == (0, {one})


def test_providers_share_an_aggregate(store):
    one, providers = uuid(), [new_provider(store) for _ in range(2)]
    for provider in providers:
        aggregate.replace(store, provider, [one], 0)
    assert len(rows(store, tables.placement_aggregates)) == 1


def test_many_aggregates_in_one_request(store):
    provider, many = new_provider(store), [uuid() for _ in range(1200)]
    aggregate.replace(store, provider, many, 0)
    assert of(store, provider) == set(many)
    aggregate.replace(store, provider, [], 1)
    assert of(store, provider) == set()


def test_missing_provider_has_no_aggregates(store):
    with pytest.raises(exception.ProviderNotFound):
        aggregate.of_provider(store, uuid())
    with pytest.raises(exception.ProviderNotFound):
        aggregate.replace(store, uuid(), [], 0)


def test_many_aggregates_take_few_statements(store):
    """Each new one took two statements: 5,000 took 12 s on a busy machine."""
    provider, uuids = new_provider(store), [uuid() for _ in range(2500)]
    aggregate.replace(store, provider, uuids[:500], 0)
    with statements(store) as executed:
        aggregate.replace(store, provider, uuids, 1)
    assert len(executed) < 25
    assert of(store, provider) == set(uuids)
    assert len(rows(store, tables.placement_aggregates)) == 2500
