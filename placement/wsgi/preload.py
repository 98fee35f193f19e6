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


def unless_forked_later(load: Callable[[], None]) -> None:
    """Call ``load`` in this process, unless uWSGI is about to fork it.

    A hook after the fork would load it in the workers, but a worker of uWSGI ignores signals while
    the hook runs: a reload at that moment would wait until the worker is killed.
    """
    uwsgi = _uwsgi()
    if uwsgi is None or uwsgi.worker_id():
        load()


def _uwsgi() -> Any:
    """Return the module that exists only within uWSGI, None elsewhere."""
    try:
        return importlib.import_module("uwsgi")
    except ImportError:
        return None
