"""Records each change in its transaction, and removes the oldest records after others."""

import logging
import random
import threading
from collections.abc import Iterable, Sequence
from typing import Final

from oslo_context.context import get_current
from sqlalchemy.exc import SQLAlchemyError

from placement import exception
from placement.core.changes import Change
from placement.db.clocks import utcnow
from placement.db.errors import first_line
from placement.db.store import Store
from placement.db.transaction import ChangeObserver
from placement.db.writes import Write
from placement_insight.history import sql
from placement_insight.history.model import columns_of

LOG = logging.getLogger(__name__)

_LONGEST_ID: Final = 255
_BATCH: Final = 1000
_MOST_EXCESS: Final = 5000
_FAILURES: Final = (exception.PlacementException, SQLAlchemyError)


class History(ChangeObserver):
    """Records changes in a table with up to ``rows`` of allocations, and as many others."""

    def __init__(self, store: Store, rows: int) -> None:
        self._store, self._rows = store, rows
        self._prune_after = min(rows // 40, _MOST_EXCESS)
        # processes that end before they add so many rows remove some, too
        self._unpruned = random.randint(0, self._prune_after)  # noqa: S311
        self._excess: sql.Excess | None = None
        self._pruning = threading.Lock()

    def start(self) -> None:
        """Record that the history begins, if it has no record; without history, remove it.

        If this fails, for example on a read-only database, the process serves reads.
        """
        try:
            if self._rows:
                sql.begin(self._store)
            else:
                sql.clear(self._store, _BATCH)
        except _FAILURES as error:
            reason = first_line(error)
            LOG.warning("insight_changes cannot be prepared: %s. Restart the process.", reason)

    def records(self, changes: Iterable[Change]) -> Sequence[Write]:
        """Return the writes that record changes of the current request, or of a command."""
        if not self._rows:
            return ()
        author = _author()
        recorded = tuple(changes)
        self._unpruned += len(recorded)
        rows = ({**author, **columns_of(change)} for change in recorded)
        return [*sql.insertions(rows), *sql.references(recorded)]

    def after_write(self) -> None:
        """Remove a batch of the oldest records, if there have been enough new ones."""
        if self._unpruned <= self._prune_after or not self._pruning.acquire(blocking=False):
            return
        try:
            self._prune()
        except _FAILURES as error:  # the write is committed: its request has not failed
            reason = first_line(error)
            LOG.warning("Old changes cannot be removed from insight_changes: %s", reason)
            self._unpruned = 0
        finally:
            self._pruning.release()

    def _prune(self) -> None:
        """Remove a batch; if more rows remain, the next write removes the next batch."""
        if self._excess is None:
            self._excess = sql.excess(self._store, self._rows)
        if self._store.write(sql.remove, self._excess, _BATCH) < _BATCH:
            self._unpruned, self._excess = 0, None


def _author() -> dict[str, object]:
    """Return the columns of the request of this thread, if there is one."""
    columns: dict[str, object] = {"created_at": utcnow()}
    if context := get_current():
        for name in sql.AUTHOR:
            if text := getattr(context, name):
                columns[name] = text[:_LONGEST_ID]
    return columns
