"""Drivers encrypt if the server offers it, and verify what the options of TLS say."""

import shutil

import pytest

from placement import exception
from placement.cmd import errors
from placement.db.settings import DatabaseSettings
from placement.db.store import Store
from placement.tests.support import servers
from placement.tests.support.processes import IS_ROOT, certificate

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tls")


@pytest.fixture(scope="module")
def server(folder):
    try:
        servers.find("mariadbd")
    except servers.Missing as missing:
        pytest.skip(f"NOT TESTED: {missing}")
    own, key = certificate(folder, "own")
    certificate(folder, "other")
    settings = [f"--ssl-cert={own}", f"--ssl-key={key}", f"--ssl-ca={own}"]
    database = servers.MariaDb(folder, settings=settings)
    database.start()
    database.create("placement")
    yield database
    database.stop()


@pytest.fixture
def cipher(server):
    """A function that returns the cipher of a new connection, empty if it is not encrypted."""

    def read(parameters="", user="root"):
        url = server.tcp_url("placement", "pymysql").replace("root@", f"{user}@") + parameters
        store = Store(DatabaseSettings(connection=url, max_retries=0))
        try:
            with store.read() as tx:
                return tx.connection.exec_driver_sql("SHOW STATUS LIKE 'Ssl_cipher'").one()[1]
        finally:
            store.dispose()

    return read


def test_connections_are_encrypted(cipher):
    assert cipher()


def test_certificates_are_verified_if_options_say_so(cipher, folder):
    assert cipher(f"?ssl_ca={folder}/own.crt")
    with pytest.raises(exception.DatabaseUnavailable) as raised:
        cipher(f"?ssl_ca={folder}/other.crt")
    assert "CERTIFICATE_VERIFY_FAILED" in raised.value.reason


def test_tls_may_be_disabled(cipher):
    assert not cipher("?ssl_disabled=true")


def test_an_account_that_needs_a_client_certificate(server, cipher, folder):
    server.execute("CREATE USER careful@'127.0.0.1' REQUIRE X509")
    server.execute("GRANT ALL ON placement.* TO careful@'127.0.0.1'")
    with pytest.raises(exception.DatabaseUnavailable) as raised:
        cipher(user="careful")
    assert "The database refuses the login" in errors.message(raised.value)
    assert "client certificate, add its files: ssl_cert and" in errors.message(raised.value)
    files = f"ssl_cert={folder}/own.crt&ssl_key={folder}/own.key"
    assert cipher(f"?ssl_ca={folder}/own.crt&{files}", user="careful")


# --- PostgreSQL -------------------------------------------------------------------------

# the account ``careful`` needs a certificate
HBA = "local all all trust\nhostssl all careful all trust clientcert=verify-ca\n"


@pytest.fixture(scope="module")
def postgresql(folder):
    with servers.private("postgresql", durable=False) as server:
        server.stop()
        own, key = certificate(server.folder, "own")
        client, _ = certificate(folder, "client")
        authority = shutil.copy(client, server.folder)
        if IS_ROOT:
            for file in (own, key, authority):
                shutil.chown(file, "postgres", "postgres")
        files = {"ssl_cert_file": own, "ssl_key_file": key, "ssl_ca_file": authority}
        options = {"ssl": "on", **files}.items()
        server.settings = [part for key, value in options for part in ("-c", f"{key}={value}")]
        hba = server.folder / "data" / "pg_hba.conf"
        hba.write_text(HBA + hba.read_text())
        server.start()
        server.create("placement")
        server.execute("CREATE ROLE careful LOGIN")
        yield server


def is_encrypted(server, driver, parameters, user=servers.USER):
    url = server.tcp_url("placement", driver).replace(servers.USER, user, 1)
    store = Store(
        DatabaseSettings(connection=f"{url}?sslmode=verify-full{parameters}", max_retries=0)
    )
    try:
        with store.read() as tx:
            sql = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
            return tx.connection.exec_driver_sql(sql).scalar_one()
    finally:
        store.dispose()


@pytest.mark.parametrize("driver", servers.PostgreSql.drivers)
def test_certificates_of_postgresql_are_verified(postgresql, folder, driver):
    assert is_encrypted(postgresql, driver, f"&sslrootcert={postgresql.folder}/own.crt")
    with pytest.raises(exception.DatabaseUnavailable) as raised:
        is_encrypted(postgresql, driver, f"&sslrootcert={folder}/client.crt")
    assert "certificate verify failed" in raised.value.reason


@pytest.mark.parametrize("driver", servers.PostgreSql.drivers)
def test_an_account_of_postgresql_that_needs_a_client_certificate(postgresql, folder, driver):
    root = f"&sslrootcert={postgresql.folder}/own.crt"
    with pytest.raises(exception.DatabaseUnavailable) as raised:
        is_encrypted(postgresql, driver, root, "careful")
    assert "requires a valid client certificate" in raised.value.reason
    files = f"&sslcert={folder}/client.crt&sslkey={folder}/client.key"
    assert is_encrypted(postgresql, driver, root + files, "careful")
