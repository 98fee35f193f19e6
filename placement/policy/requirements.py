"""What a policy rule requires of the caller, derived from its check: for messages and reports.

A check is a tree of ``and``, ``or``, ``not``, roles, comparisons and references to other rules.
Without ``not`` and external checks it has a disjunctive normal form: alternatives, each a set of
roles and comparisons that are all required.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Final

from oslo_policy import policy

Checks = Mapping[str, Any]
"""The checks of oslo.policy by the names of their rules."""

Alternatives = tuple[frozenset[str], ...]
"""Each set is sufficient; its members are texts such as ``role:admin``."""

_NEVER: Final[Alternatives] = ()
_ALWAYS: Final[Alternatives] = (frozenset(),)
_MOST_ALTERNATIVES = 32
_BUILT_IN = "oslo_policy._checks"  # roles and comparisons; external checks are elsewhere
_ROLE = "role:"
_SAME_PROJECT = "project_id:%(project_id)s"
_CREDENTIALS_OF_URL = re.compile(r"//[^/\s@]*@")


class Inexpressible(Exception):  # noqa: N818
    """The check has no form of alternatives that is worth reading."""


def described(checks: Checks, rule: str) -> str:
    """Return what the rule requires, as the object of "needs".

    ``role admin or role service``; for a check that cannot be expressed in roles, the check itself
    as policy files write it, without the credentials of a URL.
    """
    try:
        alternatives = _of_rule(checks, rule, ())
    except Inexpressible:
        return f"what its check demands: {_CREDENTIALS_OF_URL.sub('//', str(checks[rule]))}"
    if alternatives == _NEVER:
        return "what no role has: its check refuses everyone"
    return _joined([_alternative(each) for each in alternatives])


def loop(checks: Checks) -> Sequence[str]:
    """Return rules each of which refers to the next, and the last to the first; or none."""
    settled: set[str] = set()

    def search(rule: str, path: tuple[str, ...]) -> Sequence[str]:
        if rule in path:
            return path[path.index(rule) :]
        if rule not in settled and rule in checks:
            references = (
                each for each in nodes(checks[rule]) if isinstance(each, policy.RuleCheck)
            )
            for reference in references:
                if rules := search(reference.match, (*path, rule)):
                    return rules
        settled.add(rule)
        return ()

    return next(filter(None, (search(rule, ()) for rule in checks)), ())


def _references(check: Any) -> Iterator[str]:
    """Yield the rules that the check refers to."""
    return (each.match for each in nodes(check) if isinstance(each, policy.RuleCheck))


def roles(checks: Checks) -> frozenset[str]:
    """Return the roles, in lower case, that any of the checks names."""
    return frozenset(
        check.match.lower()
        for tree in checks.values()
        for check in nodes(tree)
        if isinstance(check, policy.Check) and check.kind == "role"
    )


def _joined(texts: Sequence[str]) -> str:
    """Return the texts as an enumeration.

    >>> _joined(["role admin", "role service"])
    'role admin or role service'
    """
    if len(texts) < 3:
        return " or ".join(texts)
    return f"{', '.join(texts[:-1])}, or {texts[-1]}"


def _alternative(terms: frozenset[str]) -> str:
    if not terms:
        return "no role"
    own = [each.removeprefix(_ROLE) for each in sorted(terms) if each.startswith(_ROLE)]
    others = [each for each in sorted(terms) if not each.startswith(_ROLE)]
    text = " and ".join(f"role {name}" for name in own) or "any role"
    if _SAME_PROJECT in others:
        others.remove(_SAME_PROJECT)
        text += " in the requested project"
    return f"{text} with {' and '.join(others)}" if others else text


def _of_rule(checks: Checks, rule: str, outer: tuple[str, ...]) -> Alternatives:
    """Return the alternatives of a rule; ``outer`` are the rules that refer to it."""
    if rule in outer:
        raise Inexpressible
    try:
        check = checks[rule]
    except KeyError:
        return _NEVER  # as oslo.policy decides it
    return _of(checks, check, (*outer, rule))


def _of(checks: Checks, check: Any, outer: tuple[str, ...]) -> Alternatives:
    match check:
        case policy.RuleCheck():
            return _of_rule(checks, check.match, outer)
        case policy.OrCheck():
            parts = [_of(checks, each, outer) for each in check.rules]
            return _smallest(terms for part in parts for terms in part)
        case policy.AndCheck():
            parts = [_of(checks, each, outer) for each in check.rules]
            return _smallest(frozenset().union(*terms) for terms in product(*parts))
    kind = str(check)
    if kind == "!":
        return _NEVER
    if kind == "@":
        return _ALWAYS
    if isinstance(check, policy.Check) and type(check).__module__ == _BUILT_IN:
        return (frozenset({kind}),)
    raise Inexpressible


def _smallest(all_terms: Iterator[frozenset[str]]) -> Alternatives:
    """Return those that include no other one, in order.  Raises: Inexpressible if too many."""
    kept: list[frozenset[str]] = []
    for terms in all_terms:
        if any(other <= terms for other in kept):
            continue
        kept = [*(other for other in kept if not terms <= other), terms]
        if len(kept) > _MOST_ALTERNATIVES:
            raise Inexpressible
    return tuple(kept)


def nodes(check: Any) -> Iterator[Any]:
    """Yield the check and all checks inside it."""
    yield check
    parts = getattr(check, "rules", None) or [getattr(check, "rule", None)]
    for part in parts:
        if part is not None:
            yield from nodes(part)
