"""[metrics]: figures for Prometheus."""

from oslo_config import cfg

group = cfg.OptGroup("metrics", title="Metrics", help="Figures for Prometheus.")
options = [
    cfg.BoolOpt(
        "enabled",
        default=False,
        help="""
Count what the service does, and answer ``/metrics``, without authentication, with the figures of
all processes and the inventory of all providers.

Related options:

* ``folder``, which must be set
* ``allowed_source_ranges``
""",
    ),
    cfg.StrOpt(
        "folder",
        help="""
A folder in which the processes of one deployment keep their figures, so that each can tell those
of all. It is made if it is not there; empty it between restarts if you like. It is for one machine
or container: what processes that have ended have left there is gathered into one file.

The environment variable PROMETHEUS_MULTIPROC_DIR is its default.
""",
    ),
    cfg.ListOpt(
        "allowed_source_ranges",
        default=["127.0.0.0/8", "::1/128"],
        help="""
Networks from which the figures may be asked for. Others are answered as if there were none, and so
are requests that a proxy has passed on.
""",
    ),
]
