"""Values of an audit: live consumers, and the audited state of the database.

The audit reads one state of the database, with sums instead of all allocations. Live consumers are
consumers that exist outside of Placement, in a list from nova or from an operator.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import ClassVar, Final, NamedTuple, Self

from placement.core.capacity import is_within_capacity
from placement.core.claims import Amounts
from placement.core.model import Inventory
from placement.exception import BadRequest
from placement_insight.audit.finding import Commands, Named
from placement_insight.history.model import Record
from placement_insight.hosts import INSTANCE

ENDED_MIGRATIONS: Final = frozenset({"cancelled", "completed", "confirmed", "done", "reverted"})
"""The states of a migration of nova that ended without a claim."""
GRACE_MINUTES: Final = 30
MOST_OF_ONE_CODE: Final = 1000

FOUND: Final = 3
"""The exit status of the commands if there are errors or warnings."""


@dataclass(frozen=True, slots=True)
class RunsOn:
    """A server on the provider with this name.

    ``has_devices`` is whether its flavor has devices, None if this is not known. A server that
    ``is_resized`` has a second claim until its resize is confirmed or reverted.
    """

    host: str
    has_devices: bool | None = None
    is_resized: bool = False


@dataclass(frozen=True, slots=True)
class Moves:
    """A server on a host whose allocations are about to change."""

    host: str


@dataclass(frozen=True, slots=True)
class Hidden:
    """A server whose host the list lacks."""

    reason: str


@dataclass(frozen=True, slots=True)
class NoHost:
    """A server that runs on no host, such as a deleted one, or a migration in progress."""


@dataclass(frozen=True, slots=True)
class Offloaded:
    """A server that nova shelved and took from its host, which released its claim."""


@dataclass(frozen=True, slots=True)
class FailedMigration:
    """A migration that failed, or stopped with its nova-compute; it may have a claim."""


Place = RunsOn | Moves | Hidden | NoHost | Offloaded | FailedMigration

CurrentPlaces = Callable[[Iterable[str]], Mapping[str, Place]]
"""Returns the places of the servers that still exist."""

ServiceOf = Callable[[str], str | None]
"""Returns the compute service of a hypervisor, None if nova does not return it."""


class InvalidList(BadRequest):
    """The list cannot be used: a part of it could be missing."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A list that nova does not return, with the reason."""

    reason: str


class Hypervisor(NamedTuple):
    """A hypervisor of nova: its name, and the state and status of its compute service."""

    name: str
    is_down: bool = False
    is_disabled: bool = False


class NovaAggregate(NamedTuple):
    """An aggregate of nova: its name, and the names of its compute services."""

    name: str
    hosts: Collection[str]


@dataclass(frozen=True, slots=True)
class ListOfFile:
    """A complete list of the consumers of some types, in a file. It has nothing else of nova.

    ``places`` are by the UUID of the consumer. The list is complete for the consumer types in
    ``types``: consumers of other types are not compared. ``unknown`` is the type of consumers
    without a type. ``listed_at`` is when the listing began (naive UTC): consumers written later
    are not compared. ``unsure`` is what a cause says about moves that the list does not have.
    """

    hypervisors: ClassVar[Mapping[str, Hypervisor]] = {}
    evacuated: ClassVar[Mapping[str, Collection[str]]] = {}
    answering: ClassVar[Collection[str]] = ()
    covers_untyped: ClassVar = False
    cell_is_down: ClassVar = False
    unsure: ClassVar = "; a file does not say whether nova is moving it, or a host is down"

    places: Mapping[str, Place]
    listed_at: datetime
    types: frozenset[str] = frozenset({INSTANCE})


@dataclass(frozen=True, slots=True)
class ListOfNova:
    """A complete list from nova, see ``ListOfFile``, and what else nova returned.

    With ``covers_untyped`` the list is also complete for consumers without a type on its hosts.
    ``hypervisors`` and ``aggregates`` are by UUID. ``servers_of`` has the servers of all
    migrations, including those that ended, ``evacuated`` the hosts that servers were evacuated
    from and that have not cleaned up. While ``cell_is_down``, nova lists neither its migrations
    nor its hypervisors: ``answering`` has the names of the hosts in the other cells that listed
    rows name. ``current_places`` and ``service_of`` ask nova.
    """

    places: Mapping[str, Place]
    listed_at: datetime
    types: frozenset[str]
    hypervisors: Mapping[str, Hypervisor] | Unread
    servers_of: Mapping[str, str]
    current_places: CurrentPlaces
    service_of: ServiceOf
    evacuated: Mapping[str, Collection[str]] = field(default_factory=dict)
    covers_untyped: bool = False
    aggregates: Mapping[str, NovaAggregate] | Unread = field(default_factory=dict)
    cell_is_down: bool = False
    answering: Collection[str] = ()
    unsure: ClassVar = ""


LiveConsumers = ListOfFile | ListOfNova


def listed_hypervisors(live: LiveConsumers) -> Mapping[str, Hypervisor]:
    """Return the hypervisors by UUID, none if they are not known."""
    return {} if isinstance(live.hypervisors, Unread) else live.hypervisors


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
    commands: Commands = Commands()  # noqa: RUF009 - it cannot change

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

    @property
    def named(self) -> Named:
        """The UUID and the name."""
        return Named(self.uuid, self.name)


class AuditedProviders(NamedTuple):
    """The providers to which a list of live consumers is compared.

    ``names`` are by UUID. ``hosts`` has the UUIDs of the providers with the trait COMPUTE_NODE,
    ``disabled`` those with the trait of disabled hosts. ``roots`` has the UUID of the host that
    each provider is a part of, or of the root of its tree. ``aggregates`` has the UUIDs of the
    aggregates of each provider that is in one. ``consumers_without_row`` have allocations, which
    no list of consumers has. Of providers ``without_root``, their names alone are known;
    those ``without_parent`` have the names of children.
    """

    names: Mapping[str, str]
    roots: Mapping[str, str]
    hosts: Collection[str]
    aggregates: Mapping[str, Collection[str]] = {}
    disabled: Collection[str] = ()
    consumers_without_row: Collection[str] = ()
    without_root: Collection[str] = ()
    without_parent: Collection[str] = ()

    def in_trees(self, parents: Mapping[str, str | None]) -> Self:
        """Return the providers with the roots that follow from their parents.

        They are right even if stored roots are not, and for a host below another one.
        """
        return self._replace(roots={uuid: self._top(uuid, parents) for uuid in self.names})

    @property
    def lost(self) -> set[str]:
        """The UUIDs of roots, as in ``roots``, that may be a part of any host."""
        return {*self.without_root, *self.without_parent}.difference(self.hosts)

    def _top(self, uuid: str, parents: Mapping[str, str | None]) -> str:
        visited = {uuid}
        while uuid not in self.hosts:
            parent = parents.get(uuid)
            if parent is None or parent not in self.names or parent in visited:
                break
            visited.add(uuid := parent)
        return uuid


ClassName = str | int
"""The name of a resource class; its id if it does not exist."""


class NotAdmitted(NamedTuple):
    """Allocations that the units of an inventory do not admit: their number and amounts."""

    number: int
    smallest: int
    largest: int


class AuditedInventory(NamedTuple):
    """An inventory, with the sum of its allocations and the usage counter beside it.

    ``newest_at`` is when the newest allocation was created, ``changes`` are the recorded changes
    of the inventories of the provider. Both are read only if the sum exceeds the capacity.
    """

    provider: AuditedProvider
    resource_class: ClassName
    limits: Inventory
    counter: int
    changed_at: datetime | None
    used: int
    newest_at: datetime | None = None
    not_admitted: NotAdmitted | None = None
    changes: Sequence[Record] = ()

    @property
    def is_exceeded(self) -> bool:
        """Whether the usage exceeds the capacity."""
        return not is_within_capacity(self.limits, self.used, 0)


class StrayUsage(NamedTuple):
    """A sum of allocations without an inventory; ``provider`` is None if it does not exist."""

    provider_id: int
    provider: AuditedProvider | None
    resource_class: ClassName
    used: int


@dataclass(frozen=True, slots=True)
class AuditedState:
    """One state of the database.

    ``providers`` are by id.
    ``lone_allocations`` are those of consumers without a row, ``empty_consumers`` UUIDs and
    generations of consumers without allocations. Both are older than the grace period, and the
    number of consumers is limited.
    ``young`` is the number of younger consumers without a row or without allocations, by the
    codes of the findings.

    ``hosts``, ``aggregates`` and ``disabled`` are as in ``AuditedProviders``. ``consumer_types``
    has the number of consumers of each type, and of consumers without a type (None).
    """

    providers: Mapping[int, AuditedProvider]
    inventories: Sequence[AuditedInventory]
    stray: Sequence[StrayUsage]
    lone_allocations: Mapping[str, Amounts]
    empty_consumers: Sequence[tuple[str, int]]
    young: Mapping[str, int]
    unused_classes: Sequence[str]
    unused_traits: Sequence[str]
    hosts: Collection[str]
    aggregates: Mapping[str, Collection[str]]
    consumer_types: Mapping[str | None, int]
    disabled: Collection[str] = ()

    def provider(self, id_: int | None) -> AuditedProvider | None:
        """Return the provider with an id, None if it does not exist."""
        return self.providers.get(id_ or 0)


@dataclass(frozen=True)
class _Counted:
    """A number of rows for one code, and the reason why they are no findings."""

    code: str
    count: int
    reason: str
    found: ClassVar[bool]

    def as_json(self) -> dict[str, object]:
        """Return the object in the document of findings."""
        return {**asdict(self), "found": self.found}


class NotCompared(_Counted):
    """Rows of which an audit does not know whether they are findings."""

    found = False

    @property
    def text(self) -> str:
        """The words after the number."""
        return f"not compared for {self.code}: {self.reason}"


class LeftOut(_Counted):
    """Rows that differ as a finding does, but may not be repaired now."""

    found = True

    @property
    def text(self) -> str:
        """The words after the number."""
        return f"{self.code} left out: {self.reason}"


Skipped = NotCompared | LeftOut


def young(grace_minutes: int) -> str:
    """Return the reason to skip rows that were written in the grace period."""
    return f"younger than {grace_minutes} minutes (--grace-minutes)"
