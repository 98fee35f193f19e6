"""The environment variables of the tests, and of the processes that they start."""

from collections.abc import MutableMapping

# of oslo.config and the openstack command; of libpq; of the programs of MariaDB
_PREFIXES = ("OS_", "PG", "MYSQL_", "MARIADB_")
_PROXIES = ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "https_proxy", "HTTPS_PROXY")


def normalize(environ: MutableMapping[str, str]) -> None:
    """Remove the variables that options, database clients and HTTP clients read.

    Only pip uses the proxy of the machine. TMPDIR is removed, too: a path of a Unix socket has at
    most 107 bytes, and servers that run as other users must be able to enter their directories.

    >>> variables = {"OS_CLOUD": "mine", "PGHOST": "db", "https_proxy": "http://proxy:3128"}
    >>> normalize(variables)
    >>> variables
    {'PIP_PROXY': 'http://proxy:3128'}
    """
    for name in _PROXIES:
        if name in environ:
            environ["PIP_PROXY"] = environ.pop(name)
    for name in [name for name in environ if name.startswith(_PREFIXES)]:
        del environ[name]
    environ.pop("TMPDIR", None)
