"""Reconciles all usage counters with the allocations; writers may be active."""

from collections.abc import Callable

import sqlalchemy as sa

from placement.db.store import Store
from placement.db.tables import resource_providers
from placement.db.usage_counters import GENERATION, count_again, differences

Report = Callable[[str], object]

_BATCH = 1000
_NOT_COUNTED = sa.select(resource_providers.c.id).where(
    resource_providers.c.counted_generation != GENERATION
)


def ignore(_text: str) -> None:
    """Do nothing with a progress report."""


def reconcile(store: Store, report: Report = ignore) -> int:
    """Set the usage counters to the sums of allocations; return how many were wrong.

    Writers may be active: the providers are locked, a batch at a time, and compared again.
    Providers whose allocations are not noted as counted are compared here, so that their next
    write need not do it.
    Cost: two statements, one of which reads all allocations from an index, then ``count_again``
    for each thousand providers with wrong counters or without that note.
    """
    report("Comparing usage counters with allocations")
    with store.read() as tx:
        wrong = {each.provider_id for each in differences(tx.connection)}
        provider_ids = sorted(wrong.union(tx.connection.execute(_NOT_COUNTED).scalars()))
    corrected = 0
    for start in range(0, len(provider_ids), _BATCH):
        corrected += store.write(count_again, provider_ids[start : start + _BATCH])
        checked = min(start + _BATCH, len(provider_ids))
        report(f"Checked the usage counters of {checked} of {len(provider_ids)} providers")
    return corrected
