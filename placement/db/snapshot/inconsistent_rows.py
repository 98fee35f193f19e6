"""Inconsistent rows, written by other programs or by a defect.

One such row must not make reads of all other rows fail. It is left out, logged once by each
process, and reported by ``placement-status upgrade check``.
"""

import logging
from collections.abc import Iterator, Mapping
from functools import lru_cache

import sqlalchemy as sa

from placement.db.tables import (
    inventories,
    resource_classes,
    resource_provider_traits,
    resource_providers,
    traits,
)

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


def find(connection: sa.Connection) -> Iterator[str]:
    """Yield a description and a remedy for each kind of inconsistent row."""
    for sentence, statement in _QUERIES:
        count = connection.scalar(statement)
        if count:
            yield sentence.format(count)
    providers = connection.execute(_PARENTS).all()
    uuid_of = {row.id: row.uuid for row in providers}
    looped = in_loops({row.uuid: uuid_of.get(row.parent_provider_id) for row in providers})
    if looped:
        uuids = ", ".join(sorted(looped)[:5])
        yield (
            f"{len(looped)} resource providers are in or below a loop of parents ({uuids}). "
            "Set parent_provider_id of one of each loop to NULL, and root_provider_id of all."
        )


_PARENTS = sa.select(
    resource_providers.c.id, resource_providers.c.uuid, resource_providers.c.parent_provider_id
)
_COUNT = sa.func.count()
_QUERIES = (
    (
        "{} inventories have a resource class that does not exist. Delete these inventories.",
        sa.select(_COUNT).where(
            inventories.c.resource_class_id.not_in(sa.select(resource_classes.c.id))
        ),
    ),
    (
        "{} inventories have a step_size below 1. Set it to 1.",
        sa.select(_COUNT).where(inventories.c.step_size < 1),
    ),
    (
        "{} associations of resource providers have a trait that does not exist. Delete them.",
        sa.select(_COUNT).where(
            resource_provider_traits.c.trait_id.not_in(sa.select(traits.c.id))
        ),
    ),
    (
        "{} resource providers have no name. Set the name of each, for instance to its UUID.",
        sa.select(_COUNT).where(resource_providers.c.name.is_(None)),
    ),
)
