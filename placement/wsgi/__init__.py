"""Reads the configuration and creates the WSGI application."""

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
from placement.http import auth
from placement.wsgi.preload import Preload, unless_forked_later

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
    preload = Preload()
    application = load(read_configuration(config_files()), preload)
    unless_forked_later(preload)
    return application


def load(conf: cfg.ConfigOpts, preload: "Preload | None" = None) -> WSGIApplication:
    """Set up logging and the database, and return the WSGI application.

    ``preload`` then loads the snapshot of the application when it is called.
    """
    set_up_logging(conf)
    db_api.configure(conf)
    if conf.log_options:
        conf.log_opt_values(LOG, python_logging.DEBUG)
    application = deploy.loadapp(conf, on_engine=preload.attach if preload else None)
    auth.check_is_configured(conf)
    return application


def read_configuration(
    files: list[str] | None = None,
    defaults: Mapping[tuple[str, str], object] = _NO_DEFAULTS,
    arguments: Sequence[str] = (),
) -> cfg.ConfigOpts:
    """Return a new configuration; the command line of the process is not read.

    ``files`` are read unless the arguments name some; with an empty list, ``placement.conf.d``
    is not read either. ``defaults`` replace the defaults of options, by group and option; files
    and environment take precedence over them. ``arguments`` may be ``--config-file`` and
    ``--config-dir``, as in oslo.config.
    """
    conf = cfg.ConfigOpts()
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
    """Set up logging with the options of oslo.log; Python warnings are logged, too.

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
