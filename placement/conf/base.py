"""Options of [DEFAULT]: paths and the process as a whole; and where the configuration is found."""

import os
import shlex
from collections.abc import Sequence
from dataclasses import fields
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar, cast

from oslo_config import cfg

import placement

T = TypeVar("T")

group = None
options = [
    cfg.StrOpt(
        "pybasedir",
        default=str(Path(placement.__file__).parent.parent),
        sample_default="<Path>",
        help="The directory where the Python modules of placement are installed.",
    ),
    cfg.StrOpt(
        "state_path",
        default="$pybasedir",
        help="""
The top-level directory for state of the service.

The option is accepted for tools that expect it: the service stores its state only in the database.
""",
    ),
    cfg.StrOpt(
        "tempdir",
        help="Accepted for compatibility and without effect. The environment variable TMPDIR "
        "selects the directory for temporary files.",
    ),
    cfg.BoolOpt(
        "log_options",
        default=True,
        help="Log the value of every option when the service starts, at level DEBUG.",
    ),
]


CONFIG_DIR_VARIABLE = "OS_PLACEMENT_CONFIG_DIR"
CONFIG_FILE = "placement.conf"


def config_files() -> list[str] | None:
    """Return ``placement.conf`` in the directory of OS_PLACEMENT_CONFIG_DIR.

    None, without the variable, means the default locations of oslo.config.
    """
    folder = os.environ.get(CONFIG_DIR_VARIABLE, "").strip()
    return [str(Path(folder) / CONFIG_FILE)] if folder else None


def settings_of(kind: type[T], options: cfg.ConfigOpts.GroupAttr, **others: object) -> T:
    """Return settings, a dataclass whose fields have the names of options of a group."""
    names = {field.name for field in fields(cast("Any", kind))}.intersection(options)
    return kind(**{name: options[name] for name in names}, **others)


def parse(conf: cfg.ConfigOpts, arguments: Sequence[str]) -> None:
    """Parse the command line of a program, and read the configuration files."""
    version = metadata.version("openplacement")
    files = config_files()
    # it fails: the wheel of oslo.config does not contain its templates
    conf.unregister_opt(cfg.StrOpt("shell_completion"))
    conf(list(arguments), project="placement", version=version, default_config_files=files)


def with_options_in_use(text: str, conf: cfg.ConfigOpts) -> str:
    """Return a sentence whose commands of ``placement-manage`` read the configuration in use."""
    command = "`placement-manage "
    return text.replace(command, f"`{manage_command(conf)} ") if command in text else text


def manage_command(conf: cfg.ConfigOpts) -> str:
    """Return ``placement-manage`` with the options in use that name the configuration."""
    words = ["placement-manage"]
    for option, paths, default in (
        ("--config-file", conf.config_file, conf.default_config_files),
        ("--config-dir", conf.config_dir, conf.default_config_dirs),
    ):
        words += [] if paths == default else [word for path in paths for word in (option, path)]
    return shlex.join(words)
