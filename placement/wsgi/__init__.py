"""Reading the configuration, and making of it the application that servers run."""

import logging as python_logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

from oslo_config import cfg
from oslo_log import log

from placement import conf as options
from placement import db_api, deploy

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

LOG = log.getLogger(__name__)

PROJECT = "placement"
CONFIG_FOLDER = "OS_PLACEMENT_CONFIG_DIR"
CONFIG_FILE = "placement.conf"


def init_application() -> "WSGIApplication":
    """Return the service as a WSGI application, configured by files and environment.

    With OS_PLACEMENT_CONFIG_DIR the file is ``placement.conf`` in that folder, which must exist;
    otherwise oslo.config looks for it at its usual places. Variables such as
    ``OS_PLACEMENT_DATABASE__CONNECTION`` win over files.
    """
    conf = read_configuration(config_files())
    set_up_logging(conf)
    db_api.configure(conf)
    if conf.log_options:
        conf.log_opt_values(LOG, python_logging.DEBUG)
    return deploy.loadapp(conf)


def config_files() -> list[str] | None:
    """Return the file that the environment names, None to look at the usual places."""
    folder = os.environ.get(CONFIG_FOLDER, "").strip()
    return [str(Path(folder) / CONFIG_FILE)] if folder else None


def read_configuration(files: list[str] | None) -> cfg.ConfigOpts:
    """Return a new configuration; the command line of the process is not looked at."""
    conf = cfg.ConfigOpts()
    log.register_options(conf)
    options.register_opts(conf)
    options.set_middleware_defaults()
    conf([], project=PROJECT, default_config_files=files)
    return conf


def set_up_logging(conf: cfg.ConfigOpts) -> None:
    """Log as the options of oslo.log say; warnings of Python are log lines, too."""
    log.set_defaults(default_log_levels=[*log.get_default_log_levels(), "routes=INFO"])
    log.setup(conf, PROJECT)
    python_logging.captureWarnings(capture=True)
