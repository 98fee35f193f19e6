"""Options of [placement_database]."""

from oslo_config import cfg

group = cfg.OptGroup(
    "placement_database",
    title="Placement database",
    help="Where the state of the service is kept.",
)

options = [
    cfg.StrOpt(
        "connection",
        required=True,
        secret=True,
        help="SQLAlchemy URL of the database, e.g. "
        "mysql+pymysql://placement:secret@db/placement, "
        "postgresql+psycopg://placement:secret@db/placement or "
        "sqlite:////var/lib/placement/placement.sqlite.",
    ),
    cfg.StrOpt(
        "connection_parameters",
        default="",
        help="Parameters added to the URL, as param1=value1&param2=value2.",
    ),
    cfg.BoolOpt(
        "sqlite_synchronous",
        default=True,
        help="Whether SQLite waits for the disk at each commit.",
    ),
    cfg.StrOpt(
        "slave_connection",
        secret=True,
        help="Accepted for the sake of existing files, and not used: a replica lags, and "
        "every read of this service sees every write that was acknowledged before.",
    ),
    cfg.StrOpt(
        "mysql_sql_mode",
        default="TRADITIONAL",
        help="SQL mode of MySQL and MariaDB sessions; empty leaves the server's.",
    ),
    cfg.IntOpt(
        "connection_recycle_time",
        default=3600,
        help="Seconds after which a pooled connection is replaced when it is next used.",
    ),
    cfg.IntOpt(
        "max_pool_size",
        help="Connections that are kept open by each process: so many for writes, and so many "
        "for reads. 15 if it is not set; 0 is no limit.",
    ),
    cfg.IntOpt(
        "max_retries",
        default=10,
        help="Attempts to reach the database at start; -1 for no end. A request never waits: it "
        "is answered 503 while the database is away.",
    ),
    cfg.IntOpt("retry_interval", default=10, help="Seconds between these attempts."),
    cfg.IntOpt(
        "max_overflow",
        help="Connections opened beyond max_pool_size when all are in use. SQLAlchemy's default "
        "is 10.",
    ),
    cfg.IntOpt(
        "connection_debug",
        default=0,
        help="How much SQLAlchemy logs: 0 nothing, 50 statements, 100 rows as well.",
    ),
    cfg.BoolOpt(
        "connection_trace",
        default=False,
        help="Whether each statement carries a comment saying where in the code it comes from.",
    ),
    cfg.IntOpt(
        "pool_timeout",
        help="Seconds that a request waits for a connection of the pool. SQLAlchemy's default "
        "is 30.",
    ),
    cfg.BoolOpt(
        "sync_on_startup",
        default=False,
        help="Whether the service brings the schema to its newest revision when it starts.",
    ),
]
