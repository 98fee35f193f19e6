"""Tasks of a request that run after its response has been sent."""

import logging
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from placement.wsgi_wrapper import AFTER_RESPONSE, Task

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

LOG = logging.getLogger(__name__)


class AfterResponse:
    """Runs the tasks that handlers leave, when the server closes the response (PEP 3333).

    Servers do that when the last byte has been handed to the client's connection, in the same
    thread: the client has its response, and the thread is free again after the tasks.
    """

    def __init__(self, application: "WSGIApplication") -> None:
        self._application = application

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        """Handle the request."""
        tasks: list[Task] = []
        environ[AFTER_RESPONSE] = tasks
        parts = self._application(environ, start_response)
        return _Response(parts, tasks) if tasks else parts


class _Response:
    """The parts of a response, and the tasks that run after the last."""

    def __init__(self, parts: Iterable[bytes], tasks: list[Task]) -> None:
        self._parts = parts
        self._tasks = tasks

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._parts)

    def close(self) -> None:
        """Close the parts, and run each task once; an error in one is logged."""
        close = getattr(self._parts, "close", None)
        if close is not None:
            close()
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            try:
                task()
            except Exception:
                LOG.exception("A task after the response failed")
