"""The policy rules: a module per noun, each rule a name that handlers check."""

from collections.abc import Sequence
from itertools import chain

from oslo_policy import policy

from placement.policies import (
    aggregate,
    allocation,
    allocation_candidate,
    base,
    insight,
    inventory,
    reshaper,
    resource_class,
    resource_provider,
    trait,
    usage,
)

_MODULES = (
    base,
    resource_provider,
    resource_class,
    inventory,
    aggregate,
    usage,
    trait,
    allocation,
    allocation_candidate,
    reshaper,
    insight,
)


def list_rules() -> Sequence[policy.RuleDefault]:
    """Return all rules with their defaults; oslo.policy's tools ask for them."""
    return tuple(chain.from_iterable(module.RULES for module in _MODULES))
