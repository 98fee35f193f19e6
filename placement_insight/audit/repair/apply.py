"""Applies an action of a plan, or undoes it, in one transaction."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from sqlalchemy.exc import DataError, IntegrityError

from placement import exception
from placement.core.changes import RepairChange
from placement.core.model import IncompleteConsumer
from placement.db.errors import first_line
from placement.db.resources.providers import provider_names
from placement.db.store import Store
from placement.db.transaction import Transaction
from placement_insight.audit.repair import transaction
from placement_insight.audit.repair.action import Action
from placement_insight.audit.repair.plan_file import Entry
from placement_insight.audit.repair.rows import AFTER, BEFORE, NO_ROWS, state_of
from placement_insight.audit.repair.transaction import ChangedSince, Repair
from placement_insight.history.model import LARGEST_ID, uuids_of
from placement_insight.history.repairs import of_repair
from placement_insight.history.sql import Filter, find
from placement_insight.history.words import sentence

APPLIED: Final = "applied"
ALREADY: Final = "already"
SKIPPED: Final = "skipped"

_UNCONFIRMED: Final = (
    "The rows are as after the action, but its commit is not confirmed, because a program was "
    "interrupted: another program may have changed the rows. If they must be restored, for "
    "example because the server of the removed allocations exists, add --unconfirmed."
)

_MOST_REPAIRS: Final = 1000

Record = Callable[[Entry], object]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The status ``applied``, ``already`` (by an earlier run) or ``skipped``, and the reason."""

    status: str
    reason: str = ""


def apply_action(
    store: Store, action: Action, incomplete: IncompleteConsumer, record: Record
) -> Outcome:
    """Apply an action; ``record`` what it changed before the commit, and the commit after it.

    Every committed action is therefore recorded. If a commit fails, and the action is skipped when
    it is tried again, ``record`` gets an entry without rows, which replaces the first one: rows
    that another program removed meanwhile are as after the action, and no undo may restore them.
    Raises: the errors of a write and of ``record``.
    """
    entry: Entry | None = None

    def apply(tx: Transaction) -> Outcome:
        nonlocal entry
        repair = Repair(tx, incomplete)
        action.perform(repair)
        entry = Entry(action, repair.recorded())
        images = entry.recorded.before, entry.recorded.after
        tx.execute_all(tx.records(of_repair(tx, RepairChange(None, action.kind), *images)))
        record(entry)
        return Outcome(APPLIED)

    outcome = _outcome(store, apply)
    if entry and outcome.status == APPLIED:
        record(replace(entry, in_effect=True))
    elif entry:
        record(Entry(action, NO_ROWS))
    return outcome


def undo_action(
    store: Store, entry: Entry, record: Record, *, unconfirmed: bool = False
) -> Outcome:
    """Undo an action that is in effect; if that is not known, only if it is ``unconfirmed``.

    ``record`` gets the entry before the commit, and that it is not in effect after it: later runs
    do not restore rows that another program has removed since. Raises: the errors of a write and
    of ``record``.
    """
    if entry.in_effect is False:
        return Outcome(ALREADY)

    def undo(tx: Transaction) -> Outcome:
        transaction.lock(tx, entry.recorded)
        state = state_of(tx.connection, entry.recorded)
        if state == BEFORE:
            return Outcome(ALREADY)
        if state != AFTER:
            raise ChangedSince(f"The rows have changed since the action{_last_change(tx, entry)}.")
        if not (entry.in_effect or unconfirmed):
            raise ChangedSince(_UNCONFIRMED)
        transaction.restore(tx, entry.recorded)
        images = entry.recorded.after, entry.recorded.before
        undone = RepairChange(entry.action.kind, None)
        tx.execute_all(tx.records(of_repair(tx, undone, *images)))
        record(replace(entry, in_effect=None))
        return Outcome(APPLIED)

    outcome = _outcome(store, undo)
    if outcome.status != SKIPPED:
        record(replace(entry, in_effect=False))
    return outcome


def _last_change(tx: Transaction, entry: Entry) -> str:
    """Return the last change of the consumers, or of the providers, by a request after it."""
    repairs = find(tx, Filter(kind=RepairChange.kind, limit=_MOST_REPAIRS))
    own = (each.id for each in repairs if each.change == RepairChange(None, entry.action.kind))
    begin, consumers = next(own, LARGEST_ID), entry.recorded.consumers
    filters = [Filter(consumer=uuid, limit=1) for uuid in consumers] or [
        Filter(providers=entry.recorded.providers.values(), limit=1)
    ]
    records = [record for each in filters for record in find(tx, each)]
    newest = max(records, key=lambda record: record.id, default=None)
    if newest is None or newest.id <= begin or newest.request_id is None:
        return ""
    names = provider_names(tx.connection, uuids_of(newest.change))
    return f": {sentence(newest.change, names)} {newest.origin}"


def _outcome(store: Store, work: Callable[[Transaction], Outcome]) -> Outcome:
    """Return what happened in a write; an action that cannot be applied is skipped."""
    try:
        return store.write(work)
    except (exception.DatabaseUnavailable, exception.CommitLost):
        raise
    except (ChangedSince, exception.PlacementException) as error:
        return Outcome(SKIPPED, str(error))
    except (DataError, IntegrityError) as error:  # rows are inconsistent, or the file was edited
        return Outcome(SKIPPED, first_line(error))


def is_applied(store: Store, entry: Entry) -> bool:
    """Return whether the action was not undone, and the rows are as after it."""
    with store.read() as tx:
        return entry.in_effect is not False and state_of(tx.connection, entry.recorded) == AFTER
