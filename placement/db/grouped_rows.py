"""Many rows as one text, which the server joins and Python splits at once.

The drivers decode a row of a result in some microseconds, PyMySQL in more than five. With 190,000
providers and their inventories this would take most of the time of a load.

The text is the number of rows and then the fields of each row, all of them followed by ``END``.
MySQL and MariaDB truncate a text at ``group_concat_max_len``: a truncated text has too few
fields, or does not end with ``END``. A text longer than ``max_allowed_packet`` is NULL.
"""

from collections.abc import Sequence
from functools import reduce
from typing import Any

import sqlalchemy as sa

from placement import exception

END = "|"
NO_ROWS = f"0{END}"
# As SQL: a parameter would be replaced in the text of the statement at each execution.
_NOTHING: Any = sa.literal_column("''")

# The number of ids in one text, which must be shorter than session_settings.MAX_JOINED_LENGTH
# bytes: an id has up to ten digits, a name up to 200 characters of four bytes
IDS_OF_NUMBERS = 65_536
IDS_OF_NAMES = 1_024


class Truncated(exception.DatabaseUnavailable):
    """The server truncated a text."""


def joined(dialect: str, *columns: sa.ColumnElement[Any]) -> sa.ColumnElement[str]:
    """Return some columns of all rows as one text, NULL if there are no rows.

    No value may contain ``END``, see ``escaped``. Rows whose first column is NULL are left out; no
    other value may be NULL.
    """
    end = sa.literal_column(f"'{END}'", sa.Text)
    fields = [_text(column, dialect) + end for column in columns]
    row: sa.ColumnElement[str] = reduce(lambda text, field: text + field, fields)
    count = sa.cast(sa.func.count(columns[0]), sa.Text)
    text: sa.ColumnElement[str] = count + end + sa.func.aggregate_strings(row, _NOTHING)
    return text


def _text(column: sa.ColumnElement[Any], dialect: str) -> sa.ColumnElement[str]:
    """Return a value as text of the connection's collation: tables may have different ones."""
    if dialect == "sqlite" and isinstance(column.type, sa.Float):
        return sa.func.quote(column)  # a cast would round to 15 digits
    return sa.cast(column, sa.Text)


def fields(text: str | None, width: int) -> list[Sequence[str]]:
    """Return the columns of a text, which is not NULL if there are rows.

    Raises: Truncated.

    >>> fields("2|1|a|7|b|", 2), fields(NO_ROWS, 1)
    ([['1', '7'], ['a', 'b']], [[]])
    """
    count, *values = (text or "").split(END)
    if not values or values.pop() or len(values) != int(count) * width:
        raise Truncated(
            f"The database server truncated a text of many rows at {len(text or '')} characters: "
            "its group_concat_max_len or max_allowed_packet is too small."
        )
    return [values[number::width] for number in range(width)]


def escaped(column: sa.ColumnElement[str]) -> sa.ColumnElement[str]:
    """Return a text that does not contain ``END``."""
    tildes = sa.func.replace(column, "~", "~0", type_=sa.Text)
    return sa.func.replace(tildes, END, "~1", type_=sa.Text)


def unescaped(text: str) -> str:
    """Return the original of an ``escaped`` text.

    >>> unescaped("a~1b~01")
    'a|b~1'
    """
    return text.replace("~1", END).replace("~0", "~") if "~" in text else text
