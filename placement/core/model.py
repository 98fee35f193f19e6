"""The values of placement, shared by all layers.

The store creates them from rows, ``core`` decides on them, ``render`` writes them as
JSON. All are immutable.
Amounts are integers in the unit of their resource class (MEMORY_MB in MiB,
DISK_GB in GiB); providers, consumers and aggregates are named by UUID text,
classes and traits by name; times are naive UTC.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

MAX_INT = 2_147_483_647
EPOCH_CLOCK: Final = 33  # the clock whose value is the epoch of the database, see db.clocks
SHARING_TRAIT = "MISC_SHARES_VIA_AGGREGATE"
FIRST_CUSTOM_CLASS_ID = 10_000
CUSTOM_PREFIX = "CUSTOM_"


@dataclass(frozen=True, slots=True)
class Inventory:
    """The amount of one resource class that a provider has, and the rules for amounts."""

    total: int
    reserved: int = 0
    min_unit: int = 1
    max_unit: int = MAX_INT
    step_size: int = 1
    allocation_ratio: float = 1.0


@dataclass(frozen=True, slots=True)
class Provider:
    """A resource provider: its names, and its position in a tree."""

    id: int
    uuid: str
    name: str
    generation: int
    parent_uuid: str | None
    root_uuid: str
    modified_at: datetime | None = None


class ProviderSummary(NamedTuple):
    """A provider with the numbers of consumers, inventories and children that it has itself.

    ``changed_at`` is the time of its last change (naive UTC), None in old databases.
    """

    uuid: str
    name: str
    generation: int
    parent_uuid: str | None
    root_uuid: str | None
    changed_at: datetime | None
    consumers: int
    inventories: int
    children: int


@dataclass(frozen=True, slots=True)
class ProviderState:
    """Everything that the snapshot contains of one provider.

    ``used`` has an entry for each class that is allocated; it may exceed the capacity.
    """

    provider: Provider
    inventories: Mapping[str, Inventory]
    used: Mapping[str, int]
    traits: frozenset[str]
    aggregates: frozenset[str]


# --- results of the queries of ``objects`` ----------------------------------


@dataclass(frozen=True, slots=True)
class ProviderInventories:
    """The inventories of a provider by class, its generation, and the newest time of them."""

    generation: int
    inventories: Mapping[str, Inventory]
    modified_at: datetime | None


@dataclass(frozen=True, slots=True)
class ProviderUsages:
    """The used amount of each class that a provider has inventory of, and its generation."""

    generation: int
    usages: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ProviderAggregates:
    """The UUIDs of the aggregates of a provider, and its generation."""

    generation: int
    aggregates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NameList:
    """Names of traits or resource classes; ``modified_at`` is the newest time of a record."""

    names: tuple[str, ...]
    modified_at: datetime | None


@dataclass(frozen=True, slots=True)
class Consumer:
    """An owner of allocations; ``type`` is None for a consumer written before 1.38."""

    uuid: str
    project_id: str
    user_id: str
    generation: int
    type: str | None


@dataclass(frozen=True, slots=True)
class AllocatedResources:
    """The amounts that one consumer has on one provider, by resource class.

    ``generation`` is the generation of the provider in the allocations of a consumer, and
    the generation of the consumer in the allocations on a provider.
    """

    generation: int
    resources: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ProviderAllocations:
    """The allocations on a provider, by consumer UUID, and its generation."""

    generation: int
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
    """The usage of all consumers of one type."""

    consumer_count: int
    resources: Mapping[str, int]


# --- commands ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class IncompleteConsumer:
    """The owner recorded for allocations without one, which microversions below 1.8 allow."""

    project_id: str
    user_id: str


@dataclass(frozen=True, slots=True)
class ConsumerClaim:
    """All allocations that one consumer has after a write.

    ``resources`` maps provider UUID to amounts by class; empty releases all
    allocations. ``check_generation`` is false below 1.28, where requests contain no
    generation; otherwise ``generation`` must be the
    consumer's, None for a consumer that does not exist. ``type`` None does not
    change the type (below 1.38).
    """

    consumer_uuid: str
    resources: Mapping[str, Mapping[str, int]]
    project_id: str
    user_id: str
    generation: int | None = None
    check_generation: bool = True
    type: str | None = None


@dataclass(frozen=True, slots=True)
class UpdateProvider:
    """Change the name of a provider, and its parent if ``has_parent``.

    ``may_move`` is false below 1.37, where a parent once set can neither be changed nor removed.
    """

    uuid: str
    name: str
    parent_uuid: str | None = None
    has_parent: bool = True
    may_move: bool = True


# The least capacity of a written inventory is 0: the capacity is 0 if all of the total is
# reserved, and negative if more is. Requests before 1.26 may not reserve all: 1.


@dataclass(frozen=True, slots=True)
class CreateInventory:
    """Add an inventory to a provider, whatever its generation."""

    provider_uuid: str
    resource_class: str
    inventory: Inventory
    minimum_capacity: int = 0


@dataclass(frozen=True, slots=True)
class UpdateInventory:
    """Change an existing inventory of a provider that is at this generation."""

    provider_uuid: str
    generation: int
    resource_class: str
    inventory: Inventory
    minimum_capacity: int = 0


@dataclass(frozen=True, slots=True)
class ReplaceInventories:
    """Replace all inventories of a provider that is at this generation."""

    provider_uuid: str
    generation: int
    inventories: Mapping[str, Inventory]
    minimum_capacity: int = 0
