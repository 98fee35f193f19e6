"""A database fixture for tests of this project and of other projects."""

import fixtures
from oslo_config import cfg

from placement import conf as placement_conf
from placement import db_api
from placement.db.sqlalchemy import models, seed
from placement.db.store import Store

CONNECTION = "sqlite://"


class Database(fixtures.Fixture):
    """A database in memory that this process uses until the end of the test.

    It has all tables and the standard names. With ``set_config`` it becomes the default of
    [placement_database]connection; missing options of the service are registered.
    """

    def __init__(self, conf_fixture, set_config=False):
        super().__init__()
        self.conf_fixture = conf_fixture
        self.set_config = set_config

    def _setUp(self):
        if self.set_config:
            set_connection(self.conf_fixture.conf)
        store = Store(db_api.settings(self._options()))
        self.addCleanup(lambda: store.engines().dispose())
        models.metadata.create_all(store.engines().writer)
        seed.sync(store)
        replaced = db_api.placement_context_manager.replaced(store)
        replaced.__enter__()
        self.addCleanup(replaced.__exit__, None, None, None)

    def _options(self):
        """Return the options of a private database, independent of the configuration."""
        conf = cfg.ConfigOpts()
        placement_conf.register_opts(conf)
        conf.set_override("connection", CONNECTION, "placement_database")
        conf([], default_config_files=[], default_config_dirs=[])
        return conf


def set_connection(conf):
    """Make the database in memory the default connection of a configuration."""
    if "placement_database" not in conf:
        placement_conf.register_opts(conf)
    conf.set_default("connection", CONNECTION, "placement_database")
