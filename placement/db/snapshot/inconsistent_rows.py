"""Inconsistent rows, written by other programs or by a defect.

One such row must not make reads of all other rows fail. It is left out, logged once by each
process, and reported by ``placement-status upgrade check``.
"""

import logging
from functools import lru_cache

LOG = logging.getLogger(__name__)


@lru_cache(maxsize=1000)
def warn_once(message: str) -> None:
    """Log a warning, once for each message."""
    LOG.warning("%s Run `placement-status upgrade check`.", message)
