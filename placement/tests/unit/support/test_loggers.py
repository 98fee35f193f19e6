"""A test leaves the loggers as it found them."""

import io
import logging
import uuid

import pytest
from oslo_config import cfg
from oslo_log import log as oslo_log

from placement.tests import plugin
from placement.tests.support import loggers


@pytest.fixture
def logger():
    return logging.getLogger("placement.requestlog")


def test_the_logging_of_a_command_ends_with_it(logger):
    """That of oslo.log: all handlers of the root are replaced, and levels set."""
    root, alembic = logging.getLogger(), logging.getLogger("alembic")
    before = (root.level, root.handlers[:], alembic.level)
    with loggers.restored():
        conf = cfg.ConfigOpts()
        oslo_log.register_options(conf)
        conf(["--debug"], project="placement", default_config_files=[])
        conf.set_override("default_log_levels", ["alembic=CRITICAL"])
        oslo_log.setup(conf, "placement")
        assert (root.level, alembic.level) == (logging.DEBUG, logging.CRITICAL)
        assert root.handlers != before[1]
    assert (root.level, root.handlers, alembic.level) == before


def test_all_of_a_logger_is_restored(logger):
    with loggers.restored():
        logger.setLevel(logging.ERROR)
        logger.addHandler(logging.StreamHandler(io.StringIO()))
        logger.propagate = False
        logger.disabled = True
        logging.disable(logging.CRITICAL)
    assert (logger.level, logger.handlers) == (logging.NOTSET, [])
    assert (logger.propagate, logger.disabled) == (True, False)
    assert logger.isEnabledFor(logging.CRITICAL)


def test_a_level_that_was_removed_returns(logger):
    logger.setLevel(logging.ERROR)
    with loggers.restored():
        logger.setLevel(logging.NOTSET)
    assert logger.level == logging.ERROR


def test_a_new_logger_keeps_its_handlers_but_no_level():
    with loggers.restored():
        new = logging.getLogger(f"new.{uuid.uuid4()}")
        new.addHandler(logging.NullHandler())
        new.setLevel(logging.ERROR)
    assert len(new.handlers) == 1
    assert new.level == logging.NOTSET


def test_a_handler_that_was_added_is_closed(tmp_path, logger):
    with loggers.restored():
        handler = logging.FileHandler(tmp_path / "log")
        logger.addHandler(handler)
        stream = handler.stream
    assert stream.closed


def test_each_test_is_surrounded_with_its_fixtures():
    """Those of a module begin before the fixtures of a test."""
    level = logging.getLogger().level
    protocol = plugin.pytest_runtest_protocol()
    next(protocol)
    logging.getLogger().setLevel(logging.DEBUG)
    with pytest.raises(StopIteration):
        next(protocol)
    assert logging.getLogger().level == level


def test_messages_are_those_of_the_given_loggers(caplog, logger):
    caplog.set_level(logging.INFO)
    other = logging.getLogger("other")
    other.warning("from elsewhere")
    logger.info("first %s", 1)
    logger.warning("second")
    assert loggers.messages(caplog, logger) == ["first 1", "second"]
    assert loggers.messages(caplog, logger, level=logging.WARNING) == ["second"]
    assert loggers.messages(caplog, logger, other) == ["from elsewhere", "first 1", "second"]
