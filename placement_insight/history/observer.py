"""Records each change in its transaction, and removes the oldest records after others."""

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
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

LOG = logging.getLogger(__name__)

_LONGEST_ID: Final = 255
_NOT_REMOVED: Final = "Old changes cannot be removed from insight_changes: %s"
_BATCH: Final = 1000
_MOST_EXCESS: Final = 5000
_FAILURES: Final = (exception.PlacementException, SQLAlchemyError)


class History(ChangeObserver):
    """Records changes in a table with up to ``rows`` of allocations, and as many others."""

    def __init__(
        self, store: Store, rows: int, run: Callable[[Callable[[], None]], object] | None = None
    ) -> None:
        self._store, self._rows = store.writing_with(in_background=True), rows
        self._run = run or in_thread
        self._prune_after = min(rows // 40, _MOST_EXCESS)
        self._unpruned = 0
        self._pruning = threading.Lock()

    def start(self) -> None:
        """Record that the history begins; without history, remove all.

        The first write removes what the last process did not. If this fails, for example on a
        read-only database, the process serves reads.
        """
        try:
            if self._rows:
                self._unpruned = self._prune_after + 1
                sql.begin(self._store)
            else:
                sql.prune(self._store, 0, _BATCH)
        except _FAILURES as error:
            reason = first_line(error)
            LOG.warning("insight_changes cannot be prepared: %s. Restart the process.", reason)

    def records(self, changes: Iterable[Change]) -> Sequence[Write]:
        """Return the writes that record changes of the current request, or of a command."""
        if not self._rows:
            return ()
        recorded = tuple(changes)
        self._unpruned += len(recorded)
        return sql.insertions(_author(), recorded)

    def after_write(self) -> None:
        """Remove the oldest records in another thread, if there have been enough new ones."""
        if self._unpruned > self._prune_after and self._pruning.acquire(blocking=False):
            self._unpruned = 0
            try:
                self._run(self._prune)
            except RuntimeError as error:  # no thread can be started; the write is committed
                self._pruning.release()
                LOG.warning(_NOT_REMOVED, error)

    def _prune(self) -> None:
        try:
            sql.prune(self._store, self._rows, _BATCH)
        except _FAILURES as error:
            LOG.warning(_NOT_REMOVED, first_line(error))
        finally:
            self._pruning.release()


def in_thread(work: Callable[[], None]) -> None:
    """Do the work in a thread of its own: the request does not wait for it."""
    threading.Thread(target=work, daemon=True).start()


def _author() -> dict[str, object]:
    """Return the columns of the request of this thread; None without a request, or a value."""
    context = get_current()
    texts = {name: getattr(context, name, None) or "" for name in sql.AUTHOR}
    ids = {name: text[:_LONGEST_ID] or None for name, text in texts.items()}
    return {"created_at": utcnow(), **ids}
