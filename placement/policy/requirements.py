"""The requirements of policy rules, derived from their checks: for messages and reports.

A check is a tree of ``and``, ``or``, ``not``, roles, comparisons and references to other rules.
Without ``not`` and external checks it has a disjunctive normal form: alternatives. An alternative
is a set of roles and comparisons that are all required.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Final

from oslo_policy import policy

Checks = Mapping[str, Any]
"""The checks of oslo.policy by the names of their rules."""

Alternatives = tuple[frozenset[str], ...]
"""Any of the sets is sufficient; its members are texts such as ``role:admin``."""

_NEVER: Final[Alternatives] = ()
_ALWAYS: Final[Alternatives] = (frozenset(),)
_MOST_ALTERNATIVES = 32
_EXTERNAL = frozenset({"http", "https"})  # kinds of checks that other services decide
_ROLE = "role:"
_SAME_PROJECT = "project_id:%(project_id)s"
_CREDENTIALS_OF_URL = re.compile(r"//[^/\s@]*@")


class Inexpressible(Exception):  # noqa: N818
    """The check cannot be expressed as a short list of alternatives."""


def described(checks: Checks, rule: str) -> str:
    """Return the requirement of the rule, as the object of "needs".

    ``role admin or role service``; for a check that cannot be expressed in roles, the check itself
    as policy files write it, without the credentials of a URL.
    """
    try:
        alternatives = _of_rule(checks, rule, ())
    except Inexpressible:
        return f"what its check demands: {_CREDENTIALS_OF_URL.sub('//', str(checks[rule]))}"
    if alternatives == _NEVER:
        return "what no role has: its check refuses everyone"
    return _joined([_alternative(terms) for terms in alternatives])


def loop(checks: Checks) -> Sequence[str]:
    """Return the rules of a loop of references, in order; none if there is no loop."""
    settled: set[str] = set()

    def search(rule: str, path: tuple[str, ...]) -> Sequence[str]:
        if rule in path:
            return path[path.index(rule) :]
        if rule not in settled and rule in checks:
            for reference in references(checks[rule]):
                if rules := search(reference, (*path, rule)):
                    return rules
        settled.add(rule)
        return ()

    return next(filter(None, (search(rule, ()) for rule in checks)), ())


def references(check: Any) -> Iterator[str]:
    """Yield the rules that the check refers to."""
    return (node.match for node in nodes(check) if isinstance(node, policy.RuleCheck))


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
    role_names = [term.removeprefix(_ROLE) for term in sorted(terms) if term.startswith(_ROLE)]
    conditions = [term for term in sorted(terms) if not term.startswith(_ROLE)]
    text = " and ".join(f"role {name}" for name in role_names) or "any role"
    if _SAME_PROJECT in conditions:
        conditions.remove(_SAME_PROJECT)
        text += " in the requested project"
    return f"{text} with {' and '.join(conditions)}" if conditions else text


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
            alternatives = [_of(checks, part, outer) for part in check.rules]
            return _smallest(terms for part in alternatives for terms in part)
        case policy.AndCheck():
            alternatives = [_of(checks, part, outer) for part in check.rules]
            return _smallest(frozenset().union(*terms) for terms in product(*alternatives))
    kind = str(check)
    if kind == "!":
        return _NEVER
    if kind == "@":
        return _ALWAYS
    if isinstance(check, policy.Check) and check.kind not in _EXTERNAL:
        return (frozenset({kind}),)
    raise Inexpressible


def _smallest(all_terms: Iterator[frozenset[str]]) -> Alternatives:
    """Return the sets without a subset among the others, in order.

    Raises: Inexpressible if there are too many.
    """
    smallest: list[frozenset[str]] = []
    for terms in all_terms:
        if any(other <= terms for other in smallest):
            continue
        smallest = [*(other for other in smallest if not terms <= other), terms]
        if len(smallest) > _MOST_ALTERNATIVES:
            raise Inexpressible
    return tuple(smallest)


def nodes(check: Any) -> Iterator[Any]:
    """Yield the check and all checks inside it."""
    yield check
    parts = getattr(check, "rules", None) or [getattr(check, "rule", None)]
    for part in parts:
        if part is not None:
            yield from nodes(part)
