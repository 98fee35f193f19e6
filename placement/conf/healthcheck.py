"""Options of [healthcheck]; oslo.middleware defines the other options of this group."""

from oslo_config import cfg

group = cfg.OptGroup("healthcheck", title="Health check", help="Health checks for load balancers.")
options = [
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
