"""Comparison of snapshots."""

from placement.engine.engine import advance, load


def by_id(snapshot) -> dict:
    """Return the state of each provider by its id."""
    entries = snapshot.entries.take(range(snapshot.entries.size))
    return {entry.state.provider.id: entry.state for entry in entries}


def by_name(snapshot) -> dict:
    """Return the state of each provider by its name."""
    return {state.provider.name: state for state in by_id(snapshot).values()}


def contents(snapshot) -> dict[str, object]:
    """Return all contents, by row: equal for equal databases, however they came to be known."""
    forest = snapshot.forest
    roots = [forest.root.item(row) for row in range(len(snapshot))]
    return {
        "states": list(snapshot.states()),
        "classes of states": [
            (list(each.inventories), list(each.used)) for each in snapshot.states()
        ],
        "uuids": list(forest.uuids),
        "rows": dict(forest.row_of),
        "ids": forest.ids.tolist(),
        "parents": forest.parent.tolist(),
        "roots": forest.root.tolist(),
        "sizes": forest.subtree_size.tolist(),
        "is_root": forest.is_root.tolist(),
        "is_single": forest.is_single.tolist(),
        "is_nested": forest.is_nested,
        "traits": {name: rows.numbers.tolist() for name, rows in snapshot.traits.items()},
        "aggregates": {name: rows.numbers.tolist() for name, rows in snapshot.aggregates.items()},
        "columns": {name: _of_column(column) for name, column in snapshot.columns.items()},
        "aggregates of trees": [
            snapshot.tree_aggregates.aggregates[snapshot.tree_aggregates.number.item(root)]
            for root in roots
        ],
        "names": (snapshot.class_names, snapshot.trait_names),
    }


def _of_column(column) -> list[tuple]:
    rules = [column.unit_rules[number] for number in column.unit_rule.tolist()]
    arrays = (column.rows, column.allocatable, column.max_unit, column.free)
    return list(zip(*(array.tolist() for array in arrays), rules, strict=True))


def loaded(tx) -> dict:
    """Return the state of each provider by its id, as the transaction sees it."""
    return {state.provider.id: state for state in tx.snapshot.states(tx.snapshot.names())}


def assert_exact(view, tx):
    """Advance a view to the state the transaction sees; compare it with a full load; return it."""
    newer = view and advance(view, tx.snapshot.clocks(), tx.snapshot.changes, 0.0)
    view, _event = newer or load(tx, 0.0)
    assert by_id(view.snapshot) == loaded(tx)
    assert contents(view.snapshot) == contents(load(tx, 0.0)[0].snapshot)
    return view
