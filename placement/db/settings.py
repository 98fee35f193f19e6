"""The options of [placement_database], read once."""

from dataclasses import dataclass

from sqlalchemy.engine import URL, make_url


@dataclass(frozen=True, slots=True)
class DatabaseSettings:
    """The options of [placement_database]; ``traces_sql`` is of [profiler]."""

    connection: str
    connection_parameters: str = ""
    sqlite_synchronous: bool = True
    mysql_sql_mode: str | None = "TRADITIONAL"
    connection_recycle_time: int = 3600
    max_pool_size: int | None = None
    max_overflow: int | None = None
    max_waiting_writes: int = 4
    pool_timeout: int | None = None
    max_retries: int = 10
    retry_interval: int = 10
    connection_debug: int = 0
    connection_trace: bool = False
    traces_sql: bool = False

    @property
    def url(self) -> URL:
        """The URL with the extra parameters."""
        url = make_url(self.connection)
        return url.update_query_string(self.connection_parameters, append=True)

    @property
    def backend(self) -> str:
        """The kind of database: ``mysql`` (also for MariaDB), ``postgresql`` or ``sqlite``."""
        return self.url.get_backend_name().replace("mariadb", "mysql")

    @property
    def is_private(self) -> bool:
        """Whether the database is the memory of one connection."""
        return self.backend == "sqlite" and self.url.database in {None, "", ":memory:"}
