"""A snapshot advanced step by step equals one that is built from all providers."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from placement.core.snapshot.snapshot import Snapshot
from placement.tests.property.searches import World, found_in, snapshot_of
from placement.tests.property.strategies import CLASSES, TRAITS, histories, requests, worlds
from placement.tests.support.snapshots import contents


def assert_sound(snapshot: Snapshot, world: World) -> None:
    """Compare with a snapshot that is built from the world: also rows and orders are equal."""
    assert contents(snapshot) == contents(snapshot_of(world))
    for rows in (*snapshot.traits.values(), *snapshot.aggregates.values()):
        assert (np.diff(rows.numbers) > 0).all()
    for column in snapshot.columns.values():
        assert (np.diff(column.rows) > 0).all()


def split(before: World, after: World) -> tuple[World, list[int]]:
    states = {state.provider.id: state for state in before}
    changed = [state for state in after if states.get(state.provider.id) != state]
    ids = {state.provider.id for state in after}
    return changed, [number for number in states if number not in ids]


@given(st.lists(worlds(), min_size=2, max_size=4), requests())
def test_applying_changes_is_rebuilding(history, request):
    snapshot, before = snapshot_of(history[0]), history[0]
    for after in history[1:]:
        kept = contents(snapshot)
        older = snapshot
        snapshot = snapshot.apply(*split(before, after))
        assert contents(older) == kept, "the snapshot before was edited"
        assert_sound(snapshot, after)
        before = after
    assert found_in(snapshot, request) == found_in(snapshot_of(before), request)


@given(histories(), requests())
def test_what_is_created_again_is_linked_again(history, request):
    """Parents are removed and created again, with and without their UUIDs and ids."""
    snapshot = snapshot_of(history[0].world)
    for step in history[1:]:
        older, kept = snapshot, contents(snapshot)
        changed = [each for each in step.world if each.provider.uuid in step.changed]
        snapshot = snapshot.apply(changed, step.removed)
        assert contents(older) == kept, "the snapshot before was edited"
        assert_sound(snapshot, step.world)
        assert found_in(snapshot, request) == found_in(snapshot_of(step.world), request)


@given(worlds(), st.data())
def test_an_id_given_again_is_another_provider(world, data):
    reborn = data.draw(st.sampled_from([s for s in world if s.provider.parent_uuid is None]))
    if any(state.provider.parent_uuid == reborn.provider.uuid for state in world):
        return
    other = replace(reborn.provider, uuid="reborn", root_uuid="reborn")
    after = [replace(s, provider=other) if s is reborn else s for s in world]
    snapshot = snapshot_of(world).apply(
        [replace(reborn, provider=other)], data.draw(st.sampled_from(([], [other.id])))
    )
    assert_sound(snapshot, after)
    assert snapshot.state(reborn.provider.uuid) is None


@given(worlds(), st.data())
def test_providers_may_exchange_their_ids(world, data):
    """Two providers are recreated in the other order, so that each gets the id of the other."""
    providers = st.sampled_from(world)
    one, other = data.draw(providers), data.draw(providers)
    ids = {one.provider.id: other.provider.id, other.provider.id: one.provider.id}
    after = [
        replace(s, provider=replace(s.provider, id=ids.get(s.provider.id, s.provider.id)))
        for s in world
    ]
    snapshot = snapshot_of(world).apply(*split(world, after))
    assert_sound(snapshot, after)


@given(worlds(), st.data())
def test_providers_may_exchange_their_uuids_and_names(world, data):
    """Children stay with the id of their parent, whose UUID is another one now."""
    order = data.draw(st.permutations([state.provider for state in world]))
    named = {state.provider.uuid: provider for state, provider in zip(world, order, strict=True)}

    def renamed(provider):
        parent = named.get(provider.parent_uuid)
        return replace(
            provider,
            uuid=named[provider.uuid].uuid,
            name=named[provider.uuid].name,
            parent_uuid=parent and parent.uuid,
            root_uuid=named[provider.root_uuid].uuid,
        )

    after = [replace(state, provider=renamed(state.provider)) for state in world]
    snapshot = snapshot_of(world).apply(*split(world, after))
    assert_sound(snapshot, after)


@given(worlds())
def test_names_stay_unless_they_are_given(world):
    snapshot = snapshot_of(world)
    assert snapshot.apply([]).class_names == set(CLASSES)
    assert snapshot.apply([], trait_names=["CUSTOM_NEW"]).trait_names == {"CUSTOM_NEW"}
    assert snapshot.apply([], trait_names=["CUSTOM_NEW"]).class_names == set(CLASSES)
    assert set(TRAITS) == snapshot.trait_names


@given(worlds(), requests(), st.data())
def test_children_of_a_removed_provider_are_roots(world, request, data):
    removed = data.draw(st.sampled_from(world)).provider
    orphans = [
        replace(s, provider=replace(s.provider, parent_uuid=None))
        if s.provider.parent_uuid == removed.uuid
        else s
        for s in world
        if s.provider is not removed
    ]
    snapshot = snapshot_of(world).apply([], [removed.id])
    assert found_in(snapshot, request) == found_in(snapshot_of(orphans), request)
