"""The files of repair plans and of their undo.

A file consists of lines; every line is a JSON object (UTF-8)::

    {"format": "placement-repair", "version": 1, "kind": "plan", "database": "1099511627783",
     "created_at": "2026-11-22T02:03:04Z"}
    {"action": "remove_allocations", "finding": "orphaned_consumer", "consumer": "<uuid>",
     "generation": 3, "written_at": "2026-11-20T17:00:09Z",
     "allocations": {"<provider uuid>": {"VCPU": 4}}, "providers": ["<uuid>"],
     "names": {"<provider uuid>": "cn1"}}
    {"action": "rename_provider", "finding": "", "provider": "<uuid>", "generation": 7,
     "name": "cn1", "new_name": "cn1.example.org"}
    {"end": true}

The header comes first, then one action per line (``actions``), in the order in which they
are applied, then the end. A plan without the end was truncated. A line can be deleted: its action
is then not applied. ``names``, the names of providers by UUID, are for people who read the file.
``database`` is the epoch of the database that was read (``Store.epoch``); a plan is applied to
that database only.

``placement-manage audit --apply FILE`` applies a plan and writes an undo file in the same format,
of the kind ``undo``, without an end. Its lines contain the rows that an action changed, before
and after. A line is written before each commit, of an action or of its undo, and after the commit
another line, which says whether the action is in effect::

    {"action": {...}, "scope": {"consumers": {"uuid": ["<uuid>"]}, ...},
     "before": {"consumers": [{"id": 7, ...}]}, "after": {"consumers": []},
     "providers": {"12": "<uuid>"}, "classes": {"0": "VCPU"}}
    {"action": {...}, "in_effect": true}

``scope`` defines the rows that are compared, by table, column and values. ``providers`` and
``classes`` name the ids in the rows. Usage counters change by the difference of the allocations;
``used`` of an inventory is the difference of its counter from the sum of its allocations.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Self

from placement.core.text import timestamp
from placement_insight.audit.finding import Finding
from placement_insight.audit.repair import actions
from placement_insight.audit.repair.action import Action, InvalidRepairFile, Line
from placement_insight.audit.repair.durable_file import replace_durably
from placement_insight.audit.repair.rows import NO_ROWS, Recorded
from placement_insight.names import names_in, option

FORMAT: Final = "placement-repair"
VERSION: Final = 1
END: Final = {"end": True}

PLAN: Final = "plan"
UNDO: Final = "undo"


@dataclass(frozen=True, slots=True)
class Header:
    """The first line.

    ``kind`` is ``plan`` or ``undo``, ``database`` the epoch of the database, ``created_at`` ISO
    8601 in UTC, ``plan`` the digest of the plan that an undo file belongs to.
    """

    kind: str
    database: str
    created_at: str
    plan: str = ""

    @classmethod
    def now(cls, kind: str, database: str, plan: str = "") -> Self:
        """Return the header of a file that is created now."""
        return cls(kind, database, timestamp(datetime.now(UTC)), plan)

    def line(self) -> str:
        """Return the first line."""
        values = {name: value for name, value in asdict(self).items() if value}
        return line({"format": FORMAT, "version": VERSION, **values})


@dataclass(frozen=True, slots=True)
class RepairFile:
    """The contents of a file; without ``has_end`` it is truncated or incomplete."""

    header: Header
    lines: Sequence[Line]
    has_end: bool


@dataclass(frozen=True, slots=True)
class Entry:
    """An action that was performed, and what it changed.

    ``in_effect`` is None while a commit, of the action or of its undo, is not confirmed.
    """

    action: Action
    recorded: Recorded
    in_effect: bool | None = None

    def line(self) -> str:
        """Return the line in an undo file; without rows if it says what is in effect."""
        if self.in_effect is not None:
            return line({"action": self.action.as_json(), "in_effect": self.in_effect})
        return line({"action": self.action.as_json(), **asdict(self.recorded)})


def plan_text(database: str, planned: Iterable[Action], names: Mapping[str, str]) -> str:
    """Return the plan of actions for the database with this epoch.

    ``names`` has the names of providers, by UUID.
    """
    text = Header.now(PLAN, database).line()
    for values in (action.as_json() for action in planned):
        own = names_in(values, names)
        text += line({**values, "names": own} if own else values)
    return text + line(END)


def write_plan(
    path: str, database: str, findings: Iterable[Finding], codes: Iterable[str]
) -> actions.Planned:
    """Write the actions that repair findings to a file; return them.  Raises: OSError."""
    planned = actions.plan(findings, frozenset(codes))
    replace_durably(Path(path), plan_text(database, planned.actions, planned.names))
    return planned


def apply_command(path: str, manage: str = "placement-manage", *, any_epoch: bool = False) -> str:
    """Return the command that applies a file; ``manage`` has the global options in use."""
    return f"{manage} audit {option('--apply', path)}{' --any-epoch' if any_epoch else ''}"


def line(values: Line) -> str:
    """Return one line.

    >>> print(line({"end": True}), end="")
    {"end": true}
    """
    return f"{json.dumps(values)}\n"


def read_file(text: str) -> RepairFile:
    """Return the contents without an incomplete last line, whose action was not committed.

    Raises: InvalidRepairFile.
    """
    first, *others = text.splitlines(keepends=True) or [""]
    header = _header(first)
    lines: list[Line] = []
    has_end = False
    for number, other in enumerate(others, start=2):
        if not other.endswith("\n"):
            return RepairFile(header, lines, has_end=False)
        values = _object(other, number)
        has_end = values == END
        if not has_end:
            lines.append(values)
    return RepairFile(header, lines, has_end)


def is_begun(text: str) -> bool:
    """Return whether the text has at most a part of the first line.

    >>> is_begun(""), is_begun('{"format": "place'), is_begun("notes")
    (True, True, False)
    """
    beginning = line({"format": FORMAT}).removesuffix("}\n")
    return "\n" not in text and (text.startswith(beginning) or beginning.startswith(text))


def _header(text: str) -> Header:
    values = dict(_object(text, 1))
    format_, version = values.pop("format", None), values.pop("version", None)
    if (format_, version) != (FORMAT, VERSION):
        raise InvalidRepairFile(
            f"The file is not a plan of repairs: it has the format {format_}, version {version}; "
            f"this release reads {FORMAT}, version {VERSION}. Plan again with this release, or "
            "apply the file with the release that wrote it."
        )
    try:
        return Header(**values)
    except TypeError as error:
        raise InvalidRepairFile(f"The first line of the file cannot be read: {error}.") from error


def _object(text: str, number: int) -> Line:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidRepairFile(
            f"Line {number} of the file is not JSON, as in a plan or an undo file: {error}."
        ) from error
    if not isinstance(value, dict):
        raise InvalidRepairFile(f"Line {number} of the file is not a JSON object.")
    return value


def planned_actions(file: RepairFile) -> Sequence[Action]:
    """Return the actions of a plan.  Raises: InvalidRepairFile."""
    if file.header.kind != PLAN:
        raise InvalidRepairFile(f"The file is of the kind {file.header.kind}, not a plan.")
    if not file.has_end:
        raise InvalidRepairFile("The file is truncated: its last line is missing. Plan again.")
    return [actions.from_json(values) for values in file.lines]


def latest_entries(file: RepairFile) -> dict[str, Entry]:
    """Return the last entry of each action in an undo file, by the line of the action.

    An action can have several entries: the earlier entries were not committed, or were undone.
    An action whose last entry has no rows was skipped after its commit failed.
    Raises: InvalidRepairFile.
    """
    latest: dict[str, Entry] = {}
    for entry in map(_entry, file.lines):
        action = line(entry.action.as_json())
        if entry.in_effect is None:
            latest[action] = entry
        elif action in latest:  # an operator can delete lines
            latest[action] = replace(latest[action], in_effect=entry.in_effect)
    return {action: entry for action, entry in latest.items() if entry.recorded.scope}


def _entry(values: Line) -> Entry:
    try:
        recorded = dict(values)
        action = actions.from_json(recorded.pop("action"))
        if isinstance(in_effect := recorded.get("in_effect"), bool):
            return Entry(action, NO_ROWS, in_effect)
        return Entry(action, Recorded(**recorded))
    except (TypeError, ValueError, KeyError) as error:
        raise InvalidRepairFile(f"An entry of the undo file cannot be read: {error}.") from error
