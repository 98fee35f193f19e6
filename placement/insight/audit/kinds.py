"""The kinds of findings: a class with its fields for each.

The fields, in their order, are the ``rows`` of the finding in the document of findings.
``insight.repair.actions.action_for`` has the repair of each kind.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Final, NamedTuple, get_args

Amounts = Mapping[str, Mapping[str, int]]
"""Amounts by provider UUID and resource class."""


class Named(NamedTuple):
    """A provider, hypervisor or aggregate; ``uuid`` is None for a host without a provider."""

    uuid: str | None
    name: str


@dataclass(frozen=True, slots=True)
class _OfProvider:
    provider: Named


@dataclass(frozen=True, slots=True)
class _OfInventory(_OfProvider):
    resource_class: str


@dataclass(frozen=True, slots=True)
class _Tree(_OfProvider):
    """``expected_root`` is the end of the chain of parents, None in a loop."""

    parent: str | None
    root: str | None
    expected_root: str | None


class MissingRoot(_Tree):
    """A provider without a root."""

    code: ClassVar = "missing_root"


class MissingParent(_Tree):
    """A provider whose parent does not exist."""

    code: ClassVar = "missing_parent"


class WrongRoot(_Tree):
    """A provider with another root than its parent."""

    code: ClassVar = "wrong_root"


@dataclass(frozen=True, slots=True)
class NestedComputeNode(_OfProvider):
    """A host below another one; ``parent`` and ``root`` are None in documents before 1.1."""

    code: ClassVar = "nested_compute_node"
    host: Named
    parent: str | None = None
    root: str | None = None


@dataclass(frozen=True, slots=True)
class MissingProvider:
    """Allocations on a provider that does not exist."""

    code: ClassVar = "missing_provider"
    provider_id: int
    resource_class: str
    used: int


@dataclass(frozen=True, slots=True)
class MissingInventory(_OfInventory):
    """Allocations of a class without an inventory."""

    code: ClassVar = "missing_inventory"
    used: int


@dataclass(frozen=True, slots=True)
class MissingConsumer:
    """Allocations of a consumer without a row."""

    code: ClassVar = "missing_consumer"
    consumer: str
    allocations: Amounts


@dataclass(frozen=True, slots=True)
class EmptyConsumer:
    """A consumer without allocations."""

    code: ClassVar = "empty_consumer"
    consumer: str
    generation: int


@dataclass(frozen=True, slots=True)
class _OfConsumer:
    consumer: str
    type: str | None
    project_id: str | None
    user_id: str | None
    generation: int
    written_at: str | None
    allocations: Amounts


class OrphanedConsumer(_OfConsumer):
    """A consumer that the list of live consumers lacks."""

    code: ClassVar = "orphaned_consumer"


@dataclass(frozen=True, slots=True)
class DoubledConsumer(_OfConsumer):
    """A server with allocations on ``others``, whose ``providers`` have them, beside its host."""

    code: ClassVar = "doubled_consumer"
    host: Named
    others: Sequence[Named]
    providers: Sequence[str]


@dataclass(frozen=True, slots=True)
class ServerWithoutAllocations:
    """A server with a host and without allocations."""

    code: ClassVar = "server_without_allocations"
    consumer: str
    host: Named


@dataclass(frozen=True, slots=True)
class AllocationsOnOtherHost(_OfConsumer):
    """A server with allocations, but none on its host."""

    code: ClassVar = "allocations_on_other_host"
    host: Named


@dataclass(frozen=True, slots=True)
class HypervisorWithoutProvider:
    """A hypervisor whose UUID no provider has; ``provider`` has its name."""

    code: ClassVar = "hypervisor_without_provider"
    hypervisor: Named
    provider: Named | None = None


class ProviderWithoutHypervisor(_OfProvider):
    """A host that nova does not have."""

    code: ClassVar = "provider_without_hypervisor"


@dataclass(frozen=True, slots=True)
class AggregatesOfNova(_OfProvider):
    """A host in other aggregates in nova; ``aggregates`` are to stay."""

    code: ClassVar = "aggregates_of_nova"
    missing: Sequence[Named]
    extra: Sequence[Named]
    aggregates: Sequence[str]


@dataclass(frozen=True, slots=True)
class UsageCounter(_OfInventory):
    """A usage counter that is not the sum of the allocations."""

    code: ClassVar = "usage_counter"
    counter: int
    used: int


@dataclass(frozen=True, slots=True)
class EditedProvider(_OfProvider):
    """A provider whose row was changed by SQL: the UUIDs in the database and in the snapshot."""

    code: ClassVar = "edited_by_sql"
    provider_id: int
    stored: str | None
    served: str | None


@dataclass(frozen=True, slots=True)
class _Excess(_OfInventory):
    used: int
    capacity: int
    total: int
    reserved: int
    allocation_ratio: float


class OverCapacity(_Excess):
    """More usage than the capacity."""

    code: ClassVar = "over_capacity"


class ReservedInUse(_Excess):
    """Usage that exceeds the capacity only through the reserved amount."""

    code: ClassVar = "reserved_in_use"


@dataclass(frozen=True, slots=True)
class SimilarNames:
    """Roots that may be one host."""

    code: ClassVar = "similar_names"
    providers: Sequence[Named]


class ProviderWithoutInventory(_OfProvider):
    """A provider without inventory, usage and children."""

    code: ClassVar = "provider_without_inventory"


class HostWithoutAggregate(_OfProvider):
    """A host in no aggregate."""

    code: ClassVar = "host_without_aggregate"


@dataclass(frozen=True, slots=True)
class UnusedClass:
    """A custom resource class that nothing uses."""

    code: ClassVar = "unused_class"
    resource_class: str


@dataclass(frozen=True, slots=True)
class UnusedTrait:
    """A custom trait that no provider has."""

    code: ClassVar = "unused_trait"
    trait: str


@dataclass(frozen=True, slots=True)
class UnusedType:
    """A consumer type that no consumer has."""

    code: ClassVar = "unused_type"
    type: str


@dataclass(frozen=True, slots=True)
class SimilarTypes:
    """A consumer type that may be a misspelled one."""

    code: ClassVar = "similar_types"
    type: str
    consumers: int
    similar_to: str


@dataclass(frozen=True, slots=True)
class UntypedConsumers:
    """Consumers without a type, beside others with one."""

    code: ClassVar = "untyped_consumers"
    type: str
    consumers: int


@dataclass(frozen=True, slots=True)
class StaleProvider(_OfProvider):
    """A provider that did not change for a long time."""

    code: ClassVar = "stale_provider"
    updated_at: str | None


@dataclass(frozen=True, slots=True)
class OfLaterRelease:
    """A finding in the document of a later release of the service."""

    code: str
    rows: Mapping[str, Any]


Kind = (
    MissingRoot
    | MissingParent
    | WrongRoot
    | NestedComputeNode
    | MissingProvider
    | MissingInventory
    | MissingConsumer
    | EmptyConsumer
    | OrphanedConsumer
    | DoubledConsumer
    | ServerWithoutAllocations
    | AllocationsOnOtherHost
    | HypervisorWithoutProvider
    | ProviderWithoutHypervisor
    | AggregatesOfNova
    | UsageCounter
    | EditedProvider
    | OverCapacity
    | ReservedInUse
    | SimilarNames
    | ProviderWithoutInventory
    | HostWithoutAggregate
    | UnusedClass
    | UnusedTrait
    | UnusedType
    | SimilarTypes
    | UntypedConsumers
    | StaleProvider
    | OfLaterRelease
)

_BY_CODE: Final[Mapping[str, Any]] = {
    kind.code: kind for kind in get_args(Kind) if kind is not OfLaterRelease
}
_OPTIONAL: Final = frozenset({(HypervisorWithoutProvider, "provider")})


def rows_of(kind: Kind) -> Mapping[str, Any]:
    """Return the rows of a finding in its document."""
    if isinstance(kind, OfLaterRelease):
        return kind.rows
    values = {field.name: getattr(kind, field.name) for field in fields(kind)}
    return {
        name: _as_json(value)
        for name, value in values.items()
        if value is not None or (type(kind), name) not in _OPTIONAL
    }


def _as_json(value: object) -> object:
    if isinstance(value, Named):
        return value._asdict()
    return [_as_json(member) for member in value] if isinstance(value, list | tuple) else value


def from_rows(code: str, rows: Mapping[str, Any]) -> Kind:
    """Return the finding in a document, which a service of a later release may have sent."""
    kind = _BY_CODE.get(code)
    if kind is None:
        return OfLaterRelease(code, rows)
    names = [field.name for field in fields(kind) if field.name in rows]
    found: Kind = kind(**{name: _from_json(rows[name]) for name in names})
    return found


def _from_json(value: Any) -> Any:
    if isinstance(value, Mapping) and value.keys() == {"uuid", "name"}:
        return Named(**value)
    return [_from_json(member) for member in value] if isinstance(value, list) else value
