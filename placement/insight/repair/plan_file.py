"""The files of repair plans and of their undo.

A file consists of lines; every line is a JSON object (UTF-8)::

    {"format": "placement-repair", "version": 1, "kind": "plan", "database": "1099511627783",
     "created_at": "2026-11-22T02:03:04Z"}
    {"action": "remove_allocations", "finding": "orphaned_consumer", "consumer": "<uuid>",
     "generation": 3, "written_at": "2026-11-20T17:00:09Z",
     "allocations": {"<provider uuid>": {"VCPU": 4}}, "providers": ["<uuid>"]}
    {"action": "rename_provider", "finding": "", "provider": "<uuid>", "generation": 7,
     "name": "cn1", "new_name": "cn1.example.org"}
    {"end": true}

The header comes first, then one action per line (``actions``), in the order in which they
are applied, then the end. A file without the end was truncated. A line can be deleted: its action
is then not applied. ``database`` is the epoch of the database that was read
(``Store.epoch``); a plan is applied to that database only.

``placement-manage audit --apply FILE`` applies a plan and writes an undo file in the same format,
of the kind ``undo``. Its lines contain the rows that an action changed, before and after::

    {"action": {...}, "scope": {"consumers": {"uuid": ["<uuid>"]}, ...},
     "before": {"consumers": [{"id": 7, ...}]}, "after": {"consumers": []},
     "providers": {"12": "<uuid>"}, "classes": {"0": "VCPU"}, "drift": null}

``scope`` defines the rows that are compared, by table, column and values. ``providers`` and
``classes`` name the ids in the rows. Usage counters change by the difference of the allocations;
``drift`` is the difference of one counter from the sum of its allocations, before and after.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Final

from placement.core.text import is_storable
from placement.insight.repair.actions import ACTIONS, Action

FORMAT: Final = "placement-repair"
VERSION: Final = 1
END: Final = {"end": True}

Entry = Mapping[str, Any]

PLAN: Final = "plan"
LONGEST_NAME: Final = 200
"""The maximum number of characters in the name of a provider."""

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
# Not compared in rows that exist before and after the action: claims change these columns of
# providers, and undo changes the generation of consumers.
_NOT_COMPARED_IN_KEPT: Final[Mapping[str, frozenset[str]]] = {
    "resource_providers": frozenset({"generation", "updated_at"})
}
_NOT_COMPARED_BEFORE_IN_KEPT: Final[Mapping[str, frozenset[str]]] = {
    **_NOT_COMPARED_IN_KEPT,
    "consumers": frozenset({"generation"}),
}


class InvalidRepairFile(Exception):  # noqa: N818
    """The file cannot be used; the message states the reason and the action."""


@dataclass(frozen=True, slots=True)
class Header:
    """The first line.

    ``kind`` is ``plan`` or ``undo``, ``database`` the epoch of the database, ``plan`` the digest
    of the plan that an undo file belongs to.
    """

    kind: str
    database: str
    created_at: str
    plan: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """The contents of a file; without ``has_end`` it is truncated or incomplete."""

    header: Header
    entries: Sequence[Entry]
    has_end: bool


def lines_of(header: Header, entries: Iterable[Entry]) -> Iterator[str]:
    """Yield the lines of a complete file."""
    yield header_line(header)
    yield from map(line, entries)
    yield line(END)


def header_line(header: Header) -> str:
    """Return the first line."""
    values = {
        "format": FORMAT,
        "version": VERSION,
        "kind": header.kind,
        "database": header.database,
        "created_at": header.created_at,
    }
    return line({**values, "plan": header.plan} if header.plan else values)


def line(entry: Entry) -> str:
    """Return one line.

    >>> print(line({"end": True}), end="")
    {"end": true}
    """
    return f"{json.dumps(entry)}\n"


def read_lines(lines: Iterable[str]) -> Document:
    """Return the contents without an incomplete last line, whose action was not committed.

    Raises: InvalidRepairFile.
    """
    numbered = enumerate(lines, start=1)
    _, first = next(numbered, (1, ""))
    header = _header(first)
    entries: list[Entry] = []
    has_end = False
    for number, text in numbered:
        if not text.endswith("\n"):
            return Document(header, entries, has_end=False)
        entry = _object(text, number)
        has_end = entry == END
        if not has_end:
            entries.append(entry)
    return Document(header, entries, has_end)


def _header(text: str) -> Header:
    values = _object(text, 1)
    if values.get("format") != FORMAT:
        raise InvalidRepairFile(
            f"The file is not a plan of repairs: its first line has no format {FORMAT}."
        )
    if values.get("version") != VERSION:
        raise InvalidRepairFile(
            f"The file has version {values.get('version')}; this release reads version {VERSION}. "
            "Plan again with this release, or apply the file with the release that wrote it."
        )
    names = ("kind", "database", "created_at")
    kind, database, created_at = (values.get(name) for name in names)
    if not (isinstance(kind, str) and isinstance(database, str) and isinstance(created_at, str)):
        raise InvalidRepairFile(f"The first line of the file lacks one of {', '.join(names)}.")
    return Header(kind, database, created_at, str(values.get("plan", "")))


def _object(text: str, number: int) -> Entry:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidRepairFile(f"Line {number} of the file is not JSON: {error}.") from error
    if not isinstance(value, dict):
        raise InvalidRepairFile(f"Line {number} of the file is not a JSON object.")
    return value


@dataclass(frozen=True, slots=True)
class Plan:
    """Actions for one database.

    ``database`` is the epoch of the database as text, ``created_at`` ISO 8601 in UTC.
    """

    database: str
    created_at: str
    actions: Sequence[Action] = field(default=())


def as_text(plan: Plan) -> Iterator[str]:
    """Yield the lines of the file."""
    header = Header(PLAN, plan.database, plan.created_at)
    return lines_of(header, map(action_as_json, plan.actions))


def from_lines(lines: Iterable[str]) -> Plan:
    """Return the plan in a file.  Raises: InvalidRepairFile."""
    document = read_lines(lines)
    if document.header.kind != PLAN:
        raise InvalidRepairFile(f"The file is of the kind {document.header.kind}, not a plan.")
    if not document.has_end:
        raise InvalidRepairFile("The file is truncated: its last line is missing. Plan again.")
    return Plan(
        document.header.database,
        document.header.created_at,
        tuple(action_from_json(entry) for entry in document.entries),
    )


def action_as_json(action: Action) -> dict[str, Any]:
    """Return the object that is the line of an action.

    >>> from placement.insight.repair.actions import DeleteTrait
    >>> action_as_json(DeleteTrait(trait="CUSTOM_A"))
    {'action': 'delete_trait', 'finding': '', 'trait': 'CUSTOM_A'}
    """
    return {"action": action.kind, **asdict(action)}


def action_from_json(document: Mapping[str, Any]) -> Action:
    """Return the action of a line.  Raises: InvalidRepairFile.

    >>> action_from_json({"action": "delete_trait", "finding": "", "trait": "CUSTOM_A"})
    DeleteTrait(finding='', trait='CUSTOM_A')
    """
    values = dict(document)
    action = ACTIONS.get(str(values.pop("action", None)))
    if action is None:
        raise InvalidRepairFile(f"{document.get('action')!r} is not an action of this version.")
    names = {attribute.name for attribute in fields(action)}
    if names != values.keys():
        raise InvalidRepairFile(
            f"An action {action.kind} has the fields {', '.join(sorted(names))}; "
            f"the file has {', '.join(sorted(values)) or 'none'}."
        )
    for name, value in values.items():
        if not _CHECKS.get(name, _is_text)(value):
            raise InvalidRepairFile(f"{json.dumps(value)} is not a value of {action.kind}.{name}.")
    return action(**values)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and is_storable(value)


def is_provider_name(value: object) -> bool:
    """Return whether the API accepts the name for a provider."""
    return _is_text(value) and 0 < len(str(value)) <= LONGEST_NAME


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_amounts(value: object) -> bool:
    return isinstance(value, dict) and all(
        isinstance(by_class, dict) and all(map(_is_number, by_class.values()))
        for by_class in value.values()
    )


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_text_or_none(value: object) -> bool:
    return value is None or _is_text(value)


def _is_number_or_none(value: object) -> bool:
    return value is None or _is_number(value)


_CHECKS: Final[Mapping[str, Callable[[object], bool]]] = {
    "generation": _is_number_or_none,
    "allocations": _is_amounts,
    "providers": _is_texts,
    "provider_id": _is_number,
    "used": _is_number,
    "counter": _is_number,
    "parent": _is_text_or_none,
    "root": _is_text_or_none,
    "new_parent": _is_text_or_none,
    "new_name": is_provider_name,
    "written_at": _is_text_or_none,
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
