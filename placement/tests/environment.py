"""The environment variables of the tests, and of the processes that they start."""

from collections.abc import MutableMapping

# of oslo.config and the openstack command; of libpq; of the programs of MariaDB
_PREFIXES = ("OS_", "PG", "MYSQL_", "MARIADB_")
_LOOPBACK = "127.0.0.1,localhost"


def normalize(environ: MutableMapping[str, str]) -> None:
    """Remove the variables that options and database clients read, and use no proxy on loopback.

    pip needs the proxy of the machine. TMPDIR is removed, too: a path of a Unix socket has at most
    107 bytes, and servers that run as other users must be able to enter their directories.

    >>> variables = {"OS_CLOUD": "mine", "PGHOST": "db", "http_proxy": "http://proxy:3128"}
    >>> normalize(variables)
    >>> sorted(variables)
    ['NO_PROXY', 'http_proxy', 'no_proxy']
    """
    for name in [name for name in environ if name.startswith(_PREFIXES)]:
        del environ[name]
    environ.pop("TMPDIR", None)
    for name in ("no_proxy", "NO_PROXY"):
        environ[name] = ",".join(filter(None, (environ.get(name), _LOOPBACK)))
