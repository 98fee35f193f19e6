"""Reads what an action recorded, from a line of an undo file that could have been edited.

A value that its column cannot store would end the run with an error of Python or of the database,
after some of the actions were undone.
"""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from placement.core.text import is_storable
from placement.db.tables import allocations, inventories
from placement.insight.repair.rows import (
    BIG_INTEGERS,
    INTEGERS,
    TABLES,
    Drift,
    Recorded,
    stored_columns,
)

_ID, _AMOUNT = allocations.c.id, inventories.c.used
_DRIFT: Final = {"provider_id": _ID, "class_id": _ID, "before": _AMOUNT, "after": _AMOUNT}


def recorded(values: Mapping[str, Any]) -> Recorded:
    """Return what an action recorded.  Raises: ValueError."""
    _check_names("the entry", values, [attribute.name for attribute in fields(Recorded)])
    _check_scope(values["scope"])
    for image in ("before", "after"):
        _check_names(image, values[image], values["scope"])
        for table, rows in values[image].items():
            _check_rows(table, rows)
    for names in ("providers", "classes"):
        _check_ids(names, values[names])
    drift = values["drift"]
    if drift is not None:
        _check_names("drift", drift, _DRIFT)
        for name, column in _DRIFT.items():
            _check(f"drift.{name}", drift[name], _accepts(column, drift[name]))
    return Recorded(**{**values, "drift": None if drift is None else Drift(**drift)})


def _check_scope(scope: Any) -> None:
    _check("scope", scope, isinstance(scope, dict) and scope.keys() <= TABLES.keys())
    for table, values_by_column in scope.items():
        columns = stored_columns(TABLES[table])
        is_scope = isinstance(values_by_column, dict) and values_by_column.keys() <= columns.keys()
        _check(f"scope.{table}", values_by_column, is_scope)
        for name, values in values_by_column.items():
            is_list = isinstance(values, list)
            _check(f"scope.{table}.{name}", values, is_list)
            for value in values:
                _check(f"{table}.{name}", value, _accepts(columns[name], value))


def _check_rows(table: str, rows: Any) -> None:
    columns = stored_columns(TABLES[table])
    _check(table, rows, isinstance(rows, list))
    for row in rows:
        _check_names(f"a row of {table}", row, columns)
        for name, column in columns.items():
            _check(f"{table}.{name}", row[name], _accepts(column, row[name]))


def _check_ids(field: str, names_by_id: Any) -> None:
    _check(field, names_by_id, isinstance(names_by_id, dict))
    for id_, name in names_by_id.items():
        _check(f"an id of {field}", id_, _is_id(id_))
        _check(field, name, isinstance(name, str) and is_storable(name))


def _check_names(field: str, value: Any, names: Collection[str]) -> None:
    """Check that the value is an object with these names.  Raises: ValueError."""
    _check(field, value, isinstance(value, dict))
    if value.keys() != set(names):
        raise ValueError(
            f"{field} has the names {', '.join(sorted(names)) or 'none'}; the file has "
            f"{', '.join(sorted(value)) or 'none'}"
        )


def _check(field: str, value: object, is_valid: bool) -> None:
    if not is_valid:
        raise ValueError(f"{json.dumps(value)} is not a value of {field}")


def _accepts(column: sa.Column[Any], value: object) -> bool:
    """Return whether the column can store a value of a file."""
    if value is None:
        return bool(column.nullable)
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    match column.type:
        case sa.BigInteger():
            return is_integer and value in BIG_INTEGERS
        case sa.Integer():
            return is_integer and value in INTEGERS
        case sa.Float():
            return is_integer or isinstance(value, float)
        case sa.DateTime():
            return isinstance(value, str) and _is_time(value)
    is_text = isinstance(value, str) and is_storable(value)
    return is_text and len(str(value)) <= getattr(column.type, "length", 0)


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is None
    except ValueError:
        return False


def _is_id(text: str) -> bool:
    return re.fullmatch("[0-9]{1,10}", text) is not None and int(text) in INTEGERS
