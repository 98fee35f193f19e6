"""The requirements of policy rules, derived from their checks: for messages.

A check is a tree of ``and``, ``or``, ``not``, roles, comparisons and references to other rules.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
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
    alternatives = _alternatives(checks, policy.RuleCheck("rule", rule))
    return " or ".join(alternatives) or "what no role has: the rule denies every request"


def _alternatives(checks: Checks, check: Any) -> Sequence[str]:
    """Return the texts of checks of which one is sufficient; none if nothing is."""
    match check:
        case policy.RuleCheck():
            try:
                return _alternatives(checks, checks[check.match])
            except KeyError:
                return ()  # as oslo.policy decides it
        case policy.OrCheck():
            texts = [_alternatives(checks, part) for part in check.rules]
            return tuple(dict.fromkeys(chain.from_iterable(texts)))
        case policy.AndCheck():
            texts = [_alternatives(checks, part) for part in check.rules]
            return (f"({' and '.join(map(_joined, texts))})",) if all(texts) else ()
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

    The check of oslo.policy does not follow references behind ``not``.
    """
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


_PURE_KINDS = frozenset(
    {"role", "rule", "user_id", "project_id", "domain_id", "system_scope", "is_admin"}
)


def are_pure(checks: Checks) -> bool:
    """Return whether all decisions certainly depend on the caller and the target only.

    ``http:``, and other checks that oslo.policy can be extended by, ask other services.
    """
    return all(
        node.kind in _PURE_KINDS
        for check in checks.values()
        for node in nodes(check)
        if isinstance(node, policy.Check)
    )


def nodes(check: Any) -> Iterator[Any]:
    """Yield the check and all checks inside it."""
    yield check
    parts = getattr(check, "rules", None) or [getattr(check, "rule", None)]
    for part in parts:
        if part is not None:
            yield from nodes(part)
