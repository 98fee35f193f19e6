"""Values of several rows as one text, which a subquery returns with the row they belong to.

The text is the number of values and then each value, all of them followed by ``END``. So a text
that MySQL truncated at ``group_concat_max_len`` cannot be taken for a complete one.
"""

from typing import Any

import sqlalchemy as sa

from placement.db.sqlalchemy.grouped_rows import Unreadable

END = "|"
_END = sa.literal_column(f"'{END}'", sa.Text)


def joined(value: sa.ColumnElement[str]) -> sa.ColumnElement[Any]:
    """Return the values of all rows as one text, NULL if there are no rows."""
    count = sa.cast(sa.func.count(), sa.Text)
    return count + _END + sa.func.aggregate_strings(value + _END, "")


def values(text: str | None) -> list[str]:
    """Return the values of a text.  Raises: Unreadable.

    >>> values("2|a|b|"), values(None)
    (['a', 'b'], [])
    >>> values("2|a|b")
    Traceback (most recent call last):
    placement.db.sqlalchemy.grouped_rows.Unreadable: not 2 values in 5 characters
    """
    if text is None:
        return []
    count, *parts = text.split(END)
    if parts.pop() or len(parts) != int(count):
        raise Unreadable(f"not {count} values in {len(text)} characters")
    return parts
