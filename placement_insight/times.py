"""Times as operators write them: ISO 8601, durations before now, and days."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

FORMS: Final = (
    "a time such as 2026-11-25 18:00 or 2026-11-25T18:00:00Z (ISO 8601, UTC without an offset), "
    "18:00, yesterday, or a time before now such as 45m, 2h30m, 7d or P1D"
)
_UNITS: Final = {"w": "weeks", "d": "days", "h": "hours", "m": "minutes", "s": "seconds"}
_PARTS: Final = [rf"(?:(?P<{name}>\d{{1,6}}){unit})?" for unit, name in _UNITS.items()]
_DURATION: Final = re.compile(
    "".join([r"(?=.*\d)(p)?", *_PARTS[:2], "(?(1)(?:t|$))", *_PARTS[2:]])
)
_DAYS: Final = {"today": 0, "yesterday": 1}


def time_of(text: str, now: datetime) -> datetime:
    """Return the time in UTC; a text without an offset is in UTC, and a day is its beginning.

    A time of day is the last one: before 18:00, ``18:00`` is yesterday's.

    >>> now = datetime(2026, 11, 25, 19, 30, tzinfo=UTC)
    >>> for text in ("1h", "PT2H30M", "yesterday", "18:00", "20:00", "2026-11-21 02:14+01:00"):
    ...     print(time_of(text, now).isoformat())
    2026-11-25T18:30:00+00:00
    2026-11-25T17:00:00+00:00
    2026-11-24T00:00:00+00:00
    2026-11-25T18:00:00+00:00
    2026-11-24T20:00:00+00:00
    2026-11-21T01:14:00+00:00

    Raises: ValueError.
    """
    written = text.strip().lower()
    try:
        if duration := _DURATION.fullmatch(written):
            units = {name: int(count) for name, count in duration.groupdict(default="0").items()}
            return now - timedelta(**units)
        return _point(text.strip(), now)
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r} is not {FORMS}.") from None


def _point(text: str, now: datetime) -> datetime:
    word, _, clock = text.partition(" ")
    is_clock = word[:1].isdigit() and ":" in word[:3]
    if is_clock:
        word, clock = "today", text
    if (days := _DAYS.get(word.lower())) is not None:
        date = (now - timedelta(days=days)).date().isoformat()
        text = f"{date} {clock or '00:00'}"
    at = datetime.fromisoformat(text)
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    return now - (now - at) % timedelta(days=1) if is_clock else at
