"""Errors that operators can correct, reported as one sentence instead of a traceback."""

import logging
import re
import sys
from collections.abc import Callable
from typing import Any

from alembic.util.exc import CommandError as AlembicError
from oslo_config import cfg
from oslo_log import log
from sqlalchemy.exc import ArgumentError, DBAPIError

from placement import terminal
from placement.conf.base import CONFIG_DIR_VARIABLE, CONFIG_FILE, config_files, with_options_in_use
from placement.core.text import printable_lines
from placement.db import errors
from placement.exception import DatabaseUnavailable, PlacementException, PolicyCheckFailed

LOG = logging.getLogger(__name__)


class CommandError(Exception):
    """The command cannot be run; the message states the reason and the action."""


ERRORS = (
    CommandError,
    PlacementException,
    cfg.Error,
    ArgumentError,
    AlembicError,
    DBAPIError,
    errors.ConnectionLost,
    ImportError,
    RuntimeError,
    OSError,
    UnicodeDecodeError,
    log.LogConfigError,
)


def run(
    program: str,
    command: Callable[[], int],
    conf: cfg.ConfigOpts | None = None,
    *,
    failure: int = 1,
) -> int:
    """Return the exit code of the command; print a sentence and return ``failure`` on errors.

    The commands in the sentence have the options in ``conf`` that name the configuration.
    """
    terminal.accept_all_characters()
    try:
        return terminal.written(command, failure)
    except BrokenPipeError:  # of the output: connections raise other errors
        terminal.discard_unwritten()
        return terminal.CLOSED
    except ERRORS as error:
        terminal.discard_unwritten()
        LOG.debug("%s failed", program, exc_info=True)
        text = message(error)
        text = with_options_in_use(text, conf) if conf else text
        print(f"{program}: {printable_lines(text)}", file=sys.stderr)
        return failure
    except KeyboardInterrupt:
        terminal.discard_unwritten()
        print(f"{program}: interrupted", file=sys.stderr)
        return terminal.INTERRUPTED


def message(error: BaseException) -> str:
    """Return the message for an operator: the error and the action."""
    if isinstance(error, cfg.RequiredOptError) and error.opt_name == "connection":
        return _missing_connection()
    for kind, describe in _DESCRIPTIONS:
        if isinstance(error, kind):
            return describe(error)
    return _LOCATION.sub(r"\1", str(error))


# How oslo.config names the place of an invalid value.
_LOCATION = re.compile(r"LocationInfo\(location=<[^>]*>, detail='([^']*)'\)")

_NO_SCHEMA = "The database does not have the expected schema: {}. Run `placement-manage db sync`."
_CHECK_FILES = f"{{}}. Check --config-file, --config-dir and {CONFIG_DIR_VARIABLE}."


def _unavailable(error: DatabaseUnavailable) -> str:
    reason = error.reason.rstrip(".")
    if errors.is_access_denied(error):
        return (
            f"The database refuses the login: {reason}. Check user and password in "
            "[placement_database]connection. If the account requires a client certificate, add "
            "its files: ssl_cert and ssl_key (PostgreSQL: sslcert and sslkey)."
        )
    return (
        f"The database is not available: {reason}. Check that it runs, and "
        "[placement_database]connection."
    )


def _policy_check_failed(error: PolicyCheckFailed) -> str:
    reason = error.reason.rstrip(".")
    return (
        f"The external check of the policy rule {error.rule} failed: {reason}. Check that this "
        "host reaches the policy service, or change the rule."
    )


def _undecodable(error: UnicodeDecodeError) -> str:
    """Return the error of a configuration file, the only text that commands decode."""
    line = error.object.count(b"\n", 0, error.start) + 1
    return (
        f"A configuration file is not UTF-8 text: byte {error.object[error.start]:#04x} in line "
        f"{line}. Check {_first_file()}, and the files that --config-file and --config-dir name."
    )


def _first_file() -> str:
    return (config_files() or [f"/etc/placement/{CONFIG_FILE}"])[0]


def _missing_connection() -> str:
    return (
        f"No database is configured. Set [placement_database]connection in {_first_file()}, name "
        f"another file by --config-file or its directory by {CONFIG_DIR_VARIABLE}, or set the "
        "variable OS_PLACEMENT_DATABASE__CONNECTION."
    )


# the extras of openplacement with optional libraries, by module
_EXTRAS = {
    "MySQLdb": "mysqlclient",
    "psycopg": "postgresql",
    "prometheus_client": "metrics",
    "osprofiler": "profiling",
    "werkzeug": "profiling",
    "openstack": "cli",
}
_DRIVERS = {"psycopg2": "postgresql+psycopg", "asyncpg": "postgresql+psycopg"}


def _missing_library(error: ImportError) -> str:
    """Return the error, and the command that installs the module or the driver to use instead."""
    reason = str(error).partition("\n")[0].rstrip(".")
    module = (error.name or "").partition(".")[0]
    if module in _EXTRAS:
        return f"{reason}. Run `pip install 'openplacement[{_EXTRAS[module]}]'`."
    if module in _DRIVERS:
        return f"{reason}. Begin [placement_database]connection with {_DRIVERS[module]}://."
    return f"{reason}. Install it."


def _as(template: str) -> Callable[[Any], str]:
    """Return a function that inserts the first line of an error into the template."""
    return lambda error: template.format(str(error).partition("\n")[0].rstrip("."))


_DESCRIPTIONS: tuple[tuple[type[BaseException], Callable[[Any], str]], ...] = (
    (errors.TablesMissing, lambda error: _NO_SCHEMA.format(error.reason.rstrip("."))),
    (DatabaseUnavailable, _unavailable),
    (PolicyCheckFailed, _policy_check_failed),
    (UnicodeDecodeError, _undecodable),
    (OSError, terminal.describe),
    (cfg.ConfigFilesNotFoundError, _as(_CHECK_FILES)),
    (cfg.ConfigDirNotFoundError, _as(_CHECK_FILES)),
    (ArgumentError, _as("[placement_database]connection is not a valid URL of a database: {}.")),
    (DBAPIError, _as(_NO_SCHEMA)),
    (ImportError, _missing_library),
)
