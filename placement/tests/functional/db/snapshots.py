"""Comparison of snapshots."""

from placement.engine.engine import advance, load


def by_id(snapshot) -> dict:
    """Return the state of each provider by its id."""
    entries = snapshot.entries.take(range(snapshot.entries.size))
    return {entry.state.provider.id: entry.state for entry in entries}


def by_name(snapshot) -> dict:
    """Return the state of each provider by its name."""
    return {state.provider.name: state for state in by_id(snapshot).values()}


def loaded(tx) -> dict:
    """Return the state of each provider by its id, as the transaction sees it."""
    return {state.provider.id: state for state in tx.snapshot.states(tx.snapshot.names())}


def assert_exact(view, tx):
    """Advance a view to the state the transaction sees; compare it with a full load; return it."""
    newer = view and advance(view, tx.snapshot.clocks(), tx.snapshot.changes, 0.0)
    view, _event = newer or load(tx, 0.0)
    names = tx.snapshot.names()
    assert by_id(view.snapshot) == loaded(tx)
    assert view.snapshot.class_names == set(names.classes.values())
    assert view.snapshot.trait_names == set(names.traits.values())
    return view
