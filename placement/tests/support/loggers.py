"""The loggers of a process: what a test reads from them, and what it leaves."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, Self

import pytest


def messages(
    caplog: pytest.LogCaptureFixture, *loggers: logging.Logger, level: int = logging.NOTSET
) -> list[str]:
    """Return the messages of these loggers, at least of this level: others log what they like."""
    names = {logger.name for logger in loggers}
    return [
        record.getMessage()
        for record in caplog.records
        if record.name in names and record.levelno >= level
    ]


class _State(NamedTuple):
    """What a logger does with a record."""

    level: int
    handlers: tuple[logging.Handler, ...]
    propagate: bool
    disabled: bool

    @classmethod
    def of(cls, logger: logging.Logger) -> Self:
        return cls(logger.level, tuple(logger.handlers), logger.propagate, logger.disabled)

    def restore(self, logger: logging.Logger) -> None:
        for handler in set(logger.handlers) - set(self.handlers):
            handler.close()
        logger.handlers[:] = self.handlers
        logger.propagate, logger.disabled = self.propagate, self.disabled
        if logger.level != self.level:
            logger.setLevel(self.level)


@contextmanager
def restored() -> Iterator[None]:
    """Restore each logger, as commands and services change the level and handlers of many.

    Handlers that were added are closed: their streams end with the test. A logger that did not
    exist keeps them, because a library adds a handler once, when it is imported.
    """
    states = {logger: _State.of(logger) for logger in _loggers()}
    disabled = logging.root.manager.disable
    try:
        yield
    finally:
        logging.disable(disabled)
        for logger in _loggers():
            if logger in states:
                states[logger].restore(logger)
            else:
                logger.setLevel(logging.NOTSET)


def _loggers() -> list[logging.Logger]:
    named = logging.root.manager.loggerDict.values()
    return [logging.root, *(each for each in list(named) if isinstance(each, logging.Logger))]
