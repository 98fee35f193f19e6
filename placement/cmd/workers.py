"""The worker processes of ``placement-api --workers``, managed by cotyledon.

cotyledon is the process manager of OpenStack services. It forks the workers, replaces workers
that exit, forwards SIGTERM and SIGHUP to the workers, and enforces a deadline for their shutdown.
A signal that arrives while a worker is being forked is handled after the fork.

All workers accept connections from one socket, which they inherit.
"""

import multiprocessing
import signal
import threading
from collections.abc import Callable

import cotyledon
from cotyledon.types import WorkerId

from placement.cmd.server import STOP_DEADLINE_SECONDS, Server, Settings


class Worker(cotyledon.Service):  # type: ignore[misc,unused-ignore]  # untyped if not installed
    """One worker process; cotyledon calls ``run`` in a thread, other methods upon signals."""

    name = "worker"

    def __init__(
        self,
        worker_id: WorkerId,
        settings: Settings,
        reload: Callable[[], None],
        preload: Callable[[], None],
    ) -> None:
        super().__init__(worker_id)
        self._settings = settings
        self._server: Server | None = None
        self._is_terminating = False
        self._has_ended = threading.Event()
        self._reload = reload
        self._preload = preload

    def run(self) -> None:
        """Serve until ``terminate`` is called."""
        try:
            self._preload()
            self._server = Server(self._settings)
            if self._is_terminating:
                self._server.stop()
            self._server.serve()
        finally:
            self._has_ended.set()

    def terminate(self) -> None:
        """Complete the requests in progress, and stop; called upon SIGTERM."""
        self._is_terminating = True
        if self._server:
            self._server.stop()
        self._has_ended.wait()

    def reload(self) -> None:
        """Read the configuration again; called upon SIGHUP."""
        self._reload()


def run(
    settings: Settings, *, count: int, reload: Callable[[], None], preload: Callable[[], None]
) -> None:
    """Serve with ``count`` worker processes until SIGTERM or SIGINT; does not return.

    Each worker calls ``preload`` before it listens. SIGTERM lets the workers complete their
    requests, for at most ``STOP_DEADLINE_SECONDS``; SIGINT stops them at once.
    """
    manager = cotyledon.ServiceManager(
        graceful_shutdown_timeout=STOP_DEADLINE_SECONDS,
        mp_context=multiprocessing.get_context("fork"),
    )

    def stop() -> None:
        settings.listener.close()  # connections are refused once no worker accepts them
        signal.signal(signal.SIGALRM, lambda *_: _kill_workers())

    manager.register_hooks(on_terminate=stop)
    manager.add(Worker, workers=count, args=(settings, reload, preload))
    manager.run()


def _kill_workers() -> None:
    """Kill the workers that remain after the deadline, when cotyledon has set the alarm.

    cotyledon waits for the workers without a limit. A worker that is stopped, or that lost SIGTERM
    while it started, does not end at the deadline.
    """
    for process in multiprocessing.active_children():
        process.kill()
