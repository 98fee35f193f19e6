"""Reading the configuration, and making of it the application that servers run."""

import logging as python_logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
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

_NO_DEFAULTS: Mapping[tuple[str, str], object] = MappingProxyType({})


def init_application() -> "WSGIApplication":
    """Return the service as a WSGI application, configured by files and environment.

    With OS_PLACEMENT_CONFIG_DIR the file is ``placement.conf`` in that folder, which must exist;
    otherwise oslo.config looks for it at its usual places. Variables such as
    ``OS_PLACEMENT_DATABASE__CONNECTION`` win over files.
    """
    return load(read_configuration(config_files()))


def load(conf: cfg.ConfigOpts) -> "WSGIApplication":
    """Return the service as a WSGI application, and set up the process for it."""
    set_up_logging(conf)
    db_api.configure(conf)
    if conf.log_options:
        conf.log_opt_values(LOG, python_logging.DEBUG)
    return deploy.loadapp(conf)


def config_files() -> list[str] | None:
    """Return the file that the environment names, None to look at the usual places."""
    folder = os.environ.get(CONFIG_FOLDER, "").strip()
    return [str(Path(folder) / CONFIG_FILE)] if folder else None


def read_configuration(
    files: list[str] | None = None,
    defaults: Mapping[tuple[str, str], object] = _NO_DEFAULTS,
    arguments: Sequence[str] = (),
) -> cfg.ConfigOpts:
    """Return a new configuration; the command line of the process is not looked at.

    ``files`` are read if the arguments name none; without any, an empty list, no
    ``placement.conf.d`` is looked for either. ``defaults`` are values by group and option that
    take the place of our own defaults; files and environment win over them. ``arguments`` may be
    ``--config-file`` and ``--config-dir``, as oslo.config has them.
    """
    conf = cfg.ConfigOpts()
    log.register_options(conf)
    options.register_opts(conf)
    options.set_middleware_defaults()
    for (group, option), value in defaults.items():
        conf.set_default(option, value, group)
    folders: list[str] | None = [] if files == [] else None
    conf(
        list(arguments),
        project=PROJECT,
        default_config_files=files,
        default_config_dirs=folders,
    )
    return conf


def set_up_logging(conf: cfg.ConfigOpts) -> None:
    """Log as the options of oslo.log say; warnings of Python are log lines, too."""
    log.set_defaults(default_log_levels=[*log.get_default_log_levels(), "routes=INFO"])
    log.setup(conf, PROJECT)
    python_logging.captureWarnings(capture=True)
