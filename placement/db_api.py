"""The database of the process.

Programs, and tests of other projects, call ``configure``. The configured store is kept in
``placement_context_manager``, the only global state: those projects expect one in each process.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from oslo_config import cfg
from sqlalchemy.exc import ArgumentError

from placement import exception, profiling, surface
from placement.conf.base import settings_of
from placement.core.model import IncompleteConsumer
from placement.db import errors, suitability
from placement.db.maintenance import reconcile
from placement.db.schema import revisions, seed
from placement.db.settings import DatabaseSettings
from placement.db.store import Store

LOG = logging.getLogger(__name__)

_ENCODE = "Write the character @ of a user or a password as %40"


class StoreManager:
    """The store of the process."""

    def __init__(self) -> None:
        self._store: Store | None = None

    def configure(self, settings: DatabaseSettings) -> None:
        """Use this database, unless one is configured already."""
        if self._store is not None:
            LOG.warning("The database is already configured")
            return
        self._store = Store(settings)

    def store(self, settings: DatabaseSettings) -> Store:
        """Return the store for the settings: the configured one, if it has these settings."""
        if self._store is None or self._store.settings != settings:
            if self._store is not None:
                self._store.dispose()
            self._store = Store(settings)
        return self._store


placement_context_manager = StoreManager()


def configure(conf: cfg.ConfigOpts) -> None:
    """Set up the database of the process from [placement_database]; further calls only warn."""
    placement_context_manager.configure(settings(conf))


def settings(conf: cfg.ConfigOpts) -> DatabaseSettings:
    """Return the options of [placement_database].

    Raises: RequiredOptError without connection, ArgumentError if it is not a URL.
    """
    options = conf.placement_database
    if not options.connection:
        raise cfg.RequiredOptError("connection", cfg.OptGroup("placement_database"))
    places = options.max_waiting_writes
    database = replace(
        settings_of(DatabaseSettings, options, traces_sql=profiling.traces_sql(conf)),
        max_waiting_writes=_half_of_threads() if places is None else places,
    )
    try:
        url = database.url
    except ValueError:  # the port is not a number: it may be the rest of a password
        raise ArgumentError(f"its port is not a number. {_ENCODE}") from None
    # the rest of a password, which a message about the connection would show
    for part, text in (("host", url.host), ("database", url.host and url.database)):
        if "@" in (text or ""):
            raise ArgumentError(f"its {part} has the character @. {_ENCODE}")
    return database


def _half_of_threads() -> int:
    """Return half of the threads of this process of uWSGI, 4 in another server."""
    try:
        import uwsgi  # type: ignore[import-untyped]  # noqa: PLC0415  only in its processes
    except ImportError:
        return 4
    return int(uwsgi.opt.get("threads", 1)) // 2


def incomplete_consumer(conf: cfg.ConfigOpts) -> IncompleteConsumer:
    """Return the owner of allocations whose request names no owner, from [placement]."""
    options = conf.placement
    return IncompleteConsumer(
        project_id=options.incomplete_consumer_project_id,
        user_id=options.incomplete_consumer_user_id,
    )


@contextmanager
def opened(conf: cfg.ConfigOpts) -> Iterator[Store]:
    """A store for one command, without checks of its database; it is closed at the end."""
    store = Store(settings(conf))
    try:
        yield store.writing_with(observer=surface.installed().change_observer(conf, store))
    finally:
        store.dispose()


def store(conf: cfg.ConfigOpts) -> Store:
    """Return the store, after its database was checked and completed.

    The schema is upgraded if [placement_database]sync_on_startup is set, and missing standard
    names are inserted, once for each store.
    Raises: DatabaseUnavailable if the database is not reached in [placement_database]max_retries
    attempts, SchemaTooOld if it has to be upgraded first.
    """
    ready = placement_context_manager.store(settings(conf))
    if not ready.is_ready:
        _wait_for(ready)
        suitability.check(ready)
        if conf.placement_database.sync_on_startup:
            from placement.db.schema import migration  # noqa: PLC0415  alembic takes 0.1 s

            migration.prepare(ready)
        _check_and_complete(ready)
        ready.dispose()  # servers fork later: child processes open new connections
        ready.is_ready = True
    return ready


def _check_and_complete(store: Store) -> None:
    """Check the schema, correct usage counters, and insert missing names.

    openstack-placement may have written to the database since the last `db sync`.
    """
    revisions.check_is_new_enough(store)
    corrected = reconcile.reconcile(store)
    if corrected:
        LOG.warning(
            "Corrected %s usage counters that differed from the allocations: another "
            "implementation has written to the database.",
            corrected,
        )
    seed.sync(store)


def _wait_for(store: Store) -> None:
    """Wait for the database; retry as often as the options allow."""
    attempts = store.settings.max_retries
    while True:
        try:
            return store.ping()
        except exception.DatabaseUnavailable as error:
            if not _may_recover(store, error):
                raise
            LOG.warning("The database: %s (%s attempts left)", error.reason, attempts)
            if attempts == 0:
                raise
        attempts -= 1
        time.sleep(store.settings.retry_interval)


def _may_recover(store: Store, error: exception.DatabaseUnavailable) -> bool:
    """Return whether a further attempt may succeed: no server starts behind a SQLite file."""
    is_misconfigured = isinstance(error.__cause__, errors.SeveralServers)
    is_server = store.settings.backend != "sqlite"
    return is_server and not is_misconfigured and not errors.is_access_denied(error)
