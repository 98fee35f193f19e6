"""Several processes that do the same work, kept alive."""

import logging
import os
import signal
import time
from collections.abc import Callable
from functools import partial
from types import FrameType

LOG = logging.getLogger(__name__)

_SECONDS_BEFORE_RESTART = 1.0
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def run(work: Callable[[], None], *, count: int) -> None:
    """Run the work in so many child processes until SIGTERM or SIGINT.

    A child that ends is replaced; those signals are passed on, and all children waited for. SIGHUP
    is passed on to those that there are; the children do what was set up for it before.
    """
    workers = _Workers(work)
    signal.signal(signal.SIGHUP, partial(workers.hang_up, signal.getsignal(signal.SIGHUP)))
    for number in _STOP_SIGNALS:
        signal.signal(number, workers.stop)
    for _ in range(count):
        workers.start()
    while workers.pids:
        pid, status = os.wait()
        workers.pids.discard(pid)
        if not workers.are_stopping:
            LOG.error("Worker %s ended with status %s and is replaced", pid, status)
            time.sleep(_SECONDS_BEFORE_RESTART)
            workers.start()


class _Workers:
    """The children there are. A signal never finds one that is started but not yet listed."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.pids: set[int] = set()
        self.are_stopping = False
        self._work = work

    def start(self) -> None:
        """Start one more child, unless all are being stopped."""
        signal.pthread_sigmask(signal.SIG_BLOCK, _STOP_SIGNALS)
        try:
            if not self.are_stopping:
                self.pids.add(os.fork() or self._be_worker())
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP_SIGNALS)

    def stop(self, _number: int, _frame: FrameType | None) -> None:
        """Tell all children to end."""
        self.are_stopping = True
        for pid in self.pids:
            os.kill(pid, signal.SIGTERM)

    def hang_up(
        self,
        before: "Callable[[int, FrameType | None], object] | int | None",
        number: int,
        frame: FrameType | None,
    ) -> None:
        """Do what SIGHUP did before; as the supervisor, pass it on as well."""
        if callable(before):
            before(number, frame)
        for pid in self.pids:
            os.kill(pid, number)

    def _be_worker(self) -> int:
        """Do the work, and never return: what the parent cleans up at its end is its own."""
        status = 1
        self.pids.clear()
        try:
            for number in _STOP_SIGNALS:
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOP_SIGNALS)
            self._work()
            status = 0
        except BaseException:
            LOG.exception("A worker failed")
        finally:
            os._exit(status)
