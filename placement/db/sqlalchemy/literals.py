"""Statements with their values in the text, where that is safe.

A message of several statements cannot have parameters on PostgreSQL, and drivers written in Python
need much of the time of a statement to quote them. A value is written into the text only if no
quoting is necessary: whole numbers, timestamps, NULL, and text of printable ASCII characters
without quotation marks and backslashes, such as UUIDs.
"""

import re
from datetime import datetime
from typing import Any

from placement.db.sqlalchemy.compiled_statements import BoundStatement

_is_plain = re.compile(r"[ !#-&(-\[\]-_a-~]*").fullmatch


def with_literals(statement: BoundStatement) -> str | None:
    r"""Return the text of a statement without parameters, None if a value has to be quoted.

    >>> with_literals(BoundStatement("SET a = %s, b = %s WHERE c %% 2 = %s", (1, "x", -3)))
    "SET a = 1, b = 'x' WHERE c % 2 = (-3)"
    >>> with_literals(BoundStatement("SET a = %s", ("it's",)))
    """
    try:
        return statement.sql % tuple([_literal(value) for value in statement.parameters])
    except _NotPlain:
        return None


class _NotPlain(Exception):  # noqa: N818
    """The value has to be quoted by the driver."""


def _literal(value: Any) -> str:
    """Return the text of a value of exactly one of the types: a subclass may print otherwise."""
    kind = type(value)
    if kind is int:
        return str(value) if value >= 0 else f"({value})"
    if kind is str and _is_plain(value):
        return f"'{value}'"
    if kind is datetime and value.tzinfo is None:
        return f"'{value}'"
    if value is None:
        return "NULL"
    raise _NotPlain
