"""What a rule requires, in the words of the 403 response."""

import pytest
from oslo_policy import policy as oslo_policy

from placement.policy import requirements

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
