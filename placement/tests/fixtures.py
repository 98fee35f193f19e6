"""A database fixture for tests of this project and of other projects."""

import fixtures
from oslo_config import cfg

from placement import conf as placement_conf
from placement import db_api
from placement.db import tables
from placement.db.schema import migration, seed
from placement.db.store import Store

CONNECTION = "sqlite://"


class Database(fixtures.Fixture):
    """A database that this process uses until the end of the test; by default in memory.

    It has all tables and the standard names; a ``connection`` to another database creates them
    there. With ``set_config`` the database in memory becomes the default of
    [placement_database]connection; missing options of the service are registered.
    """

    def __init__(self, conf_fixture, set_config=False, connection=CONNECTION):
        super().__init__()
        self.connection = connection
        self.conf_fixture = conf_fixture
        self.set_config = set_config

    def _setUp(self):
        if self.set_config:
            set_connection(self.conf_fixture.conf)
        store = Store(db_api.settings(self._options()))
        self.addCleanup(_close, store)
        if self.connection == CONNECTION:
            tables.metadata.create_all(store.engines().writer)
        else:
            migration.sync(store)
        seed.sync(store)
        manager = db_api.placement_context_manager
        self.useFixture(fixtures.MockPatchObject(manager, "store", lambda _settings: store))

    def _options(self):
        """Return the options of a private database, independent of the configuration."""
        conf = cfg.ConfigOpts()
        placement_conf.register_opts(conf)
        conf.set_override("connection", self.connection, "placement_database")
        conf([], default_config_files=[], default_config_dirs=[])
        return conf


def _close(store):
    with store.exclusive:  # a thread may use the one connection to a database in memory
        store.engines().dispose()


def set_connection(conf):
    """Make the database in memory the default connection of a configuration."""
    if "placement_database" not in conf:
        placement_conf.register_opts(conf)
    conf.set_default("connection", CONNECTION, "placement_database")
