"""Applies an action of a plan, or undoes it, in one transaction."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from sqlalchemy.exc import DataError, IntegrityError

from placement import exception
from placement.core.model import IncompleteConsumer
from placement.db.errors import first_line
from placement.db.store import Store
from placement.db.transaction import Transaction
from placement.insight.repair import transaction
from placement.insight.repair.action import Action
from placement.insight.repair.plan_file import Entry
from placement.insight.repair.rows import AFTER, BEFORE, NO_ROWS, state_of
from placement.insight.repair.transaction import ChangedSince, Repair

APPLIED: Final = "applied"
ALREADY: Final = "already"
SKIPPED: Final = "skipped"

Record = Callable[[Entry], object]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The status ``applied``, ``already`` (by an earlier run) or ``skipped``, and the reason."""

    status: str
    reason: str = ""


def apply_action(
    store: Store, action: Action, incomplete: IncompleteConsumer, record: Record
) -> Outcome:
    """Apply an action, and pass what it changed to ``record`` before the commit.

    Every committed action is therefore recorded. If a commit fails, and the action is skipped when
    it is tried again, ``record`` gets an entry without rows, which replaces the first one: rows
    that another program removed meanwhile are as after the action, and no undo may restore them.
    Raises: the errors of a write and of ``record``.
    """
    is_recorded = False

    def apply(tx: Transaction) -> Outcome:
        nonlocal is_recorded
        repair = Repair(tx, incomplete)
        action.perform(repair)
        record(Entry(action, repair.recorded()))
        is_recorded = True
        return Outcome(APPLIED)

    outcome = _outcome(store, apply)
    if outcome.status == SKIPPED and is_recorded:
        record(Entry(action, NO_ROWS))
    return outcome


def undo_action(store: Store, entry: Entry) -> Outcome:
    """Undo an action.  Raises: the errors of a write."""

    def undo(tx: Transaction) -> Outcome:
        transaction.lock(tx, entry.recorded)
        state = state_of(tx.connection, entry.recorded)
        if state == BEFORE:
            return Outcome(ALREADY)
        if state != AFTER:
            raise ChangedSince("The rows have changed since the action.")
        transaction.restore(tx, entry.recorded)
        return Outcome(APPLIED)

    return _outcome(store, undo)


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
    """Return whether the rows are as after the action."""
    with store.read() as tx:
        return state_of(tx.connection, entry.recorded) == AFTER
