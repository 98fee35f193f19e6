"""The requirements of policy rules, derived from their checks: for messages.

A check is a tree of ``and``, ``or``, ``not``, roles, comparisons and references to other rules.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Any, Final

from oslo_policy import policy

Checks = Mapping[str, Any]
"""The checks of oslo.policy by the names of their rules, without loops of references."""

CONDITION: Final = "a condition of the policy file"
"""Stands for a check that may contain user IDs, or the URL of a service with its credentials."""

_OWNERSHIP = re.compile(r"[a-z_]+:%\([a-z_]+\)s")


def described(checks: Checks, rule: str) -> str:
    """Return the requirement of the rule, as the object of "needs".

    ``role admin or role service``: the check, with the checks of other rules in place of
    references. Any client may read it: of the checks, it has roles and ownership, such as
    ``project_id:%(project_id)s``; CONDITION stands for other checks.
    """
    of_rule: Any = cache(lambda name: _alternatives(rule_of(checks, name), of_rule))
    return " or ".join(of_rule(rule)) or "what no role has: the rule denies every request"


def _alternatives(check: Any, of_rule: Callable[[str], Sequence[str]]) -> Sequence[str]:
    """Return the texts of checks of which one is sufficient; none if nothing is."""
    match check:
        case policy.RuleCheck():
            return of_rule(check.match)
        case policy.OrCheck():
            texts = [_alternatives(part, of_rule) for part in check.rules]
            return tuple(dict.fromkeys(chain.from_iterable(texts)))
        case policy.AndCheck():
            texts = [_alternatives(part, of_rule) for part in check.rules]
            conditions = tuple(dict.fromkeys(map(_joined, texts))) if all(texts) else ()
            return conditions if len(conditions) < 2 else (f"({' and '.join(conditions)})",)
        case policy.Check(kind="role"):
            return (f"role {check.match}",)
    return _shown(check)


def _shown(check: Any) -> Sequence[str]:
    """Return what clients may read of another check; none if it denies every request."""
    text = str(check)
    if text == "!":
        return ()
    is_role = isinstance(check, policy.NotCheck) and getattr(check.rule, "kind", None) == "role"
    return (text if is_role or text == "@" or _OWNERSHIP.fullmatch(text) else CONDITION,)


def _joined(alternatives: Sequence[str]) -> str:
    text = " or ".join(alternatives)
    return text if len(alternatives) == 1 else f"({text})"


def loop(checks: Checks) -> Sequence[str]:
    """Return the rules of a loop of references, in order; none if there is no loop.

    The check of oslo.policy does not follow references behind ``not``, or to the default rule.
    """
    settled: set[str] = set()

    def search(rule: str, path: tuple[str, ...]) -> Sequence[str]:
        if rule in path:
            return path[path.index(rule) :]
        if rule not in settled:
            for reference in references(rule_of(checks, rule)):
                if rules := search(reference, (*path, rule)):
                    return rules
        settled.add(rule)
        return ()

    return next(filter(None, (search(rule, ()) for rule in checks)), ())


def rule_of(checks: Checks, name: str) -> Any:
    """Return the check of a rule, of the default rule if there is none; it may deny everyone."""
    try:
        return checks[name]
    except KeyError:
        return policy.RuleDefault(name, "!").check


def depth(checks: Checks, check: Any) -> int:
    """Return how deep a check is nested, with the rules that it refers to; without loops."""
    memory: dict[str, int] = {}

    def of(check: Any) -> int:
        if isinstance(check, policy.RuleCheck):
            if check.match not in memory:
                memory[check.match] = of(rule_of(checks, check.match))
            return 1 + memory[check.match]
        return 1 + max(map(of, parts(check)), default=0)

    return of(check)


def references(check: Any) -> Iterator[str]:
    """Yield the rules that the check refers to."""
    return (node.match for node in nodes(check) if isinstance(node, policy.RuleCheck))


def reached(checks: Checks, check: Any) -> Iterator[Any]:
    """Yield the checks without parts inside a check, and inside the rules that it refers to."""
    pending, seen = [check], set[str]()
    while pending:
        for leaf in leaves(pending.pop()):
            yield leaf
            if isinstance(leaf, policy.RuleCheck) and leaf.match not in seen:
                seen.add(leaf.match)
                pending.append(rule_of(checks, leaf.match))


_PURE_KINDS = frozenset(
    {"role", "rule", "user_id", "project_id", "domain_id", "system_scope", "is_admin"}
)


def are_pure(checks: Checks) -> bool:
    """Return whether all decisions certainly depend on the caller and the target only.

    ``http:``, and other checks that oslo.policy can be extended by, ask other services.
    """
    return all(
        leaf.kind in _PURE_KINDS
        for check in checks.values()
        for leaf in leaves(check)
        if isinstance(leaf, policy.Check)
    )


def leaves(check: Any) -> Iterator[Any]:
    """Yield the checks without parts inside a check, in the order of its text."""
    return (node for node in nodes(check) if not parts(node))


def nodes(check: Any) -> Iterator[Any]:
    """Yield the check and all checks inside it."""
    yield check
    for part in parts(check):
        yield from nodes(part)


def parts(check: Any) -> Sequence[Any]:
    """Return the checks that a check combines."""
    match check:
        case policy.AndCheck() | policy.OrCheck():
            return check.rules
        case policy.NotCheck():
            return (check.rule,)
    return ()
