"""Which tests ``make test`` leaves out because of their database."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from placement.tests import plugin

ROWS, SCHEMA = plugin.DB / "claims" / "test_claims.py", plugin.DB / "schema" / "test_seed.py"
HTTP = Path(plugin.__file__).parent / "functional" / "http" / "test_http_errors.py"


@pytest.mark.parametrize(
    ("path", "parameters", "marks"),
    [
        (HTTP, None, []),
        (HTTP, {"method": "GET"}, []),
        (HTTP, {"backend": "sqlite"}, []),
        (HTTP, {"backend": "mariadb"}, ["server", "long"]),
        (ROWS, {"backend": "mariadb"}, ["server"]),
        (ROWS, {"driver": "mysqldb"}, ["server"]),
        (SCHEMA, {"backend": "mariadb"}, ["server", "long"]),
        (ROWS, {"backend": "postgresql"}, ["server", "long"]),
        (ROWS, {"driver": "psycopg"}, ["server", "long"]),
    ],
)
def test_only_tests_of_rows_use_a_server_and_only_mariadb(path, parameters, marks):
    added = []
    item = SimpleNamespace(path=path, add_marker=added.append)
    if parameters is not None:
        item.callspec = SimpleNamespace(params=parameters)
    plugin.pytest_itemcollected(item)
    assert added == marks
