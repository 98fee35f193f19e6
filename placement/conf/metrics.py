"""Options of [metrics], metrics for Prometheus, and of [healthcheck]."""

from oslo_config import cfg

group = cfg.OptGroup("metrics", title="Metrics", help="Metrics for Prometheus.")
options = [
    cfg.BoolOpt(
        "enabled",
        default=False,
        help="Serve ``/metrics``, without authentication: the metrics of all processes and the "
        "inventory of all providers. ``folder`` must be set.",
    ),
    cfg.StrOpt(
        "folder",
        help="""
The directory in which the processes of one deployment store their metrics, so that any process can
serve the metrics of all processes. It is created if it does not exist. It must not be shared
between machines or containers: a process that starts while no other process of the machine runs
removes all files. The files of workers that exit remain until then.

Default: the environment variable PROMETHEUS_MULTIPROC_DIR.
""",
    ),
    cfg.BoolOpt(
        "inventory",
        default=True,
        help="Serve metrics of inventory and usage: sums over the cloud, over each aggregate and "
        "over traits of roots, and the values of each provider if there are few hosts. If false, "
        "``/metrics`` has only the metrics of the service itself.",
    ),
    cfg.IntOpt(
        "inventory_max_hosts",
        default=100,
        min=0,
        help="The maximum number of hosts (root providers) for which the metrics of each "
        "provider are served, about 1.6 kB per host and scrape. With more hosts, only sums are "
        "served.",
    ),
    cfg.StrOpt(
        "inventory_root_trait_prefix",
        default="",
        help="Serve sums of inventory and usage by each trait of root providers that begins with "
        "this text, such as ``CUSTOM_AZ_``. If empty, there are no sums by trait.",
    ),
    cfg.FloatOpt(
        "inventory_interval_seconds",
        default=15,
        min=0,
        help="The maximum age of inventory metrics, in seconds. Each process computes them at "
        "most once in this time.",
    ),
    cfg.ListOpt(
        "allowed_source_ranges",
        default=["127.0.0.0/8", "::1/128"],
        help="Networks that may read the metrics. Other clients, and requests forwarded by a "
        "proxy, receive the same response as if metrics were disabled.",
    ),
]

# oslo.middleware defines the other options of this group.
healthcheck_group = cfg.OptGroup(
    "healthcheck", title="Health check", help="Health checks for load balancers."
)
healthcheck = [
    cfg.BoolOpt(
        "enabled",
        default=False,
        help="""
Serve ``/healthcheck``, without authentication, with the health check of oslo.middleware.

It reports that the process responds. With ``placement`` in ``backends`` it also reports whether
the database and Keystone can be reached, the schema is new enough, and the snapshot of all
providers can be refreshed.
""",
    ),
]
