"""Options of [DEFAULT]: the process as a whole."""

from oslo_config import cfg

group = None
options = [
    cfg.StrOpt(
        "tempdir",
        help="Explicitly specify the temporary working directory.",
    ),
    cfg.BoolOpt(
        "log_options",
        default=True,
        help="Log the value of every option when the service starts, at level DEBUG.",
    ),
]
