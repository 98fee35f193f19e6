"""Reading whole tables as few long rows.

The drivers decode a row of a large result in some microseconds, PyMySQL in more than five. With
190,000 providers that is most of a load. Here the server joins the values of many rows to one
text, which Python splits at once.

Each text is read with the number of its values and its length in characters, so an incomplete one
is detected: MySQL truncates texts at ``group_concat_max_len``, and a name may contain the
separator. Both raise ``Unreadable``, and the caller reads row by row.

Values of several rows as one text, which a subquery returns with the row they belong to.

The text is the number of values and then each value, all of them followed by ``END``. So a text
that MySQL truncated at ``group_concat_max_len`` cannot be taken for a complete one.
"""

from contextlib import suppress
from datetime import datetime
from typing import Any

import sqlalchemy as sa

SEPARATOR = "\x1e"  # the record separator of ASCII, which names are unlikely to contain

# Ids of one group, so that a text has less than session_settings.MAX_JOINED_LENGTH bytes: an id
# has up to ten digits, a name up to 200 characters of four bytes
IDS_OF_NUMBERS = 65_536
IDS_OF_TEXTS = 1_024


class Unreadable(Exception):  # noqa: N818
    """The values of a text cannot be told apart, or are not complete."""


def joined_text(
    expression: sa.ColumnElement[str], dialect: str
) -> tuple[sa.ColumnElement[Any], sa.ColumnElement[Any]]:
    """Return the values of all rows of a group as one column, and its length as another."""
    length = sa.func.length if dialect == "sqlite" else sa.func.char_length
    return (
        sa.func.aggregate_strings(expression, SEPARATOR),
        sa.func.sum(length(expression)) + sa.func.count() - 1,
    )


def values(text: str, length: Any, count: int) -> list[str]:
    r"""Return the ``count`` values of a text.  Raises: Unreadable.

    >>> values("a\x1eb", 3, 2)
    ['a', 'b']
    >>> values("a\x1eb", 4, 2)
    Traceback (most recent call last):
    placement.db.snapshot.grouped_rows.Unreadable: 3 characters of 4, 2 values of 2
    """
    parts = text.split(SEPARATOR)
    if len(text) != length or len(parts) != count:
        raise Unreadable(f"{len(text)} characters of {length}, {len(parts)} values of {count}")
    return parts


def text_of_time(time: sa.ColumnElement[Any], dialect: str) -> sa.ColumnElement[str]:
    """Return a time as text in ISO 8601, an empty one for NULL."""
    if dialect == "postgresql":  # the texts of a cast depend on settings of the session
        text: sa.ColumnElement[str] = sa.func.to_char(time, "YYYY-MM-DD HH24:MI:SS.US")
    else:
        text = text_of(time, dialect)
    return sa.func.coalesce(text, "")


def text_of(value: sa.ColumnElement[Any], dialect: str) -> sa.ColumnElement[str]:
    """Return a value for ``record``: concatenation converts it, except in PostgreSQL.

    A cast in MySQL would have the collation of the connection, which may not fit a column's.
    """
    if dialect == "postgresql":
        return sa.cast(value, sa.String)
    return sa.type_coerce(value, sa.String)


def record_of(*fields: sa.ColumnElement[str]) -> sa.ColumnElement[str]:
    """Return some fields as one expression, which ``values`` returns one by one."""
    text = fields[0]
    for field in fields[1:]:
        text = text.concat(SEPARATOR).concat(field)
    return text


class Times(dict[str, datetime | None]):
    """Times by their texts in ISO 8601: equal ones are one object.

    An empty text, and 0000-00-00, possible in MySQL, are none.

    >>> times = Times()
    >>> times["2026-01-02 03:04:05"], times["0000-00-00 00:00:00"]
    (datetime.datetime(2026, 1, 2, 3, 4, 5), None)
    """

    def __missing__(self, text: str) -> datetime | None:
        """Read the text."""
        time = None
        with suppress(ValueError):
            time = datetime.fromisoformat(text)
        self[text] = time
        return time


END = "|"
_END = sa.literal_column(f"'{END}'", sa.Text)


def joined(value: sa.ColumnElement[str]) -> sa.ColumnElement[Any]:
    """Return the values of all rows as one text, NULL if there are no rows."""
    count = sa.cast(sa.func.count(), sa.Text)
    return count + _END + sa.func.aggregate_strings(value + _END, "")


def joined_values(text: str | None) -> list[str]:
    """Return the values of a text.  Raises: Unreadable.

    >>> joined_values("2|a|b|"), joined_values(None)
    (['a', 'b'], [])
    >>> joined_values("2|a|b")
    Traceback (most recent call last):
    placement.db.snapshot.grouped_rows.Unreadable: not 2 values in 5 characters
    """
    if text is None:
        return []
    count, *parts = text.split(END)
    if parts.pop() or len(parts) != int(count):
        raise Unreadable(f"not {count} values in {len(text)} characters")
    return parts
