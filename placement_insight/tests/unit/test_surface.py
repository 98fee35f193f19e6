"""What the package brings to the service."""

import pytest
import yaml

from placement import conf as options
from placement import policies, policy, surface
from placement.tests.functional.fixtures.placement import PlacementFixture
from placement.tests.support.docs import ROOT
from placement.tests.support.stub_service import configured
from placement.tests.unit.policy.test_policy import allowed
from placement_insight.policies import list_rules
from placement_insight.surface import Insight

AUDITOR = ROOT / "etc" / "placement" / "policy.d" / "auditor.yaml"
READING = ["/insight/drain", "/insight/room", "/insight/survival"]
"""Paths of a POST that writes nothing."""

DEFAULTS = {
    "page": False,
    "record": True,
    "record_users": True,
    "record_max_rows": 10_000,
    "record_max_age_days": 30,
    "record_per_second": 5,
    "history_rows": 200_000,
}


def test_it_is_found_by_its_entry_point():
    assert isinstance(surface.installed(), Insight)


def test_options_and_their_defaults():
    conf = configured()
    assert dict(conf.insight) == DEFAULTS
    assert [group.name for group, _ in Insight().options()] == ["insight"]
    assert options.all_groups()[-1][0].name == "insight"


def test_nothing_is_written_in_the_background_of_tests_of_other_projects():
    """Their database ends with the test."""
    with PlacementFixture() as fixture:
        options = fixture.conf_fixture.conf.insight
        assert (options.record, options.history_rows) == (False, 0)
        fixture.conf_fixture.config(group="insight", record=True)
        assert options.record


def test_all_paths_are_declared_with_their_methods():
    declared = {path: ", ".join(methods) for path, methods in Insight().routes().items()}
    assert declared == {
        "/insight": "GET",
        "/insight/explanation": "GET",
        "/insight/providers": "GET",
        "/insight/top": "GET",
        "/insight/requests": "GET",
        "/insight/requests/summary": "GET",
        "/insight/requests/{request_id}": "GET",
        "/insight/capacity": "GET",
        "/insight/consumers": "GET",
        "/insight/findings": "GET",
        "/insight/identity": "GET",
        "/insight/changes": "GET",
        "/insight/clients": "GET",
        "/insight/drain": "GET, POST",
        "/insight/survival": "GET, POST",
        "/insight/room": "POST",
    }


def test_every_path_and_method_has_its_policy_rule():
    ruled = [
        (operation["path"], operation["method"])
        for rule in list_rules()
        for operation in rule.operations
    ]
    declared = {(path, method) for path, all_ in Insight().routes().items() for method in all_}
    assert len(ruled) == len(set(ruled))
    assert set(ruled) == declared


def test_every_operation_is_named_documented_and_of_projects_only():
    assert len(list_rules()) == 12
    assert all(rule.scope_types == ["project"] and rule.operations for rule in list_rules())


@pytest.mark.parametrize("rule", list_rules(), ids=lambda rule: rule.name)
def test_default_permissions(rule):
    rules = policy.Policy(configured())
    may = {role: allowed(rules, rule.name, [role]) for role in ("admin", "service", "reader")}
    assert may == {"admin": True, "service": True, "reader": False}


def test_the_sample_for_auditors_has_every_rule_of_reading_and_no_other():
    """A new rule of reading belongs in the sample: its default, or the role."""
    reading = {
        rule.name: f"{rule.check_str} or role:auditor"
        for rule in (*policies.OPERATIONS, *list_rules())
        if all(each["method"] == "GET" or each["path"] in READING for each in rule.operations)
    }
    assert yaml.safe_load(AUDITOR.read_text()) == reading
