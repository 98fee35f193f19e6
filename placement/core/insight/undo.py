"""What the undo file records of an action: the rows that it changed, before and after.

An entry is a line of the file::

    {"action": {...}, "scope": {"consumers": {"uuid": ["<uuid>"]}, ...},
     "before": {"consumers": [{"id": 7, ...}]}, "after": {"consumers": []},
     "providers": {"12": "<uuid>"}, "classes": {"0": "VCPU"}, "drift": null}

``scope`` says which rows are compared, by table, column and values. ``providers`` and ``classes``
are what the ids in the rows stand for. Usage counters change by the difference of the allocations;
``drift`` is the difference of one counter from the sum of its allocations, before and after.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from placement.core.insight.repair_file import InvalidRepairFile

UNDO: Final = "undo"

Row = Mapping[str, Any]
"""Values by column; times are ISO 8601, naive, in UTC."""

Image = Mapping[str, Sequence[Row]]
"""Rows by table."""

Scope = Mapping[str, Mapping[str, Sequence[Any]]]
"""The values of a column, by table and column."""

BEFORE: Final = "before"
AFTER: Final = "after"

# Rows may have another id after undo: no other table refers to these ids.
_ID: Final = frozenset({"id"})
_NOT_COMPARED: Final[Mapping[str, frozenset[str]]] = {
    "consumers": _ID,
    "allocations": _ID,
    "inventories": _ID | {"used"},  # each claim changes the counter
}
# In rows that the action kept: claims change these columns of providers, undo that of consumers.
_NOT_COMPARED_IN_KEPT: Final[Mapping[str, frozenset[str]]] = {
    "resource_providers": frozenset({"generation", "updated_at"})
}
_NOT_COMPARED_BEFORE_IN_KEPT: Final[Mapping[str, frozenset[str]]] = {
    **_NOT_COMPARED_IN_KEPT,
    "consumers": frozenset({"generation"}),
}


@dataclass(frozen=True, slots=True)
class Drift:
    """The usage counter of an inventory minus the sum of its allocations."""

    provider_id: int
    class_id: int
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Undo:
    """How to undo an action."""

    action: Mapping[str, Any]
    scope: Scope
    before: Image
    after: Image
    providers: Mapping[str, str]
    classes: Mapping[str, str]
    drift: Drift | None = None


def undo_as_json(undo: Undo) -> dict[str, Any]:
    """Return the object that is the line of an entry."""
    return asdict(undo)


def undo_from_json(document: Mapping[str, Any]) -> Undo:
    """Return the entry of a line.  Raises: InvalidRepairFile."""
    try:
        values = dict(document)
        drift = values.pop("drift")
        return Undo(**values, drift=Drift(**drift) if drift else None)
    except (TypeError, KeyError, AttributeError) as error:
        raise InvalidRepairFile(f"An entry of the undo file cannot be read: {error}.") from error


def state_of(undo: Undo, current: Image) -> str | None:
    """Return whether the rows are as ``before`` or ``after`` the action, None if neither."""
    if _comparable(current, undo, _NOT_COMPARED_IN_KEPT) == _comparable(
        undo.after, undo, _NOT_COMPARED_IN_KEPT
    ):
        return AFTER
    is_before = _comparable(current, undo, _NOT_COMPARED_BEFORE_IN_KEPT) == _comparable(
        undo.before, undo, _NOT_COMPARED_BEFORE_IN_KEPT
    )
    return BEFORE if is_before else None


def _comparable(
    image: Image, undo: Undo, ignored_in_kept: Mapping[str, frozenset[str]]
) -> dict[str, list[str]]:
    """Return the rows as texts, without the columns that are not compared."""
    return {
        table: sorted(
            str([(name, value) for name, value in row.items() if name not in ignored])
            for row in image.get(table, ())
        )
        for table in undo.scope
        for ignored in [
            _NOT_COMPARED.get(table, frozenset()) | _ignored(table, undo, ignored_in_kept)
        ]
    }


def _ignored(
    table: str, undo: Undo, ignored_in_kept: Mapping[str, frozenset[str]]
) -> frozenset[str]:
    is_kept = bool(undo.before.get(table) and undo.after.get(table))
    return ignored_in_kept.get(table, frozenset()) if is_kept else frozenset()
