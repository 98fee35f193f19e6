"""Findings as text for a terminal: names beside UUIDs, and aligned counts."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from placement.core.text import printable
from placement.insight.audit.model import SEVERITIES, Finding

Count = tuple[int, str]
"""A number, and the words after it."""


def findings_text(findings: Sequence[Finding], truncated: Iterable[str]) -> str:
    """Return the findings, and their number by code."""
    if not findings:
        return "Nothing found"
    lines = [line for finding in findings for line in _lines(finding)]
    lines += [f"{code}: there are further findings, which are not listed" for code in truncated]
    numbers = Counter(finding.code for finding in findings)
    counts = [(number, f"{SEVERITIES[code]} {code}") for code, number in numbers.items()]
    return "\n".join((*lines, "", *aligned(counts)))


def _lines(finding: Finding) -> Iterator[str]:
    cause = f" ({finding.cause})" if finding.cause else ""
    fields = ", ".join(
        f"{name} {value_text(value, finding.names)}" for name, value in finding.rows.items()
    )
    yield printable(f"{finding.severity} {finding.code}{cause}: {fields}")
    yield printable(f"  repair: {finding.repair}")
    if finding.repair_command:
        yield printable(f"  command: {finding.repair_command}")


def value_text(value: object, names: Mapping[str, str]) -> str:
    """Return a value of a finding, or of an action, with names beside the UUIDs of providers.

    >>> value_text({"uuid": "u1", "name": "cn1"}, {})
    'cn1 (u1)'
    >>> value_text({"u1": {"VCPU": 4, "MEMORY_MB": 512}}, {"u1": "cn1"})
    'cn1 (u1): VCPU 4, MEMORY_MB 512'
    """
    if isinstance(value, Mapping) and value.keys() == {"uuid", "name"}:
        return f"{value['name']} ({value['uuid']})"
    if isinstance(value, Mapping) and value.keys() == {"provider"}:
        return value_text(value["provider"], names)
    if isinstance(value, Mapping):
        return _members(value, names)
    if isinstance(value, str):
        return f"{names[value]} ({value})" if value in names else value
    if isinstance(value, Sequence):
        return ", ".join(value_text(member, names) for member in value) or "none"
    return "none" if value is None else str(value)


def _members(members: Mapping[str, object], names: Mapping[str, str]) -> str:
    is_nested = any(isinstance(member, Mapping) for member in members.values())
    colon, comma = (":", "; ") if is_nested else ("", ", ")
    texts = (
        f"{value_text(name, names)}{colon} {value_text(member, names)}"
        for name, member in members.items()
    )
    return comma.join(texts) or "none"


def aligned(counts: Iterable[Count]) -> list[str]:
    """Return a line for each count, with the numbers aligned to the right.

    >>> aligned([(12, "actions"), (3, "skipped")])
    ['12 actions', ' 3 skipped']
    """
    rows = list(counts)
    width = max((len(str(number)) for number, _ in rows), default=0)
    return [f"{number:>{width}} {text}" for number, text in rows]
