"""Values of an audit: live consumers, the audited state of the database, and the findings.

The audit reads one state of the database, with sums instead of all allocations. Live consumers are
consumers that exist outside of Placement, in a list from nova or from an operator.
"""

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, NamedTuple, Self

from placement.core.model import Inventory
from placement.exception import BadRequest
from placement.insight.audit import kinds
from placement.insight.audit.kinds import (
    AggregatesOfNova,
    Kind,
    MissingParent,
    MissingRoot,
    OfLaterRelease,
    WrongRoot,
)

INSTANCE: Final = "INSTANCE"
MIGRATION: Final = "MIGRATION"
COMPUTE_NODE: Final = "COMPUTE_NODE"
"""The trait of hosts."""

Key = tuple[int, int]
"""The ids of a provider and of a resource class."""

GRACE_MINUTES: Final = 30
MOST_OF_ONE_CODE: Final = 1000

FOUND: Final = 3
"""The exit status of the commands if there are errors or warnings."""

ERROR = "error"
WARNING = "warning"
NOTICE = "notice"

_PLAN = "{audit} --code {code} --plan repair.plan"
_PLAN_LIVE = "{live_audit} --code {code} --plan repair.plan"
_HEAL = "nova-manage placement heal_allocations --instance {consumer}"
_AGGREGATES = "openstack --os-placement-api-version 1.1 resource provider aggregate set"
_CONSUMERS = "openstack resource consumer list --provider {uuid}"
_CONSUMERS_OF_TYPE = "openstack resource consumer list --type {type}"
_IDENTITY = "placement-manage identity {name}"


class Commands(NamedTuple):
    """The audit commands that write a plan, with the options in use: see ``command.commands``."""

    audit: str = "placement-manage audit"
    live_audit: str = "placement-manage audit --live nova"


_COMMANDS: Final = Commands()


class Code(NamedTuple):
    """The severity of a finding, and the command with which its repair begins.

    The command writes a plan, or shows what to decide on. ``uuid`` and ``name`` in it are of the
    hypervisor or the first provider of the finding, ``type`` is its consumer type, ``consumer``
    its consumer.
    """

    severity: str
    command: str


CODES: Mapping[str, Code] = {
    "missing_root": Code(ERROR, _PLAN),
    "missing_parent": Code(ERROR, _PLAN),
    "wrong_root": Code(ERROR, _PLAN),
    "nested_compute_node": Code(ERROR, _PLAN),
    "missing_provider": Code(ERROR, _PLAN),
    "missing_inventory": Code(ERROR, _CONSUMERS),
    "missing_consumer": Code(ERROR, _PLAN),
    "empty_consumer": Code(ERROR, _PLAN),
    "orphaned_consumer": Code(ERROR, _PLAN_LIVE),
    "doubled_consumer": Code(ERROR, _PLAN_LIVE),
    "server_without_allocations": Code(ERROR, _HEAL),
    "allocations_on_other_host": Code(ERROR, f"{_HEAL} --force"),
    "hypervisor_without_provider": Code(ERROR, _IDENTITY),
    "provider_without_hypervisor": Code(NOTICE, _IDENTITY),
    "aggregates_of_nova": Code(WARNING, "nova-manage placement sync_aggregates"),
    "usage_counter": Code(ERROR, _PLAN),
    "edited_by_sql": Code(ERROR, "placement-manage db sync"),
    "over_capacity": Code(ERROR, _CONSUMERS),
    "reserved_in_use": Code(NOTICE, _CONSUMERS),
    "similar_names": Code(NOTICE, _IDENTITY),
    "provider_without_inventory": Code(
        NOTICE, "openstack resource provider tree --in-tree {uuid}"
    ),
    "host_without_aggregate": Code(NOTICE, "nova-manage placement sync_aggregates"),
    "unused_class": Code(NOTICE, _PLAN),
    "unused_trait": Code(NOTICE, _PLAN),
    "unused_type": Code(NOTICE, _PLAN),
    "similar_types": Code(NOTICE, _CONSUMERS_OF_TYPE),
    "untyped_consumers": Code(NOTICE, _CONSUMERS_OF_TYPE),
    "stale_provider": Code(NOTICE, _IDENTITY),
}
"""All codes, in the order in which findings are listed."""


class InvalidList(BadRequest):
    """The list cannot be used: a part of it could be missing."""


@dataclass(frozen=True, slots=True)
class LiveConsumers:
    """A complete list of the consumers of some types.

    ``hosts`` has the name of the provider that a consumer runs on, by the UUID of the consumer;
    None if the provider is not known or about to change, and for migrations. The list is complete
    for the consumer types in ``types``: consumers of other types are not compared. ``unknown`` is
    the type of consumers without a type; with ``covers_untyped`` the list is also complete for
    those on the hosts of ``hypervisors``.
    ``listed_at`` is when the listing began (naive UTC): consumers written later are not compared.
    ``hypervisors`` has the names of all hypervisors by UUID, None if they are not known; ``down``
    the names of those that do not report.
    ``moving`` has the current host of servers in the middle of a move, ``evacuated`` the hosts
    that servers were evacuated from and that have not cleaned up. ``hidden`` are the servers
    whose host nova does not return. ``aggregates`` are those of nova by UUID, None if unknown.
    """

    hosts: Mapping[str, str | None]
    listed_at: datetime
    types: frozenset[str] = frozenset({INSTANCE})
    hypervisors: Mapping[str, str] | None = None
    down: Collection[str] = ()
    moving: Mapping[str, str] = field(default_factory=dict)
    evacuated: Mapping[str, Collection[str]] = field(default_factory=dict)
    hidden: Collection[str] = ()
    covers_untyped: bool = False
    aggregates: "Mapping[str, NovaAggregate] | None" = None


class NovaAggregate(NamedTuple):
    """An aggregate of nova: its name, and the names of its compute services."""

    name: str
    hosts: Collection[str]


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
    commands: Commands = _COMMANDS

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


class AuditedProviders(NamedTuple):
    """The providers to which a list of live consumers is compared.

    ``names`` are by UUID. ``roots`` has the UUID of the root of each provider that has a root, and
    ``hosts`` the UUIDs of the providers with the trait COMPUTE_NODE. ``aggregates`` has the UUIDs
    of the aggregates of each provider that is in one.
    """

    names: Mapping[str, str]
    roots: Mapping[str, str]
    hosts: Collection[str]
    aggregates: Mapping[str, Collection[str]] = {}


class AuditedInventory(NamedTuple):
    """The row of an inventory; ``used`` is the usage counter beside it."""

    provider_id: int
    class_id: int
    limits: Inventory
    used: int
    changed_at: datetime | None


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

    ``providers`` are by id. ``lone_allocations`` belong to consumers without a row,
    ``empty_consumers`` are UUIDs and generations of consumers without allocations. Both are older
    than the grace period, and the number of consumers is limited.
    ``young`` is the number of younger consumers without a row or without allocations, by the
    codes of the findings.

    ``compute_nodes`` are the ids of the providers with the trait COMPUTE_NODE, ``aggregated``
    has the UUIDs of the aggregates of each provider that is in one. ``consumer_types`` has the
    number of consumers of each type, and of consumers without a type (None).
    """

    providers: Mapping[int, AuditedProvider]
    inventories: Sequence[AuditedInventory]
    usage: Mapping[Key, UsageSum]
    class_names: Mapping[int, str]
    lone_allocations: Sequence[LoneAllocation]
    empty_consumers: Sequence[tuple[str, int]]
    young: Mapping[str, int]
    unused_classes: Sequence[str]
    unused_traits: Sequence[str]
    compute_nodes: Collection[int]
    aggregated: Mapping[int, Collection[str]]
    consumer_types: Mapping[str | None, int]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A number of rows that an audit did not compare for one code, and the reason."""

    code: str
    count: int
    reason: str

    def text(self) -> str:
        """Return the sentence that follows the number."""
        return f"not compared for {self.code}: {self.reason}"


def young(grace_minutes: int) -> str:
    """Return the reason to skip rows that were written in the grace period."""
    return f"younger than {grace_minutes} minutes (--grace-minutes)"


@dataclass(frozen=True, slots=True)
class Finding:
    """A defect, or a possible defect, of the database.

    ``kind`` has the rows concerned, by UUIDs and names; ``cause`` is empty if unknown. ``names``
    has the names of the providers in ``rows``, by UUID. ``ends`` if the state ends without an
    operator: it is a notice then, and is not repaired. ``commands`` write a plan.
    """

    kind: Kind
    cause: str
    repair: str
    names: Mapping[str, str] = field(default_factory=dict)
    ends: bool = False
    commands: Commands = _COMMANDS

    @property
    def code(self) -> str:
        """The stable code of the kind."""
        return self.kind.code

    @property
    def rows(self) -> Mapping[str, Any]:
        """The rows in the document of findings."""
        return kinds.rows_of(self.kind)

    @property
    def severity(self) -> str:
        """The severity; a code of a later release is a notice."""
        return CODES[self.code].severity if self.code in CODES and not self.ends else NOTICE

    @property
    def repair_command(self) -> str:
        """The command with which the repair begins; empty if there is none."""
        match self.kind:
            case MissingRoot() | MissingParent() | WrongRoot() as tree if not tree.expected_root:
                return ""  # a loop of parents
            case AggregatesOfNova(missing=[]) as host:
                kept = [f"--aggregate {uuid}" for uuid in host.aggregates]
                return " ".join((_AGGREGATES, *kept, str(host.provider.uuid)))
            case OfLaterRelease():
                return ""
            case _:
                return "" if self.ends else self._command()

    def _command(self) -> str:
        uuid, name = next(iter(self.names.items()), ("", ""))
        rows = self.rows
        name = rows.get("hypervisor", {}).get("name", name)
        return CODES[self.code].command.format(
            code=self.code,
            uuid=uuid,
            name=shlex.quote(str(name)),
            type=shlex.quote(str(rows.get("type"))),
            consumer=rows.get("consumer"),
            **self.commands._asdict(),
        )

    def as_json(self) -> dict[str, Any]:
        """Return the finding in the document of findings."""
        return {
            "code": self.code,
            "severity": self.severity,
            "rows": self.rows,
            "cause": self.cause,
            "repair": self.repair,
            "repair_command": self.repair_command,
            "names": dict(self.names),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the finding of a document, which a service of a later release may have sent."""
        kind = kinds.from_rows(document["code"], document["rows"])
        finding = cls(kind, *(document[name] for name in ("cause", "repair", "names")))
        is_notice = document.get("severity") == NOTICE
        return replace(finding, ends=is_notice and finding.severity != NOTICE)
