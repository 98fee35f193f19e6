"""The clocks as one text, which a client of ``GET /insight/providers`` sends back unchanged.

The text is opaque to clients: base64 of the compressed values, with a checksum that detects a
truncated or edited text. ``placement.db.clocks`` defines the meaning of the values.
"""

import base64
import struct
import zlib
from collections.abc import Mapping

from placement.core.model import EPOCH_CLOCK

_FORMAT = "c1"  # a later release can have another format, and reject this format
_LONGEST = 4_096
_MOST_BYTES = 8_192


def encode(clocks: Mapping[int, int]) -> str:
    """Return the token of these values: about 150 characters, legal in a query string.

    >>> decode(encode({0: 5, 1: 1 << 40})) == {0: 5, 1: 1 << 40}
    True
    """
    pairs = [number for pair in sorted(clocks.items()) for number in pair]
    packed = zlib.compress(struct.pack(f">{len(pairs)}Q", *pairs), 9)
    return _FORMAT + _base64(packed)


def _base64(packed: bytes) -> str:
    return base64.urlsafe_b64encode(packed).decode("ascii").rstrip("=")


def decode(token: str) -> dict[int, int] | None:
    """Return the values of the clocks, None if the text is damaged or has more after its end.

    >>> decode("yesterday") is None
    True
    >>> decode(encode({0: 5}) + "AAAA") is None
    True
    """
    if not token.startswith(_FORMAT) or len(token) > _LONGEST:
        return None
    text, inflate = token.removeprefix(_FORMAT), zlib.decompressobj()
    try:
        packed = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        pairs = inflate.decompress(packed, _MOST_BYTES)
        values = dict(struct.iter_unpack(">QQ", pairs))
    except (ValueError, struct.error, zlib.error):
        return None
    # damaged, too long for a token, or with characters after its end
    is_whole = inflate.eof and not inflate.unused_data and _base64(packed) == text
    return values if is_whole else None


def epoch(token: str) -> int | None:
    """Return the epoch of the database in a token, None if the text is not a token.

    >>> epoch(encode({0: 5, EPOCH_CLOCK: 7})), epoch("yesterday")
    (7, None)
    """
    return (decode(token) or {}).get(EPOCH_CLOCK)
