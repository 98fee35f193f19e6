"""Snapshots made comparable."""

from placement.engine.engine import bring_on


def by_id(snapshot) -> dict:
    """Return the state of each provider by its id."""
    entries = snapshot.entries.take(range(snapshot.entries.size))
    return {entry.state.provider.id: entry.state for entry in entries}


def by_name(snapshot) -> dict:
    """Return the state of each provider by its name."""
    return {state.provider.name: state for state in by_id(snapshot).values()}


def assert_exact(view, tx):
    """Bring a view on to what the transaction sees, compare with a fresh load, and return it."""
    view, _event = bring_on(view, tx, 0.0)
    names = tx.picture.names()
    fresh = {state.provider.id: state for state in tx.picture.states(names)}
    assert by_id(view.snapshot) == fresh
    assert view.snapshot.class_names == set(names.classes.values())
    assert view.snapshot.trait_names == set(names.traits.values())
    return view
