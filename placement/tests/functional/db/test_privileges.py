"""The accounts that the page on databases creates need no other privileges."""

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

STATEMENT = re.compile(r"^   ((?:CREATE|GRANT|ALTER) .*;)$", re.MULTILINE)
PAGE = (docs.SOURCE / "install" / "databases.rst").read_text()
SECTIONS = dict(
    zip(("mariadb", "postgresql"), PAGE.split("\nPostgreSQL\n==========\n"), strict=True)
)


@pytest.fixture(params=["mariadb", pytest.param("postgresql", marks=pytest.mark.long)])
def stores(request, server, worker):
    """The stores of the owner and of the service; the statements of the page create them."""
    administrator, name = server(request.param), f"granted_{worker}"
    for statement in STATEMENT.findall(SECTIONS[request.param]):
        own = statement.replace("placement", name)
        administrator.execute(own, name if own.startswith("ALTER") else None)
    url = sa.make_url(administrator.tcp_url(name))
    users = ((f"{name}_owner", "OWNER_SECRET"), (name, "SECRET"))
    opened = [
        Store(
            DatabaseSettings(
                connection=url.set(username=user, password=password).render_as_string(
                    hide_password=False
                )
            )
        )
        for user, password in users
    ]
    yield opened
    for store in opened:
        store.dispose()
    administrator.drop(name)
    for user, _ in users:
        administrator.execute(f"DROP USER {user}")


def test_the_owner_of_the_page_syncs_and_its_user_serves(stores):
    owner, service = stores
    migration.sync(owner)
    with replaced_store(service):
        application = deploy.loadapp(service_options(service.settings.connection))
    http = webtest.TestApp(application, extra_environ=ADMIN)
    assert max(statuses(http, new_provider(service, VCPU=8))) < 300
    engine = sa.create_engine(service.settings.connection)
    for statement in ("DROP TABLE consumers", "CREATE TABLE own (id INTEGER)"):
        with pytest.raises(sa.exc.DBAPIError, match=r"denied|must be owner"), engine.begin() as db:
            db.execute(sa.text(statement))
    engine.dispose()
    migration.sync(owner)
    assert max(statuses(http, new_provider(service, VCPU=8))) < 300
