"""A real Keystone, and our service asking it.

``make test-long`` installs Keystone into .keystone; it needs other releases of libraries than we
do.
"""

import os
import subprocess
from pathlib import Path

import pytest
import webtest
from keystoneauth1.identity import v3
from keystoneauth1.session import Session

from placement import wsgi
from placement.tests.functional.keystone import serve

HERE = Path(__file__).parent
PYTHON = HERE.parents[3] / ".keystone" / "bin" / "python"
DOMAIN = "default"

CONFIGURATION = """
[api]
auth_strategy = keystone
[placement_database]
connection = {database}
[keystone_authtoken]
www_authenticate_uri = {keystone}
auth_url = {keystone}
auth_type = password
username = admin
password = {password}
user_domain_id = default
project_name = admin
project_domain_id = default
"""


@pytest.fixture(scope="session")
def keystone_folder(tmp_path_factory):
    """The folder with the database and the keys of Keystone."""
    return tmp_path_factory.mktemp("keystone")


@pytest.fixture(scope="session")
def keystone(keystone_folder):
    """The URL of a Keystone."""
    if not PYTHON.exists():
        if os.environ.get("CI") == "true":
            raise FileNotFoundError(PYTHON)
        pytest.skip("Keystone is not installed: make .keystone/.installed")
    command = [PYTHON, "-W", "ignore", serve.__file__, keystone_folder]
    output = keystone_folder / "output"
    with (
        output.open("wb") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        yield process.stdout.readline().strip() or pytest.fail(output.read_text())
        process.terminate()


class KeystoneAdministrator:
    """The users, projects and tokens of a Keystone, as its administrator makes them."""

    def __init__(self, keystone):
        from keystoneclient.v3.client import Client  # noqa: PLC0415  one process needs it

        self.keystone = keystone
        self._admin = self.session("admin", system_scope="all")
        self._client = Client(session=self._admin, endpoint_override=keystone)
        self._roles = {role.name: role for role in self._client.roles.list()}

    def session(self, user, **scope):
        password = v3.Password(
            self.keystone,
            username=user,
            password=serve.PASSWORD,
            user_domain_id=DOMAIN,
            **scope,
        )
        return Session(auth=password)

    def token(self, user, **scope):
        """Return a token; ``scope`` is that of keystoneauth."""
        return self.session(user, **scope).get_token()

    def admin_token(self):
        return self.token("admin", project_name="admin", project_domain_id=DOMAIN)

    def project(self, name):
        """Return the id of a new project."""
        return self._client.projects.create(name, DOMAIN).id

    def role(self, name):
        """Make a role."""
        self._roles[name] = self._client.roles.create(name)

    def user(self, name, role, project_id):
        """Make a user with a role on the project; return its token for that."""
        user = self._client.users.create(name, domain=DOMAIN, password=serve.PASSWORD)
        self._client.roles.grant(self._roles[role], user=user, project=project_id)
        return self.token(name, project_id=project_id)

    def grant_on_domain(self, user, role):
        self._client.roles.grant(self._roles[role], user=self._user(user), domain=DOMAIN)

    def _user(self, name):
        (user,) = self._client.users.list(name=name, domain=DOMAIN)
        return user

    def catalog(self, service_type, **urls):
        """Add a service with a public endpoint in each region."""
        service = self._client.services.create(service_type, type=service_type)
        for region, url in urls.items():
            self._client.regions.create(region)
            self._client.endpoints.create(service, url, interface="public", region=region)

    def disable(self, user):
        """Disable a user, whose tokens end."""
        self._client.users.update(self._user(user), enabled=False)

    def revoke(self, token):
        self._client.tokens.revoke_token(token)


@pytest.fixture(scope="session")
def cloud(keystone):
    return KeystoneAdministrator(keystone)


@pytest.fixture(scope="session")
def backend():
    """One database is enough: authentication is decided before it is used."""
    return "sqlite"


@pytest.fixture
def conf(database_url, keystone, tmp_path):
    """The options of a service, read from a file as in any deployment."""
    return configured(tmp_path, database_url, keystone)


def configured(folder, database_url, keystone, lines=""):
    """Return the options of a service; ``lines`` are more of [keystone_authtoken]."""
    file = folder / "placement.conf"
    text = CONFIGURATION.format(database=database_url, keystone=keystone, password=serve.PASSWORD)
    file.write_text(text + lines)
    return wsgi.read_configuration([str(file)])


@pytest.fixture
def http(application):
    """Return a function that asks as the owner of a token does."""
    return asking(application)


def asking(application):
    """Return a function that sends the requests of the owner of a token to an application."""
    client = webtest.TestApp(application)

    def ask(token, path, method="GET", body=b"", **headers):
        headers |= {"OpenStack-API-Version": "placement latest"}
        headers["Content-Type"] = "application/json"
        if token is not None:
            headers["X-Auth-Token"] = token
        return client.request(path, method=method, body=body, headers=headers, status="*")

    return ask
