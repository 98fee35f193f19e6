"""Decisions are kept for equal arguments, and only if nothing else can change them."""

import pytest
from oslo_policy import policy as oslo_policy

from placement import exception
from placement.policy import decisions as policy_decisions
from placement.tests.unit.http.service import configured

OWN = {"project_id": "p"}


class CountingEnforcer(oslo_policy.Enforcer):
    """Counts how often rules are checked."""

    def enforce(self, *arguments, **options):
        self.checks = getattr(self, "checks", 0) + 1
        return super().enforce(*arguments, **options)


def enforcer(**rules):
    conf = configured()
    counting = CountingEnforcer(conf, use_conf=False)
    counting.set_rules(oslo_policy.Rules.from_dict(rules), use_conf=False)
    return counting


def caller(*roles, project="p"):
    return {"roles": list(roles), "project_id": project}


def is_allowed(decisions, rule, target, who):
    try:
        decisions.authorize(rule, target, who)
    except exception.PolicyNotAuthorized:
        return False
    return True


def test_equal_arguments_are_checked_once():
    rules = enforcer(read="role:reader")
    decisions = policy_decisions.PolicyDecisions(rules)
    for _ in range(3):
        assert is_allowed(decisions, "read", OWN, caller("reader"))
        assert not is_allowed(decisions, "read", OWN, caller("other"))
    assert rules.checks == 2


def test_rule_target_and_each_attribute_of_the_caller_matter():
    rules = enforcer(read="role:reader and project_id:%(project_id)s", write="role:writer")
    decisions = policy_decisions.PolicyDecisions(rules)
    assert is_allowed(decisions, "read", OWN, caller("reader"))
    assert not is_allowed(decisions, "write", OWN, caller("reader"))
    assert not is_allowed(decisions, "read", {"project_id": "q"}, caller("reader"))
    assert not is_allowed(decisions, "read", OWN, caller("reader", project="q"))
    assert not is_allowed(decisions, "read", OWN, caller("writer"))


@pytest.mark.parametrize(
    "rule",
    [
        "http://127.0.0.1:1/decide",
        "not http://127.0.0.1:1/decide",
        "role:a or http://127.0.0.1:1/",
    ],
)
def test_no_decision_is_kept_if_a_rule_asks_an_external_service(rule):
    rules = enforcer(read="role:reader", other=rule)
    decisions = policy_decisions.PolicyDecisions(rules)
    for _ in range(2):
        assert is_allowed(decisions, "read", OWN, caller("reader"))
    assert rules.checks == 2


def test_the_number_of_kept_decisions_is_bounded(monkeypatch):
    monkeypatch.setattr(policy_decisions, "_MAX_DECISIONS", 2)
    rules = enforcer(read="role:reader")
    decisions = policy_decisions.PolicyDecisions(rules)
    for project in ("p", "q", "r", "p"):
        assert is_allowed(decisions, "read", OWN, caller("reader", project=project))
    assert rules.checks == 4


def test_decisions_on_long_targets_are_not_kept():
    """A client chooses the project of ``GET /usages``: many long ones would fill the memory."""
    rules = enforcer(read="role:reader")
    decisions = policy_decisions.PolicyDecisions(rules)
    for _ in range(2):
        assert is_allowed(decisions, "read", {"project_id": "p" * 5000}, caller("reader"))
    assert rules.checks == 2
