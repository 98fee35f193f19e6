"""Values of an audit: live consumers, the audited state of the database, and the findings.

The audit reads one state of the database, with sums instead of all allocations. Live consumers are
consumers that exist outside of Placement, in a list from nova or from an operator.
"""

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NamedTuple, Self

from placement.core.model import Inventory
from placement.exception import BadRequest

INSTANCE: Final = "INSTANCE"
MIGRATION: Final = "MIGRATION"
COMPUTE_NODE: Final = "COMPUTE_NODE"
"""The trait of hosts."""

Key = tuple[int, int]
"""The ids of a provider and of a resource class."""

GRACE_MINUTES: Final = 30
MOST_OF_ONE_CODE: Final = 1000

ERROR = "error"
NOTICE = "notice"

SEVERITIES: Mapping[str, str] = {
    "missing_root": ERROR,
    "missing_parent": ERROR,
    "wrong_root": ERROR,
    "nested_compute_node": ERROR,
    "missing_provider": ERROR,
    "missing_inventory": ERROR,
    "missing_consumer": ERROR,
    "empty_consumer": ERROR,
    "orphaned_consumer": ERROR,
    "doubled_consumer": ERROR,
    "hypervisor_without_provider": ERROR,
    "provider_without_hypervisor": NOTICE,
    "usage_counter": ERROR,
    "over_capacity": ERROR,
    "similar_names": NOTICE,
    "provider_without_inventory": NOTICE,
    "host_without_aggregate": NOTICE,
    "unused_class": NOTICE,
    "unused_trait": NOTICE,
    "unused_type": NOTICE,
    "similar_types": NOTICE,
    "untyped_consumers": NOTICE,
    "leftover_column": NOTICE,
    "stale_provider": NOTICE,
}
"""All codes, in the order in which findings are listed."""

_PLAN = "placement-manage audit --code {code} --plan repair.plan"
_PLAN_LIVE = "placement-manage audit --live nova --code {code} --plan repair.plan"
_CONSUMERS = "openstack resource consumer list --provider {uuid}"
_CONSUMERS_OF_TYPE = "openstack resource consumer list --type {type}"
_IDENTITY = "placement-manage identity {name}"

REPAIR_COMMANDS: Mapping[str, str] = {
    **dict.fromkeys(("missing_root", "missing_parent", "wrong_root"), _PLAN),
    **dict.fromkeys(("missing_provider", "missing_consumer", "empty_consumer"), _PLAN),
    **dict.fromkeys(("usage_counter", "unused_class", "unused_trait", "unused_type"), _PLAN),
    **dict.fromkeys(("orphaned_consumer", "doubled_consumer"), _PLAN_LIVE),
    **dict.fromkeys(("missing_inventory", "over_capacity"), _CONSUMERS),
    **dict.fromkeys(("similar_names", "stale_provider"), _IDENTITY),
    **dict.fromkeys(("hypervisor_without_provider", "provider_without_hypervisor"), _IDENTITY),
    "nested_compute_node": "openstack placement preview --root {uuid}",
    "provider_without_inventory": "openstack resource provider tree --in-tree {uuid}",
    "host_without_aggregate": "nova-manage placement sync_aggregates",
    **dict.fromkeys(("similar_types", "untyped_consumers"), _CONSUMERS_OF_TYPE),
    "leftover_column": "",
}
"""The command with which a repair begins: it writes a plan, or shows what to decide on.

``uuid`` and ``name`` are of the hypervisor or the first provider of the finding, ``type`` is its
consumer type.
"""


class InvalidList(BadRequest):
    """The list cannot be used: a part of it could be missing."""


@dataclass(frozen=True, slots=True)
class LiveConsumers:
    """A complete list of the consumers of some types.

    ``hosts`` has the name of the provider that an instance runs on, by the UUID of the instance;
    None if the provider is not known or about to change. ``others`` are further live consumers,
    such as migrations. The list is complete for the consumer types in ``types``: consumers of
    other types are not compared. ``unknown`` is the type of consumers without a type.
    ``listed_at`` is when the listing began (naive UTC): consumers written later are not compared.
    ``hypervisors`` has the names of all hypervisors by UUID, None if they are not known.
    """

    hosts: Mapping[str, str | None]
    listed_at: datetime
    types: frozenset[str] = frozenset({INSTANCE})
    others: Collection[str] = field(default=frozenset())
    hypervisors: Mapping[str, str] | None = None

    def has(self, consumer_uuid: str) -> bool:
        """Return whether the list has a consumer.

        >>> live = LiveConsumers({"a": None}, datetime(2026, 1, 1), others={"b"})
        >>> live.has("A"), live.has("b"), live.has("c")
        (True, True, False)
        """
        uuid = consumer_uuid.lower()
        return uuid in self.hosts or uuid in self.others

    def __len__(self) -> int:
        return len(self.hosts) + len(self.others)


@dataclass(frozen=True, slots=True)
class AuditSettings:
    """The settings of an audit.

    Allocations and consumers written in the last ``grace_minutes`` are left out. ``codes`` are
    the codes to list, all if empty. ``stale_days`` also lists providers that did not change for
    this number of days. At most ``at_most`` findings of a code are listed.
    """

    grace_minutes: int = GRACE_MINUTES
    stale_days: int | None = None
    codes: Collection[str] = ()
    at_most: int = MOST_OF_ONE_CODE

    def covers(self, code: str) -> bool:
        """Return whether findings of the code are listed."""
        return not self.codes or code in self.codes


class AuditedProvider(NamedTuple):
    """The row of a provider; ``updated_at`` is when its generation last changed (naive UTC)."""

    id: int
    uuid: str
    name: str
    root_id: int | None
    parent_id: int | None
    updated_at: datetime | None
    generation: int = 0


class EmptyConsumer(NamedTuple):
    """A consumer without allocations."""

    uuid: str
    generation: int


class AuditedInventory(NamedTuple):
    """The row of an inventory; ``used`` is the usage counter beside it."""

    provider_id: int
    class_id: int
    total: int
    reserved: int
    allocation_ratio: float
    used: int
    changed_at: datetime | None

    @property
    def limits(self) -> Inventory:
        """The fields from which ``core.capacity`` computes the capacity."""
        return Inventory(self.total, self.reserved, allocation_ratio=self.allocation_ratio)


class UsageSum(NamedTuple):
    """The sum of the allocations of a class on a provider.

    ``newest_at`` is when the newest allocation was created. It is read only if a sum exceeds the
    capacity.
    """

    amount: int
    newest_at: datetime | None


class LoneAllocation(NamedTuple):
    """An allocation of a consumer that has no row."""

    consumer_uuid: str
    provider_id: int
    class_id: int
    amount: int


@dataclass(frozen=True, slots=True)
class AuditedState:
    """One state of the database.

    ``lone_allocations`` belong to consumers without a row. These allocations and
    ``empty_consumers`` are older than the grace period, and the number of consumers is limited.
    ``young`` is the number of younger consumers without a row or without allocations, by the
    codes of the findings.

    ``compute_nodes`` are the ids of the providers with the trait COMPUTE_NODE, ``aggregated`` of
    the providers in an aggregate. ``consumer_types`` has the number of consumers of each type,
    and of consumers without a type (None).
    """

    providers: Sequence[AuditedProvider]
    inventories: Sequence[AuditedInventory]
    usage: Mapping[Key, UsageSum]
    class_names: Mapping[int, str]
    lone_allocations: Sequence[LoneAllocation]
    empty_consumers: Sequence[EmptyConsumer]
    young: Mapping[str, int]
    unused_classes: Sequence[str]
    unused_traits: Sequence[str]
    compute_nodes: Collection[int]
    aggregated: Collection[int]
    consumer_types: Mapping[str | None, int]
    leftover_columns: Sequence[str]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A number of findings of one code that an audit did not report, and the reason."""

    code: str
    count: int
    reason: str


def young(grace_minutes: int) -> str:
    """Return the reason to skip rows that were written in the grace period."""
    return f"younger than {grace_minutes} minutes (--grace-minutes)"


@dataclass(frozen=True, slots=True)
class Finding:
    """A defect, or a possible defect, of the database.

    ``rows`` names the rows concerned, by UUIDs and names; ``cause`` is empty if unknown. ``names``
    has the names of the providers in ``rows``, by UUID.
    """

    code: str
    rows: Mapping[str, Any]
    cause: str
    repair: str
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def severity(self) -> str:
        """``error`` or ``notice``, which a code of a later release is."""
        return SEVERITIES.get(self.code, NOTICE)

    @property
    def repair_command(self) -> str:
        """The command with which the repair begins; empty if there is none."""
        if self.rows.get("expected_root", "") is None:  # a loop of parents
            return ""
        uuid, name = next(iter(self.names.items()), ("", ""))
        name = self.rows.get("hypervisor", {}).get("name", name)
        return REPAIR_COMMANDS[self.code].format(
            code=self.code,
            uuid=uuid,
            name=shlex.quote(str(name)),
            type=shlex.quote(str(self.rows.get("type"))),
        )

    def as_json(self) -> dict[str, Any]:
        """Return the finding in the document of findings."""
        return {
            "code": self.code,
            "severity": self.severity,
            "rows": dict(self.rows),
            "cause": self.cause,
            "repair": self.repair,
            "repair_command": self.repair_command,
            "names": dict(self.names),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the finding of a document, which a service of another release may have sent."""
        code, rows, cause = document["code"], document["rows"], document["cause"]
        return cls(code, rows, cause, document["repair"], document.get("names", {}))


def names_in(value: object, names: Mapping[str, str]) -> dict[str, str]:
    """Return those of the names whose UUIDs are in a value of lists, mappings and texts.

    >>> names_in({"parent": "u1", "providers": ["u2"]}, {"u1": "cn1", "u2": "cn2", "u3": "cn3"})
    {'u1': 'cn1', 'u2': 'cn2'}
    """
    return {text: names[text] for text in _texts(value) if text in names}


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, member in value.items():
            yield from _texts(key)
            yield from _texts(member)
    elif isinstance(value, Sequence):
        for member in value:
            yield from _texts(member)
