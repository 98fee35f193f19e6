"""Loads the snapshot before a process accepts requests.

Otherwise the first requests for candidates wait until all providers are read, while other
processes could serve them at once.
"""

import importlib
import logging
from collections.abc import Callable
from typing import Any

from placement.engine.engine import Engine

LOG = logging.getLogger(__name__)


class Preload:
    """Loads the snapshot of an engine that is known later."""

    def __init__(self) -> None:
        self._engine: Engine | None = None

    def attach(self, engine: Engine) -> None:
        """Set the engine."""
        self._engine = engine

    def __call__(self) -> None:
        """Load the snapshot in this process; the first request does so if it fails."""
        if self._engine is None:
            return
        try:
            self._engine.current()
        except Exception as error:
            LOG.warning("The snapshot is loaded by the first request that needs it: %s", error)


def in_each_worker(load: Callable[[], None]) -> None:
    """Call ``load`` in this process or, if uWSGI is about to fork it, in each of its workers."""
    uwsgi = _uwsgi()
    if uwsgi is None or uwsgi.worker_id():
        load()
    else:
        uwsgi.post_fork_hook = _after(getattr(uwsgi, "post_fork_hook", None), load)


def _uwsgi() -> Any:
    """Return the module that exists only within uWSGI, None elsewhere."""
    try:
        return importlib.import_module("uwsgi")
    except ImportError:
        return None


def _after(earlier: Callable[[], None] | None, load: Callable[[], None]) -> Callable[[], None]:
    def both() -> None:
        if earlier is not None:
            earlier()
        load()

    return both
