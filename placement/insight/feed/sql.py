"""The ids of changed providers, and the UUIDs of removed providers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from placement.db import clocks
from placement.db.snapshot.changes import between, moved_clocks, parameters
from placement.db.store import Store
from placement.db.tables import removed_providers, resource_providers


@dataclass(frozen=True, slots=True)
class TouchedProviders:
    """Ids of changed providers, and UUIDs of removed ones."""

    ids: Sequence[int]
    removed: Sequence[str]


def touched(store: Store, seen: Mapping[int, int], now: Mapping[int, int]) -> TouchedProviders:
    """Return the providers that changed since the clocks had the values ``seen``.

    Reads the changes of the clocks whose values differ between ``seen`` and ``now``. The result
    may include changes after ``now``. Cost: one statement, outside of any transaction.
    """
    moved = moved_clocks(seen, now)
    statement, values = _touched_since(len(moved)), parameters(seen, moved)
    rows = store.single_statement(lambda connection: connection.execute(statement, values).all())
    return TouchedProviders(
        ids=[row.id for row in rows if not row.is_removed],
        removed=[row.uuid for row in rows if row.is_removed],
    )


@lru_cache(maxsize=clocks.PROVIDER_CLOCKS + 1)
def _touched_since(count: int) -> sa.CompoundSelect[Any]:
    """Return the statement for the ids of changed and removed providers of ``count`` clocks.

    The row of a removed provider also has its UUID.
    """
    changed, removed = resource_providers.c, removed_providers.c
    return sa.union_all(
        sa.select(
            changed.id,
            sa.false().label("is_removed"),
            sa.cast(sa.null(), sa.String(36)).label("uuid"),
        ).where(between(changed.stamp, count)),
        sa.select(removed.provider_id, sa.true(), removed.uuid).where(
            between(removed.stamp, count)
        ),
    )
