"""Options of [placement_database]."""

from oslo_config import cfg

group = cfg.OptGroup(
    "placement_database", title="Placement database", help="The database of the service."
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
        secret=True,
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
        help="Accepted for compatibility and not used: a replica lags behind the primary, but "
        "every read of this service must return all writes that were acknowledged before.",
    ),
    cfg.StrOpt(
        "mysql_sql_mode",
        default="TRADITIONAL",
        help="SQL mode of MariaDB and MySQL sessions; if empty, the default of the server. The "
        "modes STRICT_TRANS_TABLES and NO_AUTO_VALUE_ON_ZERO are always added.",
    ),
    cfg.IntOpt(
        "connection_recycle_time",
        default=3600,
        help="Seconds after which a pooled connection is replaced when it is next used.",
    ),
    cfg.IntOpt(
        "max_pool_size",
        help="Number of connections that each process keeps open in each of its two pools, for "
        "writes and for reads. The default is 15; 0 means no limit.",
    ),
    cfg.IntOpt(
        "max_retries",
        default=10,
        help="Number of attempts to connect to the database at the start; -1 means unlimited. "
        "Requests do not wait for these attempts: the response is 503 while the database is "
        "unreachable.",
    ),
    cfg.IntOpt(
        "retry_interval", default=10, help="Seconds between attempts to connect at the start."
    ),
    cfg.IntOpt(
        "max_overflow",
        help="Number of additional connections in each pool if all max_pool_size connections "
        "are in use. The default is 10.",
    ),
    cfg.IntOpt(
        "connection_debug",
        default=0,
        help="Verbosity of SQLAlchemy's log: 0 nothing, 50 statements, 100 statements and rows.",
    ),
    cfg.BoolOpt(
        "connection_trace",
        default=False,
        help="Whether a comment with its origin in the code is added to each statement.",
    ),
    cfg.IntOpt(
        "max_waiting_writes",
        min=0,
        help="Number of writes of a process that may wait for a lock of MariaDB, MySQL or "
        "PostgreSQL for longer than a second; further writes that would wait return 503. At most "
        "twice as many less one wait for their commit. The default is half of the threads of "
        "uWSGI or placement-api, otherwise 4.",
    ),
    cfg.IntOpt(
        "pool_timeout",
        help="Seconds that a request waits for a connection of the pool. The default is 30.",
    ),
    cfg.BoolOpt(
        "sync_on_startup",
        default=False,
        help="Whether the service upgrades the schema to the newest revision when it starts.",
    ),
]
