"""The values that placement is about.

Every layer speaks in these: the store makes them from rows, the decisions of
``core`` work on them, ``render`` turns them into JSON. All are immutable.
Amounts are integers in the unit of their resource class (MEMORY_MB in MiB,
DISK_GB in GiB); providers, consumers and aggregates are named by UUID text,
classes and traits by name; times are naive UTC.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

MAX_INT = 2_147_483_647
SHARING_TRAIT = "MISC_SHARES_VIA_AGGREGATE"
FIRST_CUSTOM_CLASS_ID = 10_000
CUSTOM_PREFIX = "CUSTOM_"


@dataclass(frozen=True, slots=True)
class Inventory:
    """How much of one resource class a provider has, and in which portions it gives it."""

    total: int
    reserved: int = 0
    min_unit: int = 1
    max_unit: int = MAX_INT
    step_size: int = 1
    allocation_ratio: float = 1.0


@dataclass(frozen=True, slots=True)
class Provider:
    """A resource provider, as it is named and where it stands in its tree."""

    id: int
    uuid: str
    name: str
    generation: int
    parent_uuid: str | None
    root_uuid: str
    modified_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ProviderState:
    """Everything the snapshot knows of one provider.

    ``used`` has an entry for each class that is allocated; it may exceed the capacity.
    """

    provider: Provider
    inventories: Mapping[str, Inventory]
    used: Mapping[str, int]
    traits: frozenset[str]
    aggregates: frozenset[str]


# --- what the queries of ``objects`` answer ---------------------------------


@dataclass(frozen=True, slots=True)
class ProviderInventories:
    """The inventories of one provider by class; ``modified_at`` is that of the newest."""

    provider: Provider
    inventories: Mapping[str, Inventory]
    modified_at: datetime | None


@dataclass(frozen=True, slots=True)
class ProviderUsages:
    """The used amount of every class that the provider has inventory of, 0 included."""

    provider: Provider
    usages: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ProviderTraits:
    """The traits of one provider; ``modified_at`` is that of the newest trait record."""

    provider: Provider
    traits: tuple[str, ...]
    modified_at: datetime | None


@dataclass(frozen=True, slots=True)
class ProviderAggregates:
    """The aggregates that one provider is associated with, by UUID."""

    provider: Provider
    aggregates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Names:
    """Names of traits or resource classes; ``modified_at`` is that of the newest record."""

    names: tuple[str, ...]
    modified_at: datetime | None


@dataclass(frozen=True, slots=True)
class Consumer:
    """Who holds allocations; ``type`` is None for a consumer written before 1.38."""

    uuid: str
    project_id: str
    user_id: str
    generation: int
    type: str | None


@dataclass(frozen=True, slots=True)
class AllocatedResources:
    """What is allocated between one provider and one consumer.

    ``generation`` is that of the other side: the provider's in the allocations
    of a consumer, the consumer's in the allocations on a provider.
    """

    generation: int
    resources: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ProviderAllocations:
    """The allocations on one provider, by consumer UUID."""

    provider: Provider
    allocations: Mapping[str, AllocatedResources]
    modified_at: datetime | None


@dataclass(frozen=True, slots=True)
class ConsumerAllocations:
    """The allocations of one consumer, by provider UUID; ``consumer`` is None if it has none."""

    consumer: Consumer | None
    allocations: Mapping[str, AllocatedResources]
    modified_at: datetime | None


@dataclass(frozen=True, slots=True)
class TypeUsage:
    """What the consumers of one type use together."""

    consumer_count: int
    resources: Mapping[str, int]


# --- what a write asks for ---------------------------------------------------


@dataclass(frozen=True, slots=True)
class ConsumerClaim:
    """What one consumer is to hold from now on: all of it, nothing else.

    ``resources`` maps provider UUID to amounts by class; empty means that the
    consumer gives everything back. ``check_generation`` is false below 1.28,
    where the caller names no generation; otherwise ``generation`` must be the
    consumer's, None for a consumer that does not exist. ``type`` None leaves
    the type as it is (below 1.38).
    """

    consumer_uuid: str
    resources: Mapping[str, Mapping[str, int]]
    project_id: str
    user_id: str
    generation: int | None = None
    check_generation: bool = True
    type: str | None = None


@dataclass(frozen=True, slots=True)
class ReplaceAllocations:
    """Make each consumer hold exactly what its claim says, all or none (PUT and POST)."""

    claims: tuple[ConsumerClaim, ...]


@dataclass(frozen=True, slots=True)
class ReplaceInventories:
    """Make a provider, at the generation given, have exactly these inventories."""

    provider_uuid: str
    generation: int
    inventories: Mapping[str, Inventory]


@dataclass(frozen=True, slots=True)
class Reshape:
    """Move inventories and the allocations on them between providers, all or none."""

    inventories: tuple[ReplaceInventories, ...]
    claims: tuple[ConsumerClaim, ...] = field(default=())
