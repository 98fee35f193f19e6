"""Findings as text for a terminal: names beside UUIDs, and aligned counts.

The texts are written from the documents of the findings, because a client has only these.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from placement.core.text import printable

Document = Mapping[str, Any]

Count = tuple[int, str]
"""A number, and the words after it."""

NOTHING_FOUND: Final = "Nothing found"


def findings_text(findings: Sequence[Document], truncated: Iterable[str]) -> str:
    """Return the findings, and their number by code and by the provider concerned."""
    if not findings:
        return NOTHING_FOUND
    shown = list(by_provider(findings))
    lines = [line for finding in shown for line in _lines(finding)]
    lines += [f"{code}: there are further findings, which are not listed" for code in truncated]
    numbers = Counter((finding["severity"], finding["code"]) for finding in findings)
    merged = Counter(finding["code"] for finding in shown)
    counts = [
        (number, f"{severity} {code}{_on(merged[code], number)}")
        for (severity, code), number in numbers.items()
    ]
    return "\n".join((*lines, "", *aligned(counts)))


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


def row_lines(finding: Document) -> Iterator[str]:
    """Yield the rows of a finding, a line each: a name and its value, or a class with its fields.

    >>> rows = {"provider": "u1", "resource_classes": {"VCPU": {"used": 4, "capacity": 0}}}
    >>> list(row_lines({"rows": rows, "names": {"u1": "cn1"}}))
    ['provider: cn1 (u1)', 'VCPU: used 4, capacity 0']
    """
    rows, names = dict(finding["rows"]), finding.get("names", {})
    for name, value in (rows | rows.pop("resource_classes", {})).items():
        yield printable(f"{name}: {value_text(value, names)}")


def _lines(finding: Document) -> Iterator[str]:
    cause = f" ({finding['cause']})" if finding["cause"] else ""
    rows = dict(finding["rows"])
    classes = rows.pop("resource_classes", {})
    fields = ", ".join(
        f"{name} {value_text(value, finding['names'])}" for name, value in rows.items()
    )
    yield printable(f"{finding['severity']} {finding['code']}{cause}: {fields}")
    yield from (printable(f"  {name}: {value_text(classes[name], {})}") for name in classes)
    yield printable(f"  repair: {finding['repair']}")
    if finding["repair_command"]:
        yield printable(f"  command: {finding['repair_command']}")


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
