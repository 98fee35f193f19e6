"""What a rule requires, in the words of the 403 response."""

from types import SimpleNamespace

import pytest
from oslo_policy import policy as oslo_policy

from placement.policy import judgement, requirements
from placement.policy.files import Entry

CASES = {
    "role:admin": "role admin",
    "role:admin or role:service": "role admin or role service",
    "role:a or role:b or (role:c or role:a)": "role a or role b or role c",
    "role:admin or rule:reads": "role admin or (role reader and project_id:%(project_id)s)",
    "role:a and (role:b or role:a)": "(role a and (role b or role a))",
    "role:a and is_admin:True": "(role a and a condition of the policy file)",
    "user_id:0d1e5f7a9b or role:a": "a condition of the policy file or role a",
    "user_id:0d1e5f7a9b or user_id:5f7a9b0d1e": "a condition of the policy file",
    "'0d1e5f7a9b':%(user_id)s": "a condition of the policy file",
    "not user_id:0d1e5f7a9b": "a condition of the policy file",
    "project_id:%(project_id)s-0d1e5f7a9b": "a condition of the policy file",
    "user_id:%(user_id)s": "user_id:%(user_id)s",
    "@": "@",
    "!": "what no role has: the rule denies every request",
    "rule:missing": "what no role has: the rule denies every request",
    "role:a or (role:b and !)": "role a",
    "not role:guest": "not role:guest",
    "role:a and http://me:secret@host/x?key=1": "(role a and a condition of the policy file)",
}


def checks(**rules):
    reads = {"reads": "role:reader and project_id:%(project_id)s"}
    return oslo_policy.Rules.from_dict(reads | rules)


@pytest.mark.parametrize("check", CASES)
def test_a_check_is_described(check):
    assert requirements.described(checks(own=check), "own") == CASES[check]


@pytest.mark.timeout(60)
def test_rules_that_refer_to_others_twice_are_read_in_a_moment():
    """Each level would double the work: 2 ** 60 steps."""
    twice = {f"r{n}": f"rule:r{n + 1} or rule:r{n + 1}" for n in range(60)}
    rules = checks(**twice, r60="@")
    assert requirements.described(rules, "r0") == "@"
    assert requirements.loop(rules) == ()
    assert requirements.depth(rules, rules["r0"]) == 121
    assert len(list(requirements.reached(rules, rules["r0"]))) == 121
    conf = SimpleNamespace(oslo_policy=None)
    enforcer = SimpleNamespace(rules=rules, registered_rules={}, conf=conf)
    (sentence, _) = judgement.warnings([Entry("file", "r0", twice["r0"])], enforcer)
    assert sentence == "file: the check of r0 allows every token, also one without roles"
