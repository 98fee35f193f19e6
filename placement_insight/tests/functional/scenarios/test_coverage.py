"""The scenarios of the operator surface cover every route and policy rule."""

import pytest

from placement.tests.functional.scenarios.test_coverage import statuses_of
from placement_insight.policies import list_rules
from placement_insight.routes import DECLARATIONS
from placement_insight.tests.functional.scenarios import GABBITS

ROUTES = [(method, path) for path, methods in DECLARATIONS.items() for method in methods]


@pytest.mark.parametrize("route", ROUTES, ids=" ".join)
def test_every_route_has_successes_and_errors(route):
    statuses = statuses_of(*route, GABBITS)
    assert [status for status in statuses if status < "300"]
    assert [status for status in statuses if status >= "400"]


def test_every_policy_rule_is_tested():
    text = "".join(path.read_text() for path in GABBITS.glob("*.yaml"))
    rules = {rule.name for rule in list_rules()}
    assert {rule for rule in rules if f"does not allow {rule} to be" not in text} == set()
