"""What the entries of policy files mean, before they are in force.

A rule that does not exist, an attribute that no token has, and an attribute that the target of the
request does not have, allow nobody. Behind ``not`` they would allow everyone: this is refused.
"""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import entry_points
from typing import Any, Final

from oslo_context.context import RequestContext
from oslo_policy import policy

from placement.policies import ProjectRule
from placement.policy import requirements
from placement.policy.files import Entry, shown
from placement.policy.requirements import Checks

_TOKEN: Final = {"system": None, **RequestContext(roles=[""], overwrite=False).to_policy_values()}
_OF_SERVICES: Final = {"http", "https", *entry_points(group="oslo.policy.rule_checks").names}
_NO_RULES: Any = None  # comparisons do not read the enforcer
_KNOWN_KINDS: Final = {"rule", "role", *_OF_SERVICES}
_MAX_DEPTH = 100  # an evaluation by oslo.policy needs two calls for a level
_MOST_NAMED = 3


def attributes(check: Any) -> frozenset[str]:
    """Return the attributes of the target that a check without parts reads.

    Other services are not called; checks that oslo.policy is extended by are not evaluated.
    Raises: any error if the check cannot be evaluated.
    """
    target: defaultdict[str, str] = defaultdict(str)
    match check:
        case policy.Check(kind="http" | "https"):
            _ = check.match % target
        case policy.Check() if check.kind != "rule" and check.kind not in _OF_SERVICES:
            check(target, dict(_TOKEN), _NO_RULES)
    return frozenset(target)


def evaluation_problems(entry: Entry) -> Iterator[str]:
    """Yield a sentence about each comparison of an entry that cannot be evaluated."""
    for leaf in requirements.leaves(entry.rule.check):
        try:
            attributes(leaf)
        except Exception as error:
            yield f"{entry} cannot be evaluated: {shown(leaf)} ({error}). Correct it."


def guarded(check: Any) -> Any:
    """Return the check, in which calls to services deny targets without the attributes they send.

    The check ``http:`` of oslo.policy raises KeyError for such a target.
    """
    match check:
        case policy.OrCheck():
            return policy.OrCheck([guarded(part) for part in check.rules])
        case policy.AndCheck():
            return policy.AndCheck([guarded(part) for part in check.rules])
        case policy.Check(kind="http" | "https") if names := sorted(attributes(check)):
            return policy.AndCheck([*(_Has("target", name) for name in names), check])
    return check  # behind `not`, attributes of the target are refused


class _Has(policy.Check):
    """Whether the target has an attribute."""

    def __call__(self, target: Mapping[str, Any], *_: Any) -> bool:
        return self.match in target


def problems(entries: Iterable[Entry], rules: Checks) -> Iterator[str]:
    """Yield a sentence about each check that is nested too deeply, or allows everyone by mistake.

    ``rules`` are all rules, without loops of references.
    """
    for entry in entries:
        check = entry.rule.check
        if requirements.depth(rules, check) > _MAX_DEPTH:
            yield f"{entry}, with the rules that it refers to, is nested too deeply."
        for node in requirements.nodes(check):
            if isinstance(node, policy.NotCheck):
                for reason in _absent(requirements.reached(rules, node.rule), rules):
                    yield (
                        f"{entry} would allow everyone: 'not' precedes a check that allows "
                        f"nobody, because {reason}. Remove this part."
                    )


def _absent(leaves: Iterable[Any], rules: Checks) -> Iterator[str]:
    for leaf in leaves:
        if reason := _unknown(leaf, rules):
            yield reason
        for name in sorted(attributes(leaf)):
            yield f"not every request has the {name} that {shown(leaf)} reads"


def _unknown(leaf: Any, rules: Checks) -> str:
    """Return a clause if the check is about a rule or an attribute that does not exist."""
    match leaf:
        case policy.RuleCheck() if leaf.match not in rules:
            return f"the rule {leaf.match} does not exist"
        case policy.Check() if leaf.kind not in _KNOWN_KINDS:
            if not _is_literal(leaf.kind) and leaf.kind.partition(".")[0] not in _TOKEN:
                return f"no token has the attribute {leaf.kind}"
    return ""


def _is_literal(kind: str) -> bool:
    try:
        ast.literal_eval(kind)
    except ValueError:
        return False
    return True


def warnings(entries: Iterable[Entry], enforcer: policy.Enforcer) -> Iterator[str]:
    """Yield a sentence about each entry in force that may not mean what it says."""
    rules = enforcer.rules
    in_force = {entry.name: entry for entry in entries}
    memory: dict[str, bool | None] = {}
    defaults = enforcer.registered_rules.values()
    operations = {rule.name for rule in defaults if isinstance(rule, policy.DocumentedRuleDefault)}
    used = operations.union(*map(requirements.references, rules.values()))
    for entry in in_force.values():
        if _allows(entry.rule.check, rules, memory):
            yield f"{entry} allows every token, also one without roles"
        for leaf in requirements.leaves(entry.rule.check):
            if reason := _unknown(leaf, rules) or _out_of_scope(leaf, enforcer):
                yield f"{entry}: {reason}; {shown(leaf)} {_fallback(leaf, rules)}"
        if entry.name not in used and (reason := _use(entry, enforcer)):
            yield f"{entry.place}: {entry.name} {reason}"
    yield from _of_no_project(in_force, rules, defaults)


def _use(entry: Entry, enforcer: policy.Enforcer) -> str:
    """Return what an entry does that no rule refers to; empty if it is a default."""
    defaults = enforcer.registered_rules
    check = str(entry.rule.check)
    if entry.name in defaults:
        is_default = check == str(defaults[entry.name].check)
        return "" if is_default else "has no effect, because no rule of the service refers to it"
    replaced = [
        rule.name
        for rule in defaults.values()
        if rule.deprecated_rule and rule.deprecated_rule.name == entry.name
        if check == str(enforcer.rules[rule.name])
    ]
    listed = ", ".join(replaced)
    return f"replaces the checks of {listed}" if replaced else "is no rule of the service"


def _out_of_scope(leaf: Any, enforcer: policy.Enforcer) -> str:
    """Return a clause if only tokens that the scope of all rules refuses have the value."""
    kind, match = getattr(leaf, "kind", None), getattr(leaf, "match", None)
    is_scope = kind in {"system_scope", "domain_id"} and match != str(None)
    is_checked = getattr(enforcer.conf.oslo_policy, "enforce_scope", True)  # no option any more
    return "all rules have the scope project" if is_scope and is_checked else ""


def _fallback(leaf: policy.Check, rules: Checks) -> str:
    is_rule = isinstance(leaf, policy.RuleCheck)
    has_default = is_rule and str(requirements.rule_of(rules, leaf.match)) != "!"
    return "is decided by the default rule" if has_default else "allows nobody"


def _allows(check: Any, rules: Checks, memory: dict[str, bool | None]) -> bool | None:
    """Return whether a check allows every token (True) or none (False); None if it depends."""
    match check:
        case policy.RuleCheck(match=name):
            if name not in memory:
                memory[name] = _allows(requirements.rule_of(rules, name), rules, memory)
            return memory[name]
        case policy.NotCheck():
            inner = _allows(check.rule, rules, memory)
            return None if inner is None else not inner
        case policy.OrCheck() | policy.AndCheck():
            parts = [_allows(part, rules, memory) for part in check.rules]
            decisive = isinstance(check, policy.OrCheck)
            return decisive if decisive in parts else None if None in parts else not decisive
        case policy.Check():
            if _unknown(check, rules):
                return False
            is_constant = check.kind not in _OF_SERVICES and _is_literal(check.kind)
            return (
                bool(check({}, {}, _NO_RULES)) if is_constant and not attributes(check) else None
            )
    return str(check) == "@"


def _of_no_project(
    entries: Mapping[str, Entry], rules: Checks, operations: Iterable[policy.RuleDefault]
) -> Iterator[str]:
    """Yield a sentence about each entry that compares what requests of its operations lack."""
    lacking: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for rule in operations:
        if not isinstance(rule, policy.DocumentedRuleDefault):
            continue
        reached = list(requirements.reached(rules, policy.RuleCheck("rule", rule.name)))
        names = [leaf.match for leaf in reached if isinstance(leaf, policy.RuleCheck)]
        entry = next((entries[name] for name in names if name in entries), None)
        read = set[str]().union(*map(attributes, reached))
        if isinstance(rule, ProjectRule):
            read.discard("project_id")
        if entry and read:
            lacking[str(entry), " and ".join(sorted(read))].append(rule.name)
    for (place, missing), names in lacking.items():
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        listed = f"{', '.join(names[:_MOST_NAMED])}{more}"
        yield f"{place}: requests of {listed} have no {missing}; what compares it allows nobody"
