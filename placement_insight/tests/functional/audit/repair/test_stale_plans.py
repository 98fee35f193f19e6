"""An action whose rows differ from the plan, in any one field, changes nothing."""

from collections.abc import Iterator
from dataclasses import replace
from uuid import UUID

import pytest

from placement.db.schema import migration, seed
from placement.tests.functional.db.interleavings.kinds import (
    HOST,
    INCOMPLETE,
    NAME_OF,
    OTHER,
    World,
)
from placement.tests.functional.db.interleavings.stored import StoredRows, values
from placement_insight.audit.repair.action import Action
from placement_insight.audit.repair.apply import SKIPPED, apply_action
from placement_insight.tests.functional.audit.repair.interleavings.kinds import ACTIONS

NOBODY = str(UUID(int=99))
NOT_COMPARED = {  # the sum of the allocations is computed again
    ("set_usage_counter", "counter"),
    ("set_usage_counter", "used"),
}
WITH_ANOTHER_VALUE = {
    "parent": OTHER,
    "root": OTHER,
    "new_parent": NOBODY,
    "new_name": NAME_OF(HOST),
    "written_at": "2020-01-01T00:00:00Z",
}


def another(name: str, value: object) -> object:
    """Return a value of the same type that the rows of the world do not have."""
    match value:
        case _ if name in WITH_ANOTHER_VALUE:
            return WITH_ANOTHER_VALUE[name]
        case int():
            return value + 1
        case str():
            return NOBODY if len(value) == len(NOBODY) else f"{value}_X"
        case dict():
            uuid, amounts = next(iter(value.items()))
            return {**value, uuid: {**amounts, "VCPU": 3}}
        case _:
            return [NOBODY]


def stale(action: Action) -> Iterator[Action]:
    """Yield the action with another value of each field that is compared."""
    fields = action.as_json().keys() - {"action", "finding"}
    for name in sorted(fields):
        if (action.kind, name) not in NOT_COMPARED:
            yield replace(action, **{name: another(name, getattr(action, name))})


@pytest.fixture
def world(empty_store):
    migration.upgrade(empty_store)
    seed.sync(empty_store)
    return World(empty_store)


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_each_field_is_compared(empty_store, world):
    rows = StoredRows(empty_store)
    before = values(rows.read())
    for plan in ACTIONS.values():
        for action in stale(plan(world)):
            outcome = apply_action(empty_store, action, INCOMPLETE, lambda _: None)
            assert outcome.status == SKIPPED, action
            assert values(rows.read()) == before, action
    rows.close()


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_all_actions_are_tried(world):
    assert {type(plan(world)) for plan in ACTIONS.values()} == {*Action.__subclasses__()}
