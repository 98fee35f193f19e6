"""Findings: what all kinds have in common, and their JSON document.

A kind is a class beside the function that finds it. It has the code, the severity, the sentences
that are the same for each finding, and as further fields the ``rows`` of the document, in their
order. ``repair.actions.action_for`` has the action that repairs a kind ``InPlan``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import ClassVar, Final, NamedTuple, Self, dataclass_transform

from placement.core.claims import Amounts
from placement.core.text import Names
from placement_insight.names import argument, names_in

ERROR: Final = "error"
"""The service returns wrong results, or capacity is wasted."""

WARNING: Final = "warning"

NOTICE: Final = "notice"
"""It may be intended, or ends without an operator; an operator should check it."""

SYNC_AGGREGATES: Final = "nova-manage placement sync_aggregates"


class Commands(NamedTuple):
    """Programs with the global options in use, and the audits that write a plan.

    See ``command.commands``. ``manage`` is the program on an API host; ``in_use`` is the audit
    with the options in use.
    """

    openstack: str = "openstack"
    manage: str = "placement-manage"
    audit: str = "placement-manage audit"
    live_audit: str = "placement-manage audit --live nova"
    in_use: str = "placement-manage audit"

    def of_openstack(self, words: str, value: str | None) -> str:
        """Return the command of ``openstack`` that ends with this value."""
        return f"{self.openstack} {words} {argument(str(value))}"

    def consumers_of(self, provider: "Named") -> str:
        """Return the command that lists the consumers of a provider."""
        return self.of_openstack("resource consumer list --provider", provider.uuid)

    def identity_of(self, named: "Named") -> str:
        """Return the command that lists the providers that a name could mean."""
        return self.of_openstack("placement identity", named.name)


class Named(NamedTuple):
    """A provider, hypervisor or aggregate; ``uuid`` is None for a host without a provider."""

    uuid: str | None
    name: str


class Claim(NamedTuple):
    """The allocations of a consumer, with its generation."""

    uuid: str
    generation: int
    allocations: Amounts


@dataclass_transform(frozen_default=True, kw_only_default=True)
@dataclass(frozen=True, kw_only=True)
class Finding:
    """A defect, or a possible defect, of the database.

    ``cause`` is empty if unknown. With ``ends``, the state ends without an operator: it is a
    notice, and is not repaired. ``repair_command``, with which the repair begins, writes a plan
    or shows what to decide on. ``listed`` sets this command, and ``names``, the names of the
    providers in the rows by UUID.
    """

    code: ClassVar[str]
    level: ClassVar[str] = ERROR

    cause: str = ""
    repair: str = ""
    repair_command: str = ""
    names: Names = field(default_factory=dict)
    ends: bool = False

    def __init_subclass__(cls, code: str = "", level: str = "") -> None:
        cls.code, cls.level = code, level or cls.level
        dataclass(frozen=True, kw_only=True)(cls)

    @property
    def severity(self) -> str:
        """The severity of this finding."""
        return NOTICE if self.ends else self.level

    @classmethod
    def row_names(cls) -> Sequence[str]:
        """Return the names of the rows."""
        return [each.name for each in fields(cls)[len(fields(Finding)) :]]

    @property
    def rows(self) -> Mapping[str, object]:
        """The values of the rows by name, without those of ``_OPTIONAL`` that are None."""
        values = {name: getattr(self, name) for name in self.row_names()}
        return {
            name: value
            for name, value in values.items()
            if value is not None or name not in _OPTIONAL
        }

    def listed(self, providers: Names, commands: Commands) -> Self:
        """Return the finding with the names of its providers, and with its command."""
        command = "" if self.ends else self.first_command(commands)
        return replace(self, names=names_in(self.rows, providers), repair_command=command)

    def first_command(self, commands: Commands) -> str:  # noqa: ARG002 - of the kinds
        """Return the command with which the repair begins, the listed one if there is no other."""
        return self.repair_command

    def as_json(self) -> dict[str, object]:
        """Return the finding in the document of findings."""
        return {
            "code": self.code,
            "severity": self.severity,
            "rows": {name: _as_json(value) for name, value in self.rows.items()},
            "cause": self.cause,
            "repair": self.repair,
            "repair_command": self.repair_command,
            "names": dict(self.names),
        }


def _as_json(value: object) -> object:
    if isinstance(value, Named | Claim):
        return value._asdict()
    return [_as_json(member) for member in value] if isinstance(value, list) else value


_OPTIONAL: Final = frozenset({"provider", "migration", "host_alone"})


class InPlan(Finding):
    """A finding that an action of a plan repairs."""

    def first_command(self, commands: Commands) -> str:
        """Return the command that writes the plan."""
        return f"{commands.audit} --code {self.code} --plan repair.plan"


class InLivePlan(InPlan):
    """A finding that needs the list of live consumers."""

    def first_command(self, commands: Commands) -> str:
        """Return the command that writes the plan."""
        return f"{commands.live_audit} --code {self.code} --plan repair.plan"


class OfProvider(Finding):
    """A finding about a provider."""

    provider: Named


class OfInventory(OfProvider):
    """A finding about a class of a provider; all classes of the provider are listed together.

    A class that does not exist is named by its id.
    """

    resource_class: str | int


class OfLaterRelease(Finding, level=NOTICE):
    """A finding in the document of a later release of the service."""

    code: str  # type: ignore[misc]  # of each finding, not of the class
    unknown: Mapping[str, object]

    @property
    def rows(self) -> Mapping[str, object]:
        """The values of the rows by name."""
        return self.unknown
