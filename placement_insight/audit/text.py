"""Findings as text for a terminal: names beside UUIDs, and aligned counts."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from placement.core.text import Names, nouns, printable
from placement_insight.audit.finding import (
    ERROR,
    NOTICE,
    WARNING,
    Claim,
    Finding,
    Named,
    OfInventory,
)
from placement_insight.audit.model import Skipped

_SEVERITIES: Final = (ERROR, WARNING, NOTICE)
_NOTHING: Final = "Nothing found"
_MOST_TEXTS: Final = 2  # of the causes, and of the repairs, of a code

Group = Sequence[Finding]
"""A finding, or all findings of a code about the classes of one provider."""


def findings_text(
    findings: Iterable[Finding],
    truncated: Iterable[str],
    skipped: Collection[Skipped],
    fit: Callable[[str], str] = str,
) -> str:
    """Return the numbers of findings, what was not compared, then the findings.

    ``fit`` breaks the lines that are too long, but no command: it is to be copied.
    """
    groups = by_provider(findings)
    lines = [*map(fit, summary(groups, truncated, skipped))]
    for _, similar in groupby(
        groups, lambda group: (group[0].code, group[0].repair, group[0].repair_command)
    ):
        lines.append("")
        for group in similar:
            lines += map(fit, _lines(group))
        lines.append(fit(printable(f"  repair: {group[0].repair}")))
        if group[0].repair_command:
            lines.append(printable(f"  command: {group[0].repair_command}"))
    return "\n".join(lines)


def overview_text(
    findings: Iterable[Finding],
    truncated: Iterable[str],
    skipped: Collection[Skipped],
    in_use: str,
    fit: Callable[[str], str] = str,
) -> str:
    """Return the findings by code, errors first: their number, causes, repair and next command.

    ``in_use`` is the audit that lists the rows of a code. ``fit`` breaks the lines that are too
    long, but no command: it is to be copied. What was not compared is at the end.
    """
    groups = sorted(by_provider(findings), key=lambda group: _SEVERITIES.index(group[0].severity))
    lines = list[str]()
    for _, similar in groupby(groups, lambda group: (group[0].severity, group[0].code)):
        lines += _of_code(list(similar), in_use, fit)
    not_compared = aligned((row.count, row.text) for row in skipped)
    if not lines:
        lines = ["0 findings" if not_compared else _NOTHING]
    return "\n".join([*lines, *map(fit, (*not_compared, *further(truncated)))])


def _of_code(groups: Sequence[Group], in_use: str, fit: Callable[[str], str]) -> Iterator[str]:
    number, code, severity = sum(map(len, groups)), groups[0][0].code, groups[0][0].severity
    yield fit(f"{number} {nouns(number, severity)} {code}{_on(len(groups), number)}")
    said = {
        "rows": [rows_text(group) for group in groups] if len(groups) == 1 else [],
        "cause": [cause_of(group) for group in groups],
        "repair": [group[0].repair for group in groups],
    }
    for name, texts in said.items():
        yield from (fit(printable(f"  {name}: {text}")) for text in _most_frequent(texts))
    commands = {group[0].repair_command for group in groups}
    if len(commands) == 1 and "" not in commands:
        yield printable(f"  next: {commands.pop()}")
    if len(groups) > 1:
        yield printable(f"  list: {in_use} --code {code}")


def _most_frequent(texts: Iterable[str]) -> Iterator[str]:
    """Yield the most frequent texts with their numbers, and the number of the others.

    >>> list(_most_frequent(["a", "b", "b"])), list(_most_frequent(["a", "a"]))
    (['b (2)', 'a (1)'], ['a'])
    >>> list(_most_frequent("abcb"))
    ['b (2)', 'a (1)', '1 more']
    """
    ranked = Counter(filter(None, texts)).most_common()
    for text, number in ranked[:_MOST_TEXTS]:
        yield text if len(ranked) == 1 else f"{text} ({number})"
    if others := len(ranked[_MOST_TEXTS:]):
        yield f"{others} more"


def summary(
    groups: Iterable[Group], truncated: Iterable[str], skipped: Collection[Skipped]
) -> list[str]:
    """Return the numbers of findings by code and provider, and what was not compared."""
    numbers, of_groups = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for group in groups:
        kind = group[0].severity, group[0].code
        numbers[kind] += len(group)
        of_groups[kind] += 1
    if not numbers and not skipped:
        return [_NOTHING]
    counts = [
        (number, f"{nouns(number, severity)} {code}{_on(of_groups[severity, code], number)}")
        for (severity, code), number in numbers.items()
    ]
    first = aligned([*(counts or [(0, "findings")]), *((row.count, row.text) for row in skipped)])
    return [*first, *further(truncated)]


def further(truncated: Iterable[str]) -> list[str]:
    """Return a line for each code with findings that are not listed."""
    return [f"{code}: there are further findings, which are not listed" for code in truncated]


def _on(providers: int, findings: int) -> str:
    return "" if providers == findings else f" on {providers} provider{'s' * (providers > 1)}"


def by_provider(findings: Iterable[Finding]) -> Sequence[Group]:
    """Return the findings; those of one code on the classes of one provider are a group."""
    return [list(group) for _, group in groupby(findings, _subject)]


def _subject(finding: Finding) -> object:
    return (finding.code, finding.provider) if isinstance(finding, OfInventory) else finding


def cause_of(group: Group) -> str:
    """Return the causes of the findings, each once."""
    return "; ".join(dict.fromkeys(finding.cause for finding in group if finding.cause))


_FOR_REPAIRS = frozenset({"project_id", "user_id", "generation", "written_at", "providers"})


def rows_text(group: Group) -> str:
    """Return the rows in a line, without the fields of consumers that only a repair needs."""
    rows, classes = _rows(group)
    left_out = _FOR_REPAIRS if "consumer" in rows else ()
    return "; ".join(
        printable(f"{name}: {value_text(value, group[0].names)}")
        for name, value in {**rows, **classes}.items()
        if name not in left_out
    )


def _lines(group: Group) -> Iterator[str]:
    rows, classes = _rows(group)
    cause = f" ({cause_of(group)})" if cause_of(group) else ""
    fields = ", ".join(
        f"{name} {value_text(value, group[0].names)}" for name, value in rows.items()
    )
    yield printable(f"{group[0].severity} {group[0].code}{cause}: {fields}")
    yield from (printable(f"  {name}: {value_text(classes[name], {})}") for name in classes)


def _rows(group: Group) -> tuple[Mapping[str, object], Mapping[str, object]]:
    """Return the rows of a finding; or those that a group has in common, and those by class."""
    rows = [dict(finding.rows) for finding in group]
    if len(rows) == 1:
        return rows[0], {}
    providers = [each.pop("provider") for each in rows]
    return {"provider": providers[0]}, {str(each.pop("resource_class")): each for each in rows}


def value_text(value: object, names: Names) -> str:
    """Return a value of a finding, or of an action, with names beside the UUIDs of providers.

    >>> value_text({"u1": {"VCPU": 4, "MEMORY_MB": 512}}, {"u1": "cn1"})
    'cn1 (u1): VCPU 4, MEMORY_MB 512'
    """
    match value:
        case Named(uuid, name):
            return f"{name} ({uuid})"
        case Claim(uuid, _, allocations):
            return f"{uuid} with {value_text(allocations, names)}"
        case str():
            return f"{names[value]} ({value})" if value in names else value
        case Mapping():
            return _members(value, names)
        case Sequence():
            return ", ".join(value_text(member, names) for member in value) or "none"
        case _:
            return "none" if value is None else str(value)


def _members(members: Mapping[str, object], names: Names) -> str:
    is_nested = any(isinstance(member, Mapping) for member in members.values())
    colon, comma = (":", "; ") if is_nested else ("", ", ")
    texts = (
        f"{value_text(name, names)}{colon} {value_text(member, names)}"
        for name, member in members.items()
    )
    return comma.join(texts) or "none"


def aligned(counts: Iterable[tuple[int, str]]) -> list[str]:
    """Return a printable line for each number and text, with the numbers aligned to the right.

    >>> aligned([(12, "actions"), (3, "skipped")])
    ['12 actions', ' 3 skipped']
    """
    rows = list(counts)
    width = max((len(str(number)) for number, _ in rows), default=0)
    return [printable(f"{number:>{width}} {text}") for number, text in rows]
