"""Comparison of snapshots."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from placement.core.model import Inventory, Provider, ProviderState
from placement.db import clocks, tables
from placement.db.resources.providers import SELECT_PROVIDER
from placement.engine.engine import advance, load
from placement.events import DISCARDS, REFRESH_SECONDS, Observer


def by_id(snapshot) -> dict:
    """Return the state of each provider by its id."""
    return {state.provider.id: state for state in snapshot.states()}


def by_name(snapshot) -> dict:
    """Return the state of each provider by its name."""
    return {state.provider.name: state for state in by_id(snapshot).values()}


def contents(snapshot) -> dict[str, object]:
    """Return all contents, by row: equal for equal databases, however they came to be known."""
    forest = snapshot.forest
    roots = [forest.root.item(row) for row in range(snapshot.size)]
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


def loaded(tx) -> dict[int, ProviderState]:
    """Return the state of each provider by its id, read row by row, in the order of ids."""
    states: dict[int, ProviderState] = {}
    for row in _rows(tx, SELECT_PROVIDER.order_by(tables.resource_providers.c.id)):
        states[row.id] = ProviderState(Provider(*row), {}, {}, frozenset(), frozenset())
    for row in _rows(tx, _INVENTORIES):
        if row.resource_provider_id in states and row.step_size > 0:
            state = states[row.resource_provider_id]
            limits = row.total, row.reserved, row.min_unit, row.max_unit, row.step_size
            state.inventories[row.name] = Inventory(*limits, row.allocation_ratio)
            state.used.update({row.name: row.used} if row.used else {})
    for statement, part in ((_TRAITS, "traits"), (_AGGREGATES, "aggregates")):
        names = defaultdict(set)
        for row in _rows(tx, statement):
            names[row[0]].add(row[1])
        for id_ in names.keys() & states.keys():
            states[id_] = replace(states[id_], **{part: frozenset(names[id_])})
    return states


def _rows(tx, statement) -> Sequence[Any]:
    return tx.connection.execute(statement).all()


_INVENTORIES = (
    sa.select(tables.inventories, tables.resource_classes.c.name)
    .join(
        tables.resource_classes,
        tables.resource_classes.c.id == tables.inventories.c.resource_class_id,
    )
    .order_by(tables.resource_classes.c.id)
)
_TRAITS = sa.select(
    tables.resource_provider_traits.c.resource_provider_id, tables.traits.c.name
).join(tables.traits)
_MEMBER = tables.resource_provider_aggregates.c
_AGGREGATES = sa.select(_MEMBER.resource_provider_id, tables.placement_aggregates.c.uuid).join(
    tables.placement_aggregates, tables.placement_aggregates.c.id == _MEMBER.aggregate_id
)


class InTransaction:
    """Stands for the store: its reads see what a transaction sees."""

    def __init__(self, tx):
        self.tx = tx

    def read_once(self, work, *arguments, **options):
        return work(self.tx, *arguments, **options)


def assert_exact(tx, *views):
    """Return views that are advanced to what the transaction sees, each equal to a full load."""
    now, new = clocks.values(tx.connection), load(tx)
    advanced = [(view and advance(view, now, InTransaction(tx))) or new for view in views]
    expected = contents(new.snapshot)
    for view in advanced:
        assert view is new or contents(view.snapshot) == expected
    assert by_id(new.snapshot) == loaded(tx)
    return advanced


class RecordingObserver(Observer):
    """Keeps the kinds of reads, and ``discard``, in ``reports``."""

    def __init__(self):
        self.reports = []

    def observe(self, metric, seconds, kind):
        assert metric is REFRESH_SECONDS
        assert seconds >= 0
        self.reports.append(kind)

    def count(self, metric):
        assert metric is DISCARDS
        self.reports.append("discard")
