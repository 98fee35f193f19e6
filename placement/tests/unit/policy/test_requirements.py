"""What a rule requires, in the words of the 403 response."""

import pytest
from oslo_policy import policy as oslo_policy

from placement.policy import requirements

CASES = {
    "role:admin": "role admin",
    "role:admin or role:service": "role admin or role service",
    "role:a or role:b or role:c": "role a, role b, or role c",
    "role:admin or rule:reads": "role admin or role reader in the requested project",
    "role:a and (role:b or role:a)": "role a",
    "role:a and is_admin:True": "role a with is_admin:True",
    "user_id:%(user_id)s": "any role with user_id:%(user_id)s",
    "@": "no role",
    "!": "what no role has: its check refuses everyone",
    "rule:missing": "what no role has: its check refuses everyone",
    "not role:guest": "what its check demands: not role:guest",
    "role:a and http://me:secret@host/x": "what its check demands: (role:a and http://host/x)",
    "rule:loop": "what its check demands: rule:loop",
}


def checks(**rules):
    reads = {"reads": "role:reader and project_id:%(project_id)s", "loop": "rule:loop"}
    return oslo_policy.Rules.from_dict(reads | rules)


@pytest.mark.parametrize("check", CASES)
def test_a_check_is_described(check):
    assert requirements.described(checks(own=check), "own") == CASES[check]


def test_a_check_with_too_many_alternatives_is_shown_as_it_is():
    pairs = " and ".join(f"(role:a{n} or role:b{n})" for n in range(12))
    described = requirements.described(checks(own=pairs), "own")
    assert described.startswith("what its check demands: ((role:a0 or role:b0) and ")


def test_the_roles_that_rules_name_are_found_everywhere_in_them():
    rules = checks(own="not role:Guest or (role:a and http://host/role)")
    assert requirements.roles(rules) == {"guest", "a", "reader"}
