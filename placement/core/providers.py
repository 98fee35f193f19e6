"""The filters of GET /resource_providers."""

from collections.abc import Sequence

from placement.core.entries import ProviderEntry
from placement.core.request import ProviderFilter
from placement.core.snapshot import Snapshot


def matching(snapshot: Snapshot, asked: ProviderFilter) -> Sequence[ProviderEntry]:
    """Return the providers that meet all that is asked."""
    raise NotImplementedError
