"""The policy rules: each rule is a name that handlers check."""

from collections.abc import Sequence

from oslo_policy import policy

from placement.policies import base, insight, rules


def list_rules() -> Sequence[policy.RuleDefault]:
    """Return all rules with their defaults; oslo.policy's tools ask for them."""
    return (*base.RULES, *rules.RULES, *insight.RULES)
