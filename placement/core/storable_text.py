"""Which text a database can hold."""

import re

from placement import exception

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def storable(text: str) -> bool:
    r"""Tell whether every database can hold the text: PostgreSQL has no NUL, UTF-8 no surrogates.

    What is not storable was never stored, so that looking for it finds nothing.

    >>> storable("ship\u00e9"), storable("nul\0"), storable("half a pair \ud83d")
    (True, False, False)
    """
    return _UNSTORABLE.search(text) is None


def check_storable(what: str, text: str) -> None:
    """Return if the text can be stored.  Raises: BadRequest."""
    if not storable(text):
        raise exception.BadRequest(f"The {what} has characters that cannot be stored.")
