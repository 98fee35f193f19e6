"""Options of [metrics]: metrics for Prometheus."""

from oslo_config import cfg

group = cfg.OptGroup("metrics", title="Metrics", help="Metrics for Prometheus.")
options = [
    cfg.BoolOpt(
        "enabled",
        default=False,
        help="""
Serve ``/metrics``, without authentication: the metrics of all processes and the inventory of all
providers.

Related options:

* ``folder``, which must be set
* ``allowed_source_ranges``
""",
    ),
    cfg.StrOpt(
        "folder",
        help="""
The directory in which the processes of one deployment store their metrics, so that any process can
serve the metrics of all. It is created if it does not exist, and may be emptied between restarts.
It must not be shared between machines or containers: files of processes that have exited are
merged into one.

The environment variable PROMETHEUS_MULTIPROC_DIR is its default.
""",
    ),
    cfg.ListOpt(
        "allowed_source_ranges",
        default=["127.0.0.0/8", "::1/128"],
        help="""
Networks that may read the metrics. Other clients, and requests forwarded by a proxy, get the same
response as without metrics.
""",
    ),
]
