"""Inconsistent rows, written by other programs or by a defect.

One such row must not make reads of all other rows fail. It is left out, logged once by each
process, and reported by ``placement-status upgrade check``.
"""

import logging
from collections.abc import Mapping
from functools import lru_cache

LOG = logging.getLogger(__name__)


@lru_cache(maxsize=1000)
def warn_once(message: str) -> None:
    """Log a warning, once for each message."""
    LOG.warning("%s Run `placement-status upgrade check`.", message)


def in_loops(parent_of: Mapping[str, str | None]) -> set[str]:
    """Return the providers that do not lead to a root: they are in a loop, or below one.

    >>> sorted(in_loops({"root": None, "child": "root", "a": "b", "b": "a", "below": "a"}))
    ['a', 'b', 'below']
    """
    leads_to_root: dict[str, bool] = {}
    for start in parent_of.keys() & set(parent_of.values()):  # a leaf leads where its parent does
        path: dict[str, None] = {}
        uuid: str | None = start
        while (
            uuid is not None and uuid in parent_of and not (uuid in leads_to_root or uuid in path)
        ):
            path[uuid] = None
            uuid = parent_of[uuid]
        has_root = uuid is None or (uuid not in path and leads_to_root.get(uuid, True))
        leads_to_root.update(dict.fromkeys(path, has_root))
    looped = {uuid for uuid, has_root in leads_to_root.items() if not has_root}
    return looped and {uuid for uuid, parent in parent_of.items() if {uuid, parent} & looped}
