"""The policy rules: each is a constant that handlers check."""

from collections.abc import Sequence

from oslo_policy import policy

from placement.policies import base, insight, rules


def list_rules() -> Sequence[policy.RuleDefault]:
    """Return all rules with their defaults; the tools of oslo.policy call this function."""
    operations = (*vars(rules).values(), *vars(insight).values())
    return (*base.RULES, *filter(_is_rule, operations))


def _is_rule(value: object) -> bool:
    return isinstance(value, policy.DocumentedRuleDefault)
