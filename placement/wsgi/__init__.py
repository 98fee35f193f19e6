"""Reads the configuration and creates the WSGI application."""

import importlib
import logging as python_logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from wsgiref.types import WSGIApplication

from oslo_config import cfg
from oslo_log import log

from placement import conf as options
from placement import db_api, deploy
from placement.conf.base import config_files
from placement.core.text import printable
from placement.engine.engine import Engine
from placement.http import auth

LOG = log.getLogger(__name__)

PROJECT = "placement"

_NO_DEFAULTS: Mapping[tuple[str, str], object] = MappingProxyType({})


def init_application() -> WSGIApplication:
    """Return the WSGI application, configured by files and environment variables.

    If OS_PLACEMENT_CONFIG_DIR is set, the file is ``placement.conf`` in that directory, which must
    exist; otherwise oslo.config searches its default locations. Environment variables such as
    ``OS_PLACEMENT_DATABASE__CONNECTION`` take precedence over files. The snapshot is loaded before
    the process accepts requests, unless uWSGI forks its workers later.
    """
    application, engine = load(read_configuration(config_files()))
    if not _is_forked_later():
        preload(engine)
    return application


def load(conf: cfg.ConfigOpts) -> tuple[WSGIApplication, Engine]:
    """Set up logging and the database; return the WSGI application and its engine."""
    set_up_logging(conf)
    db_api.configure(conf)
    if conf.log_options:
        conf.log_opt_values(LOG, python_logging.DEBUG)
    loaded = deploy.load(conf)
    auth.check_is_configured(conf)
    return loaded


def preload(engine: Engine) -> None:
    """Load the snapshot in this process; the first request does so if it fails.

    Otherwise the first requests for candidates wait until all providers are read, while other
    processes could serve them at once.
    """
    try:
        engine.current()
    except Exception as error:
        LOG.warning("The snapshot is loaded by the first request that needs it: %s", error)


def _is_forked_later() -> bool:
    """Return whether uWSGI is about to fork this process.

    A hook after the fork would load the snapshot in the workers, but a worker of uWSGI ignores
    signals while the hook runs: a reload at that moment would wait until the worker is killed.
    """
    try:
        uwsgi = importlib.import_module("uwsgi")  # exists only within uWSGI
    except ImportError:
        return False
    return not uwsgi.worker_id()


def read_configuration(
    files: list[str] | None = None,
    defaults: Mapping[tuple[str, str], object] = _NO_DEFAULTS,
    arguments: Sequence[str] = (),
    conf: cfg.ConfigOpts | None = None,
) -> cfg.ConfigOpts:
    """Return ``conf``, or a new configuration; the command line of the process is not read.

    ``files`` are read unless the arguments name some; with an empty list, ``placement.conf.d``
    is not read either. ``defaults`` replace the defaults of options, by group and option; files
    and environment take precedence over them. ``arguments`` may be ``--config-file`` and
    ``--config-dir``, as in oslo.config.
    """
    conf = cfg.ConfigOpts() if conf is None else conf
    log.register_options(conf)
    options.register_opts(conf)
    for (group, option), value in defaults.items():
        conf.set_default(option, value, group)
    folders: list[str] | None = [] if files == [] else None
    conf(
        list(arguments),
        project=PROJECT,
        default_config_files=files,
        default_config_dirs=folders,
    )
    options.set_middleware_defaults()
    return conf


def set_up_logging(conf: cfg.ConfigOpts) -> None:
    """Set up logging of records and Python warnings, with the options of oslo.log.

    Each record is one line: line breaks and control characters, which clients can send in names,
    are escaped.
    """
    log.setup(conf, PROJECT)
    for handler in python_logging.getLogger().handlers:
        handler.addFilter(_escape)
    python_logging.captureWarnings(capture=True)


def _escape(record: python_logging.LogRecord) -> bool:
    with suppress(TypeError, ValueError):  # wrong arguments: the formatter reports them
        record.msg, record.args = printable(record.getMessage()), None
    return True
