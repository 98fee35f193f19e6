"""The text of a time, as in responses and in the files that commands write."""

from datetime import datetime
from typing import overload


@overload
def timestamp(at: datetime) -> str: ...
@overload
def timestamp(at: None) -> None: ...
def timestamp(at: datetime | None) -> str | None:
    """Return a time in UTC (aware or naive) in ISO 8601, in whole seconds; None for None.

    >>> timestamp(datetime(2026, 11, 21, 2, 14, 7, 999))
    '2026-11-21T02:14:07Z'
    """
    return None if at is None else f"{at:%Y-%m-%dT%H:%M:%SZ}"
