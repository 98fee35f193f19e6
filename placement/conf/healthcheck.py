"""[healthcheck]: whether there is such a thing; the other options are those of oslo.middleware."""

from oslo_config import cfg

group = cfg.OptGroup("healthcheck", title="Health check", help="What load balancers ask.")
options = [
    cfg.BoolOpt(
        "enabled",
        default=False,
        help="""
Answer ``/healthcheck``, without authentication, by the middleware of oslo.middleware.

By itself it says that the process answers. With ``placement`` among the ``backends`` it also says
whether the database can be reached and the snapshot of all providers brought up to date.
""",
    ),
]
