"""[DEFAULT]: where things are in the file system."""

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

Other options take it as their default; it hardly ever needs to be changed.

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
The top-level directory for state that the service keeps.

The service keeps its state in the database alone; the option is there for tools that expect it.

Possible values:

* The full path to a directory. Defaults to the value of ``pybasedir``.
""",
    ),
]
