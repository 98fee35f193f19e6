"""The policy rules: each rule is a name that handlers check."""

from collections.abc import Sequence

from oslo_policy import policy

from placement.policies import base, insight, rules


def list_rules() -> Sequence[policy.RuleDefault]:
    """Return all rules with their defaults; the tools of oslo.policy call this function."""
    return (*base.RULES, *rules.RULES, *insight.RULES)
