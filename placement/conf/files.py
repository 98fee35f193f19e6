"""The configuration files that the environment names."""

import os
from pathlib import Path

CONFIG_DIR_VARIABLE = "OS_PLACEMENT_CONFIG_DIR"
CONFIG_FILE = "placement.conf"


def config_files() -> list[str] | None:
    """Return ``placement.conf`` in the directory of OS_PLACEMENT_CONFIG_DIR.

    None, without the variable, means the default locations of oslo.config.
    """
    folder = os.environ.get(CONFIG_DIR_VARIABLE, "").strip()
    return [str(Path(folder) / CONFIG_FILE)] if folder else None
