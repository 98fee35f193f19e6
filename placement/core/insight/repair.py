"""Repair plans, as they are written to a file.

A plan is a file of lines, each a JSON object (UTF-8)::

    {"format": "placement-repair", "version": 1, "kind": "plan", "database": "1099511627783",
     "created_at": "2026-11-22T02:03:04Z"}
    {"action": "remove_allocations", "finding": "orphaned_consumer", "consumer": "<uuid>",
     "generation": 3, "written_at": "2026-11-20T17:00:09Z",
     "allocations": {"<provider uuid>": {"VCPU": 4}}, "providers": ["<uuid>"]}
    {"action": "rename_provider", "finding": "", "provider": "<uuid>", "generation": 7,
     "name": "cn1", "new_name": "cn1.example.org"}
    {"end": true}

The header comes first, then one action per line (``repair_actions``), in the order in which they
are applied, then the end, whose absence shows that the file was truncated. A line can be deleted:
its action is then not applied. ``database`` is the epoch of the database that was read
(``Store.epoch``); a plan is applied to that database only.

``placement-manage audit --apply FILE`` applies a plan and writes an undo file in the same format,
of the kind ``undo``.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Final

from placement.core.insight.repair_actions import ACTIONS, Action
from placement.core.insight.repair_file import Header, InvalidRepairFile, lines_of, read_lines
from placement.core.storable_text import is_storable

PLAN: Final = "plan"
LONGEST_NAME: Final = 200
"""The most characters of the name of a provider."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Actions for one database.

    ``database`` is its epoch as text, ``created_at`` ISO 8601 in UTC.
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
        tuple(action_from_json(each) for each in document.entries),
    )


def action_as_json(action: Action) -> dict[str, Any]:
    """Return the object that is the line of an action.

    >>> from placement.core.insight.repair_actions import DeleteTrait
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
    names = {each.name for each in fields(action)}
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
    """Return whether a provider can have the name: the API accepts it."""
    return _is_text(value) and 0 < len(str(value)) <= LONGEST_NAME


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_amounts(value: object) -> bool:
    return isinstance(value, dict) and all(
        isinstance(own, dict) and all(map(_is_number, own.values())) for own in value.values()
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
