"""All kinds of findings, and the findings in the state of a database."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Final, Self

from placement.core.text import timestamp
from placement_insight.audit import hosts, names, servers, trees, usage
from placement_insight.audit.finding import NOTICE, Claim, Finding, Named, OfLaterRelease
from placement_insight.audit.model import AuditedState, LeftOut, NotCompared, Skipped
from placement_insight.documents import Response, read_time

KINDS: Final[Mapping[str, type[Finding]]] = {
    kind.code: kind
    for kind in (
        *(trees.MissingRoot, trees.MissingParent, trees.WrongRoot, trees.NestedComputeNode),
        *(usage.MissingProvider, usage.MissingInventory, usage.MissingConsumer),
        *(usage.EmptyConsumer, servers.OrphanedConsumer, servers.DoubledConsumer),
        *(servers.ServerWithoutAllocations, servers.AllocationsOnOtherHost),
        *(hosts.HypervisorWithoutProvider, hosts.ProviderWithoutHypervisor),
        *(hosts.StatusOfNova, hosts.AggregatesOfNova, usage.UsageCounter, trees.EditedProvider),
        *(usage.OverCapacity, usage.ReservedInUse, usage.UnitsNotAdmitted, names.LostParent),
        *(names.SimilarNames, usage.ProviderWithoutInventory, names.HostWithoutAggregate),
        *(names.UnusedClass, names.UnusedTrait, names.UnusedType),
        *(names.UntypedConsumers, usage.StaleProvider),
    )
}
"""The kinds by code, in the order in which findings are listed."""
_POSITIONS: Final = {code: position for position, code in enumerate(KINDS)}
_OF_STATE: Final[Sequence[Callable[[AuditedState], Iterator[Finding]]]] = (
    *(trees.trees, trees.nested_compute_nodes, usage.stray_usage, usage.incomplete_consumers),
    *(usage.usage_counters, usage.over_capacity, usage.units_not_admitted),
    *(names.lost_parents, names.similar_names, usage.providers_without_inventory),
    *(names.hosts_without_aggregate, names.unused_names, names.untyped_consumers),
)


def in_order(found: Iterable[Finding]) -> list[Finding]:
    """Return findings in the order of their codes, those of a later release at the end."""
    return sorted(found, key=lambda finding: _POSITIONS.get(finding.code, len(KINDS)))


def findings(state: AuditedState, *, stale_before: datetime | None = None) -> Iterator[Finding]:
    """Yield the findings.

    With ``stale_before`` (naive UTC), they include providers with allocations whose generation did
    not change since. Cost: linear in the audited rows.
    """
    for of_state in _OF_STATE:
        yield from of_state(state)
    if stale_before is not None:
        yield from usage.stale_providers(state, stale_before)


@dataclass(frozen=True, slots=True)
class Audit:
    """The findings in the order of their codes; codes in ``truncated`` have further findings.

    ``at`` is the time of the audit (naive UTC). ``skipped`` are the numbers of rows that are no
    findings yet, or that the list of live consumers does not cover.
    """

    at: datetime | None
    findings: Sequence[Finding]
    truncated: Sequence[str]
    skipped: Sequence[Skipped] = ()

    @property
    def has_errors(self) -> bool:
        """Whether a finding is an error or a warning."""
        return any(finding.severity != NOTICE for finding in self.findings)

    def as_json(self) -> dict[str, object]:
        """Return the fields of the document of findings."""
        return {
            "at": timestamp(self.at),
            "findings": [finding.as_json() for finding in self.findings],
            "truncated": list(self.truncated),
            "skipped": [skipped.as_json() for skipped in self.skipped],
        }

    @classmethod
    def from_json(cls, document: Response) -> Self:
        """Return the audit in a document, which a service of a later release may have sent."""
        return cls(
            read_time(document["at"]),
            [_finding(finding) for finding in document["findings"]],
            document["truncated"],
            [
                (LeftOut if row.get("found") else NotCompared)(
                    row["code"], row["count"], row["reason"]
                )
                for row in document["skipped"]
            ],
        )


def _finding(document: Response) -> Finding:
    said = {each.name: document[each.name] for each in fields(Finding) if each.name in document}
    rows = {name: _value(value) for name, value in document["rows"].items()}
    kind = KINDS.get(document["code"])
    if kind is None:
        return OfLaterRelease(code=document["code"], unknown=rows, **said)
    known: Any = {name: rows.get(name) for name in kind.row_names()}
    ends = document.get("severity") == NOTICE != kind.level
    return kind(**known, **said, ends=ends)


def _value(value: Any) -> Any:
    for kind in (Named, Claim):
        if isinstance(value, Mapping) and value.keys() == {*kind._fields}:
            return kind(**value)
    return [_value(member) for member in value] if isinstance(value, list) else value
