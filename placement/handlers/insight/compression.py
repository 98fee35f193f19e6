"""Compression of streamed responses.

Measured with 10,000 hosts of 1.3 kB each: the fastest level makes 0.66 MB of 13 MB in 25 ms, so
the response arrives earlier on any network below 4 Gbit/s. Higher levels save a tenth more and
take three times as long.
"""

import zlib
from collections.abc import Iterable, Iterator

_LEVEL = 1
_GZIP_FORMAT = 31


def compressed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the pieces in the format of gzip; never more than one of them is in memory."""
    deflate = zlib.compressobj(_LEVEL, wbits=_GZIP_FORMAT)
    for piece in pieces:
        if part := deflate.compress(piece):
            yield part
    yield deflate.flush()
