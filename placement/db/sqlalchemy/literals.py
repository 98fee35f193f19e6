"""Statements with their values in the text, where that is safe.

A message of several statements cannot have parameters on PostgreSQL, and drivers written in Python
need much of the time of a statement to quote them. A value is written into the text only if no
quoting is necessary: whole numbers, timestamps, NULL, and text of printable ASCII characters
without quotation marks and backslashes, such as UUIDs.
"""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache
from types import NoneType
from typing import Any

from placement.db.sqlalchemy.compiled_statements import BoundStatement

_PERCENT_STYLES = frozenset({"format", "pyformat"})
_is_plain = re.compile(r"[ !#-&(-\[\]-_a-~]*").fullmatch


def with_literals(statement: BoundStatement, paramstyle: str) -> str | None:
    r"""Return the text of a statement without parameters.

    Returns None if a value has to be quoted, or if the ``paramstyle`` of the driver has other
    placeholders than ``%s``.

    >>> sql = "SET a = %s, b = %s WHERE c %% 2 = %s"
    >>> with_literals(BoundStatement(sql, (1, "x", -3)), "pyformat")
    "SET a = 1, b = 'x' WHERE c % 2 = (-3)"
    >>> with_literals(BoundStatement("SET a = %s", ("it's",)), "format")
    >>> with_literals(BoundStatement("SET a = ?", (1,)), "qmark")
    """
    if paramstyle not in _PERCENT_STYLES:
        return None
    try:
        return statement.sql % tuple(
            [_LITERAL_OF[type(value)](value) for value in statement.parameters]
        )
    except (_NotPlain, KeyError):
        return None


class _NotPlain(Exception):  # noqa: N818
    """The value has to be quoted by the driver."""


def _integer(value: int) -> str:
    return str(value) if value >= 0 else f"({value})"


def _text(value: str) -> str:
    if not _is_plain(value):
        raise _NotPlain
    return f"'{value}'"


@lru_cache(maxsize=10)  # the columns of one statement have the same
def _timestamp(value: datetime) -> str:
    if value.tzinfo is not None:
        raise _NotPlain
    return f"'{value}'"


def _null(_: None) -> str:
    return "NULL"


# by the exact type: a subclass may print otherwise
_LITERAL_OF: Mapping[type, Callable[[Any], str]] = {
    int: _integer,
    str: _text,
    datetime: _timestamp,
    NoneType: _null,
}
