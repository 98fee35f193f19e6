"""``placement-manage audit --plan`` and ``--apply``: repairs in two steps, and their undo."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from oslo_config import cfg

from placement import db_api
from placement.cmd.errors import CommandError
from placement.cmd.repair_journal import Journal
from placement.core.model import IncompleteConsumer
from placement.core.text import printable, timestamp
from placement.db.store import Store
from placement.insight.repair import plan_file as plans
from placement.insight.repair.actions import Action
from placement.insight.repair.apply import ALREADY, SKIPPED, Outcome, apply_action
from placement.insight.repair.durable_file import open_own, replace_durably
from placement.insight.repair.plan_file import (
    AFTER,
    UNDO,
    Document,
    Header,
    InvalidRepairFile,
    Plan,
    action_as_json,
    line,
    read_lines,
    undo_from_json,
)
from placement.insight.repair.planning import Planned
from placement.insight.repair.undo import row_state, undo_action

COMPLETE: Final = 0
SOME_SKIPPED: Final = 4
"""The exit status if actions were skipped because their rows have changed since the plan."""


@dataclass(frozen=True, slots=True)
class ActionResult:
    """An action and its outcome."""

    action: Mapping[str, Any]
    outcome: Outcome


def write_plan(path: Path, store: Store, planned: Planned) -> None:
    """Write the plan atomically.  Raises: OSError."""
    plan = Plan(str(store.epoch()), _now(), planned.actions)
    replace_durably(path, "".join(plans.as_text(plan)))


def _now() -> str:
    return timestamp(datetime.now(UTC))


def run(conf: cfg.ConfigOpts) -> int:
    """Apply the plan or the undo file; return 0, or 4 if an action was skipped."""
    options = conf.category
    path = Path(options.apply)
    text = _text(path)
    try:
        document = read_lines(text.splitlines(keepends=True))
        with db_api.opened(conf) as store:
            _check_database(store, document, path, any_epoch=options.any_epoch)
            if document.header.kind == UNDO:
                results = list(_undo(store, document))
                return _report(results, None, as_json=options.json)
            undo_path = Path(options.undo) if options.undo else path.with_name(f"{path.name}.undo")
            plan = plans.from_lines(text.splitlines(keepends=True))
            header = Header(UNDO, plan.database, _now(), plan=_digest(text))
            with Journal(undo_path, header) as journal:
                results = list(_apply(store, plan.actions, journal, _incomplete(conf)))
                journal.end()
            return _report(results, undo_path, as_json=options.json)
    except InvalidRepairFile as error:
        raise CommandError(f"{path}: {error}") from error


def _text(path: Path) -> str:
    try:
        with open(path, encoding="utf-8", opener=open_own) as file:
            return file.read()
    except UnicodeDecodeError as error:
        raise CommandError(f"{path} is not a plan of repairs: it is not UTF-8.") from error


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _incomplete(conf: cfg.ConfigOpts) -> IncompleteConsumer:
    options = conf.placement
    return IncompleteConsumer(
        options.incomplete_consumer_project_id, options.incomplete_consumer_user_id
    )


def _check_database(store: Store, document: Document, path: Path, *, any_epoch: bool) -> None:
    epoch = str(store.epoch())
    if document.header.database != epoch and not any_epoch:
        raise CommandError(
            f"{path} was written for the database with epoch {document.header.database}, but this "
            f"database has epoch {epoch}: it is another database, was restored, or `db sync` was "
            "run. Write a new plan, or add --any-epoch if you know that it is the same database."
        )


def _apply(
    store: Store, actions: Iterable[Action], journal: Journal, incomplete: IncompleteConsumer
) -> Iterator[ActionResult]:
    for action in actions:
        outcome = apply_action(store, action, incomplete, journal.record)
        recorded = journal.recorded.get(line(action_as_json(action)))
        if outcome.status == SKIPPED and recorded and row_state(store, recorded) == AFTER:
            outcome = Outcome(ALREADY)
        yield ActionResult(action_as_json(action), outcome)


def _undo(store: Store, document: Document) -> Iterator[ActionResult]:
    """Undo the actions, the last one first.

    An action can have several entries: the earlier entries were not committed, or were undone.
    """
    latest = {line(entry["action"]): undo_from_json(entry) for entry in document.entries}
    for entry in reversed(latest.values()):
        yield ActionResult(entry.action, undo_action(store, entry))


def _report(results: Iterable[ActionResult], undo: Path | None, *, as_json: bool) -> int:
    listed = list(results)
    counts = Counter(result.outcome.status for result in listed)
    print(_as_json(listed, undo) if as_json else _as_text(listed, counts, undo))
    return SOME_SKIPPED if counts[SKIPPED] else COMPLETE


def _as_json(results: Iterable[ActionResult], undo: Path | None) -> str:
    rows = [
        {"status": result.outcome.status, "reason": result.outcome.reason, "action": result.action}
        for result in results
    ]
    return json.dumps({"version": 1, "undo": str(undo) if undo else None, "actions": rows})


def _as_text(results: Iterable[ActionResult], counts: Mapping[str, int], undo: Path | None) -> str:
    lines = [
        printable(f"skipped {json.dumps(result.action)}: {result.outcome.reason}")
        for result in results
        if result.outcome.status == SKIPPED
    ]
    lines.append(
        f"{counts['applied']} applied, {counts['already']} applied already, "
        f"{counts['skipped']} skipped"
    )
    if undo:
        lines.append(f"To undo: placement-manage audit --apply {undo}")
    return "\n".join(lines)
