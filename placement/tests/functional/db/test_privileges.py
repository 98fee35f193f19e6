"""The users that the page on databases creates need no other privileges."""

import re

import pytest
import sqlalchemy as sa
import webtest

from placement import deploy
from placement.db.schema import migration
from placement.db.settings import DatabaseSettings
from placement.db.store import Store
from placement.tests.functional.db.connections.test_dumps import ADMIN, statuses
from placement.tests.plugin import service_options
from placement.tests.support import docs
from placement.tests.support.factories import new_provider
from placement.tests.support.stores import replaced_store

STATEMENT = re.compile(r"^   ((?:CREATE|GRANT) .*;)$", re.MULTILINE)
PAGE = (docs.SOURCE / "install" / "databases.rst").read_text()
SECTIONS = dict(
    zip(("mariadb", "postgresql"), PAGE.split("\nPostgreSQL\n==========\n"), strict=True)
)


@pytest.fixture(params=sorted(SECTIONS))
def store(request, server, worker):
    """A store whose user and database the statements of the page create, with other names."""
    administrator, name = server(request.param), f"granted_{worker}"
    for statement in STATEMENT.findall(SECTIONS[request.param]):
        administrator.execute(re.sub(r"\bplacement\b", name, statement))
    url = sa.make_url(administrator.tcp_url(name)).set(username=name, password="SECRET")
    settings = DatabaseSettings(connection=url.render_as_string(hide_password=False))
    store = Store(settings)
    yield store
    store.dispose()
    administrator.drop(name)
    administrator.execute(f"DROP USER {name}")


def test_the_user_of_the_page_can_sync_and_serve(store):
    migration.sync(store)
    with replaced_store(store):
        application = deploy.loadapp(service_options(store.settings.connection))
    http = webtest.TestApp(application, extra_environ=ADMIN)
    host = new_provider(store, VCPU=8)
    assert max(statuses(http, host)) < 300
