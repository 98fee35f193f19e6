"""The policy rules: each is a constant that handlers check."""

from collections.abc import Sequence

from oslo_policy import policy

from placement.policies import rules


def list_rules() -> Sequence[policy.RuleDefault]:
    """Return all rules with their defaults; the tools of oslo.policy call this function."""
    operations = vars(rules).values()
    return (
        *rules.RULES,
        *(rule for rule in operations if isinstance(rule, policy.DocumentedRuleDefault)),
    )
