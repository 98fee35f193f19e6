"""The clocks as one text, which a client of ``GET /insight/providers`` sends back unchanged.

The text is opaque to clients: base64 of the compressed values, with a checksum that detects a
truncated or edited text. ``placement.db.clocks`` defines the meaning of the values.
"""

import base64
import binascii
import struct
import zlib
from collections.abc import Mapping

from placement.core.model import EPOCH_CLOCK

_FORMAT = "c1"  # a later release can have another format, and reject this format
_LONGEST = 4_096
_MOST_BYTES = 8_192
_VALUE_BYTES = 8


def encode(clocks: Mapping[int, int]) -> str:
    """Return the token of these values: about 150 characters, legal in a query string.

    >>> decode(encode({0: 5, 1: 1 << 40})) == {0: 5, 1: 1 << 40}
    True
    """
    pairs = [number for pair in sorted(clocks.items()) for number in pair]
    packed = zlib.compress(struct.pack(f">{len(pairs)}Q", *pairs), 9)
    return _FORMAT + base64.urlsafe_b64encode(packed).decode("ascii").rstrip("=")


def decode(token: str) -> dict[int, int] | None:
    """Return the values of the clocks, None if the text is not a token.

    >>> decode("yesterday") is None
    True
    """
    if not token.startswith(_FORMAT) or len(token) > _LONGEST:
        return None
    packed = _unpacked(token.removeprefix(_FORMAT))
    if packed is None or len(packed) % (2 * _VALUE_BYTES):
        return None
    numbers = struct.unpack(f">{len(packed) // _VALUE_BYTES}Q", packed)
    return dict(zip(numbers[::2], numbers[1::2], strict=True))


def epoch(token: str) -> int | None:
    """Return the epoch of the database in a token, None if the text is not a token.

    >>> epoch(encode({0: 5, EPOCH_CLOCK: 7})), epoch("yesterday")
    (7, None)
    """
    return (decode(token) or {}).get(EPOCH_CLOCK)


def _unpacked(text: str) -> bytes | None:
    """Return the decompressed values, None if the text is damaged or too long for a token."""
    inflate = zlib.decompressobj()
    try:
        packed = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        values = inflate.decompress(packed, _MOST_BYTES)
    except (ValueError, binascii.Error, zlib.error):
        return None
    return values if inflate.eof else None
