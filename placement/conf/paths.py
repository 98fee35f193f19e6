"""Options of [DEFAULT]: paths in the file system."""

from pathlib import Path

from oslo_config import cfg

import placement

group = None
options = [
    cfg.StrOpt(
        "pybasedir",
        default=str(Path(placement.__file__).parent.parent),
        sample_default="<Path>",
        help="""
The directory where the Python modules of placement are installed.

Other options use it as their default. It rarely needs to be changed.

Possible values:

* The full path to a directory.

Related options:

* ``state_path``
""",
    ),
    cfg.StrOpt(
        "state_path",
        default="$pybasedir",
        help="""
The top-level directory for state of the service.

The service keeps its state only in the database; the option exists for tools that expect it.

Possible values:

* The full path to a directory. Defaults to the value of ``pybasedir``.
""",
    ),
]
