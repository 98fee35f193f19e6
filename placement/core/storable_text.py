"""The check whether a database can store a text."""

import re

from placement import exception

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def is_storable(text: str) -> bool:
    r"""Return whether every database can store the text.

    PostgreSQL cannot store NUL, UTF-8 cannot encode surrogates. A text that is not
    storable was never stored, so a lookup of it returns nothing.

    >>> is_storable("ship\u00e9"), is_storable("nul\0"), is_storable("half a pair \ud83d")
    (True, False, False)
    """
    return _UNSTORABLE.search(text) is None


def check_storable(what: str, text: str) -> None:
    """Check that the text can be stored.

    Raises: BadRequest.
    """
    if not is_storable(text):
        raise exception.BadRequest(f"The {what} has characters that cannot be stored.")
