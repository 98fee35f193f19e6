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
serve the metrics of all. It is created if it does not exist. A process that starts while none of
the others runs removes their files, so it must not be shared between machines or containers. The
files of workers that exit remain until then.

The environment variable PROMETHEUS_MULTIPROC_DIR is its default.
""",
    ),
    cfg.BoolOpt(
        "inventory",
        default=True,
        help="""
Serve metrics of inventory and usage: sums over the cloud, over each aggregate and over traits of
roots, and of each provider if there are few hosts. Without, ``/metrics`` has the metrics of the
service itself.

Related options:

* ``inventory_max_hosts``
* ``inventory_root_trait_prefix``
* ``inventory_interval_seconds``
""",
    ),
    cfg.IntOpt(
        "inventory_max_hosts",
        default=100,
        min=0,
        help="""
Up to this number of hosts (root providers) there are metrics of each provider, about 1.4 kB per
host and scrape. Above it there are only sums.
""",
    ),
    cfg.StrOpt(
        "inventory_root_trait_prefix",
        default="",
        help="""
Sum up inventory and usage by the traits of root providers that begin with this text, such as
``CUSTOM_AZ_``. Empty for no such metrics.
""",
    ),
    cfg.FloatOpt(
        "inventory_interval_seconds",
        default=15,
        min=0,
        help="""
How old inventory metrics may be, in seconds. Each process computes them at most once in this time.
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
