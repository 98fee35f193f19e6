"""Findings as text for a terminal: names beside UUIDs, and aligned counts.

The texts are written from the documents of the findings, because a client has only these.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from placement.core.text import printable
from placement.insight.audit.model import Skipped

Document = Mapping[str, Any]

Count = tuple[int, str]
"""A number, and the words after it."""

NOTHING_FOUND: Final = "Nothing found"


def skipped_counts(skipped: Iterable[Skipped]) -> list[Count]:
    """Return the numbers of rows that were not compared, with the reasons."""
    return [(row.count, row.text()) for row in skipped]


def findings_text(
    findings: Sequence[Document], truncated: Iterable[str], skipped: Iterable[Count] = ()
) -> str:
    """Return the numbers of findings, what was not compared, then the findings."""
    lines = summary(findings, truncated, skipped)
    for _, group in groupby(by_provider(findings), _repair):
        similar = list(group)
        lines += ["", *(line for finding in similar for line in _lines(finding))]
        lines.append(printable(f"  repair: {similar[0]['repair']}"))
        if similar[0]["repair_command"]:
            lines.append(printable(f"  command: {similar[0]['repair_command']}"))
    return "\n".join(lines)


def _repair(finding: Document) -> Sequence[str]:
    return finding["code"], finding["repair"], finding["repair_command"]


def summary(
    findings: Sequence[Document], truncated: Iterable[str] = (), skipped: Iterable[Count] = ()
) -> list[str]:
    """Return the numbers of findings by code and provider, and what was not compared."""
    not_compared = list(skipped)
    if not findings:
        return aligned([(0, "findings"), *not_compared]) if not_compared else [NOTHING_FOUND]
    shown = list(by_provider(findings))
    numbers = Counter((finding["severity"], finding["code"]) for finding in findings)
    merged = Counter(finding["code"] for finding in shown)
    counts = [
        (number, f"{severity} {code}{_on(merged[code], number)}")
        for (severity, code), number in numbers.items()
    ]
    further = [f"{code}: there are further findings, which are not listed" for code in truncated]
    return [*aligned([*counts, *not_compared]), *further]


def _on(providers: int, findings: int) -> str:
    if providers == findings:
        return ""
    return f" on {providers} provider{'s' * (providers > 1)}"


def by_provider(findings: Iterable[Document]) -> Iterator[Document]:
    """Yield the findings; those of one code on the classes of one provider are one finding.

    It has the fields of each class in ``resource_classes``.
    """
    for _, group in groupby(findings, _subject):
        first, *others = group
        yield _merged([first, *others]) if others else first


def _subject(finding: Document) -> Sequence[object]:
    rows = finding["rows"]
    is_of_class = rows.keys() >= {"provider", "resource_class"}
    return finding["code"], rows["provider"] if is_of_class else rows


def _merged(findings: Sequence[Document]) -> Document:
    causes = dict.fromkeys(finding["cause"] for finding in findings if finding["cause"])
    fields = [dict(finding["rows"]) for finding in findings]
    classes = {each.pop("resource_class"): each for each in fields}
    providers = [each.pop("provider") for each in fields]
    rows = {"provider": providers[0], "resource_classes": classes}
    return {**findings[0], "rows": rows, "cause": "; ".join(causes)}


_FOR_REPAIRS = frozenset({"project_id", "user_id", "generation", "written_at", "providers"})


def rows_text(finding: Document) -> str:
    """Return the rows of a finding in a line, without the fields that only a repair needs.

    >>> rows = {"provider": "u1", "resource_classes": {"VCPU": {"used": 4, "capacity": 0}}}
    >>> rows_text({"rows": rows, "names": {"u1": "cn1"}})
    'provider: cn1 (u1); VCPU: used 4, capacity 0'
    """
    rows, names = dict(finding["rows"]), finding.get("names", {})
    is_of_consumer = "consumer" in rows
    return "; ".join(
        printable(f"{name}: {value_text(value, names)}")
        for name, value in (rows | rows.pop("resource_classes", {})).items()
        if not (is_of_consumer and name in _FOR_REPAIRS)
    )


def _lines(finding: Document) -> Iterator[str]:
    cause = f" ({finding['cause']})" if finding["cause"] else ""
    rows = dict(finding["rows"])
    classes = rows.pop("resource_classes", {})
    fields = ", ".join(
        f"{name} {value_text(value, finding['names'])}" for name, value in rows.items()
    )
    yield printable(f"{finding['severity']} {finding['code']}{cause}: {fields}")
    yield from (printable(f"  {name}: {value_text(classes[name], {})}") for name in classes)


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
