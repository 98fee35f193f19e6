"""Tokens in memcached: used again, and nothing that memcached returns is executed."""

import pickle
import socketserver
import threading
import tracemalloc
import zlib
from contextlib import contextmanager
from pathlib import Path

import memcache
import pytest
import webtest

from placement.http import auth
from placement.tests.functional.keystone.conftest import configured

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("keystone")]
ENCRYPTED = "memcache_security_strategy = ENCRYPT\nmemcache_secret_key = secret\n"
# options of the clients that keystonemiddleware creates
WITHOUT_EFFECT = """memcache_use_advanced_pool = false
memcache_pool_maxsize = 1
memcache_pool_unused_timeout = 1
memcache_pool_conn_get_timeout = 1
"""
PICKLE = b"1"  # the flags of a value that python-memcached unpickles
COMPRESSED = b"8"


class _Handler(socketserver.StreamRequestHandler):
    """The commands ``get`` and ``set`` of the text protocol."""

    def handle(self):
        """Respond until the client closes the connection."""
        while line := self.rfile.readline().split():
            self.server.commands.append(line[0].decode())
            if line[0] == b"set":
                value = self.rfile.read(int(line[4]) + 2)[:-2]
                self.server.values[line[1]] = (line[2], value)
                self.wfile.write(b"STORED\r\n")
            else:
                self._send(line[1])

    def _send(self, key):
        found = self.server.every_value or self.server.values.get(key)
        if found:
            flags, value = found
            self.wfile.write(b"VALUE %b %b %d\r\n%b\r\n" % (key, flags, len(value), value))
        self.wfile.write(b"END\r\n")


class Memcached(socketserver.ThreadingTCPServer):
    """``commands`` are those it received; ``every_value`` is (flags, value) for every key."""

    daemon_threads = True

    def __init__(self, every_value=None):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.commands, self.values, self.every_value = [], {}, every_value

    @property
    def address(self):
        """``host:port``, as in [keystone_authtoken]memcached_servers."""
        return "{}:{}".format(*self.server_address)


@contextmanager
def memcached(every_value=None):
    """Yield a running Memcached."""
    with Memcached(every_value) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


class Payload:
    """Creates a file when it is unpickled."""

    def __init__(self, file):
        self.file = file

    def __reduce__(self):
        return Path.touch, (self.file,)


@pytest.fixture(autouse=True)
def disconnected(monkeypatch):
    """Close the connections at the end: those of a service stay open until its threads exit."""
    clients = []

    class Recorded(memcache.Client):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            clients.append(self)

    monkeypatch.setattr(memcache, "Client", Recorded)
    yield
    for each in clients:
        each.disconnect_all()


def client(folder, *options, keystone="http://127.0.0.1:9"):
    """Return a client of an application behind authentication, which responds with the user."""
    conf = configured(folder, "sqlite://", keystone, "\n".join(options))
    return webtest.TestApp(auth.with_keystone(_show_user, conf))


def _show_user(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [environ["HTTP_X_USER_ID"].encode()]


@pytest.mark.parametrize("options", ["", ENCRYPTED, WITHOUT_EFFECT])
def test_what_memcached_returns_is_not_unpickled(tmp_path, options):
    file = tmp_path / "owned"
    with memcached((PICKLE, pickle.dumps(Payload(file)))) as server:
        http = client(tmp_path, f"memcached_servers = {server.address}", options)
        response = http.get("/v", headers={"X-Auth-Token": "token"}, status="*")
    assert server.commands == ["get"]
    assert not file.exists()
    assert response.status_int == 503  # of the middleware: Keystone, asked next, does not respond


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    "value",
    [zlib.compress(bytes(40 * 2**20), 9), b"not compressed", zlib.compress(b"token")[:-1]],
    ids=["large", "other", "incomplete"],
)
@pytest.mark.parametrize("options", ["", ENCRYPTED])
def test_a_compressed_value_is_bounded(tmp_path, value, options):
    """A value of 497 KB took 1 GB of memory."""
    with memcached((COMPRESSED, value)) as server:
        http = client(tmp_path, f"memcached_servers = {server.address}", options)
        tracemalloc.start()
        try:
            response = http.get("/v", headers={"X-Auth-Token": "token"}, status="*")
            _, peak_bytes = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert server.commands == ["get"]
    assert response.status_int == 503  # as without memcached: Keystone does not respond
    assert peak_bytes < 20 * 2**20


@pytest.mark.parametrize("options", ["", ENCRYPTED])
def test_a_token_in_memcached_is_used_without_keystone(tmp_path, keystone, cloud, options):
    headers = {"X-Auth-Token": cloud.admin_token()}
    with memcached() as server:
        servers = f"memcached_servers = {server.address}"
        first = client(tmp_path, servers, options, keystone=keystone).get("/v", headers=headers)
        second = client(tmp_path, servers, options).get("/v", headers=headers)
    assert first.text == second.text
    assert server.commands == ["get", "set", "get"]
    ((_, stored),) = server.values.values()
    assert (headers["X-Auth-Token"].encode() in stored) is not bool(options)


@pytest.mark.parametrize("option", ["memcache_tls_enabled", "memcache_sasl_enabled"])
def test_a_client_that_unpickles_is_refused(tmp_path, option):
    options = "memcached_servers = 127.0.0.1:9", f"{option} = true"
    options += "memcache_username = placement", "memcache_password = secret"
    with pytest.raises(RuntimeError, match=option):
        client(tmp_path, *options)


def test_without_memcached_tokens_are_validated(tmp_path, keystone, cloud):
    http = client(tmp_path, keystone=keystone)
    headers = {"X-Auth-Token": cloud.admin_token()}
    assert http.get("/v", headers=headers).text == http.get("/v", headers=headers).text


# python-memcached leaves the socket of a refused connection to the garbage collection
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_memcached_that_does_not_respond_is_not_needed(tmp_path, keystone, cloud):
    http = client(tmp_path, "memcached_servers = 127.0.0.1:9,127.0.0.1:10", keystone=keystone)
    assert http.get("/v", headers={"X-Auth-Token": cloud.admin_token()}).status_int == 200
