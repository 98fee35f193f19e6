import warnings

import pytest
import yaml

from placement import exception, policies, policy
from placement.tests.support.stub_service import configured

OWN = {"project_id": "p", "user_id": "u"}


def allowed(rules, rule, roles, target=OWN, **more):
    try:
        rules.decisions().authorize(rule, target, {"roles": roles, "project_id": "p"} | more)
    except exception.PolicyNotAuthorized:
        return False
    return True


@pytest.fixture(scope="module")
def rules():
    return policy.Policy(configured())


@pytest.fixture
def policy_file(tmp_path):
    return tmp_path / "policy.yaml"


@pytest.fixture
def own_rules(policy_file):
    return policy.Policy(configured(oslo_policy__policy_file=str(policy_file)))


def write(path, **rules):
    path.write_text(
        yaml.safe_dump({name.replace("__", ":"): text for name, text in rules.items()})
    )


def test_every_operation_is_named_documented_and_of_projects_only():
    assert len(policies.OPERATIONS) == 33
    assert all(rule.scope_types == ["project"] and rule.operations for rule in policies.OPERATIONS)


@pytest.mark.parametrize("rule", policies.OPERATIONS, ids=lambda rule: rule.name)
def test_default_permissions(rules, rule):
    may = {role: allowed(rules, rule.name, [role]) for role in ("admin", "service", "reader")}
    assert may == {
        "admin": rule.name != policies.RESHAPE.name,
        "service": True,
        "reader": rule.name == policies.SHOW_USAGES_OF_PROJECT.name,
    }


def test_roles_are_compared_without_case(rules):
    assert allowed(rules, policies.LIST_PROVIDERS.name, ["Admin"])


def test_system_and_domain_tokens_are_refused(rules):
    for scope in ({"system_scope": "all"}, {"domain_id": "d"}):
        with pytest.raises(exception.ScopeNotAuthorized):
            rules.decisions().authorize(
                policies.LIST_PROVIDERS.name, OWN, {"roles": ["admin"]} | scope
            )


def test_unknown_rule_refuses_everyone(rules):
    assert not allowed(rules, "placement:fly", ["admin"])


def test_the_former_defaults_let_the_administrator_reshape():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        former = policy.Policy(configured(oslo_policy__enforce_new_defaults=False))
    assert allowed(former, policies.RESHAPE.name, ["admin"])


def test_everything_can_be_opened(policy_file):
    policy_file.write_text(yaml.safe_dump({rule.name: "@" for rule in policies.list_rules()}))
    opened = policy.Policy(configured(oslo_policy__policy_file=str(policy_file)))
    assert all(allowed(opened, rule.name, []) for rule in policies.OPERATIONS)


def test_a_changed_file_counts_at_once(policy_file):
    write(policy_file, placement__usages="role:accountant")
    rules = policy.Policy(configured(oslo_policy__policy_file=str(policy_file)))
    assert allowed(rules, policies.SHOW_USAGES_OF_PROJECT.name, ["accountant"])
    write(policy_file, placement__usages="role:auditor or role:controller")
    assert not allowed(rules, policies.SHOW_USAGES_OF_PROJECT.name, ["accountant"])
    assert allowed(rules, policies.SHOW_USAGES_OF_PROJECT.name, ["auditor"])
    assert allowed(rules, policies.LIST_PROVIDERS.name, ["admin"])


def test_a_new_file_counts_soon_and_a_removed_one_not_longer(own_rules, policy_file, monkeypatch):
    monkeypatch.setattr(policy, "_SECONDS_BETWEEN_SEARCHES", 0)
    assert not allowed(own_rules, policies.SHOW_USAGES_OF_PROJECT.name, ["accountant"])
    write(policy_file, placement__usages="role:accountant")
    assert allowed(own_rules, policies.SHOW_USAGES_OF_PROJECT.name, ["accountant"])
    policy_file.unlink()
    assert not allowed(own_rules, policies.SHOW_USAGES_OF_PROJECT.name, ["accountant"])


def test_files_in_the_policy_folder_count(tmp_path):
    (tmp_path / "policy.d").mkdir()
    write(tmp_path / "policy.d" / "mine.yaml", placement__usages="role:accountant")
    folder = str(tmp_path / "policy.d")
    rules = policy.Policy(configured(oslo_policy__policy_dirs=[folder]))
    assert allowed(rules, policies.SHOW_USAGES_OF_PROJECT.name, ["accountant"])
    write(tmp_path / "policy.d" / "yours.yaml", placement__usages="role:auditor")
    assert allowed(rules, policies.SHOW_USAGES_OF_PROJECT.name, ["auditor"])


def test_a_broken_file_changes_nothing_but_is_logged(policy_file, caplog):
    write(policy_file, placement__usages="role:accountant")
    rules = policy.Policy(configured(oslo_policy__policy_file=str(policy_file)))
    policy_file.write_text("{ not : [ yaml")
    assert allowed(rules, policies.SHOW_USAGES_OF_PROJECT.name, ["accountant"])
    assert "The policy files cannot be loaded" in caplog.text


def test_a_folder_that_cannot_be_read_changes_nothing_but_is_logged(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(policy, "_SECONDS_BETWEEN_SEARCHES", 0)
    folder = tmp_path / "policy.d"
    folder.mkdir()
    write(folder / "mine.yaml", placement__usages="role:accountant")
    rules = policy.Policy(configured(oslo_policy__policy_dirs=[str(folder)]))
    folder.rename(tmp_path / "away")
    folder.write_text("a file, which cannot be listed")
    for _ in range(3):
        assert allowed(rules, policies.SHOW_USAGES_OF_PROJECT.name, ["accountant"])
    (line,) = [each for each in caplog.records if each.name == "placement.policy"]
    assert f"{folder} cannot be read: Not a directory." in line.getMessage()


def test_an_unexpected_error_changes_nothing_but_is_logged(
    own_rules, policy_file, monkeypatch, caplog
):
    def fail(_conf):
        raise ZeroDivisionError

    monkeypatch.setattr(policy, "_load", fail)
    monkeypatch.setattr(policy, "_SECONDS_BETWEEN_SEARCHES", 0)
    write(policy_file, placement__usages="role:accountant")
    assert not allowed(own_rules, policies.SHOW_USAGES_OF_PROJECT.name, ["accountant"])
    assert "ZeroDivisionError" in caplog.text


def test_changed_permissions_of_a_file_count(policy_file, caplog):
    write(policy_file, placement__usages="role:accountant")
    rules = policy.Policy(configured(oslo_policy__policy_file=str(policy_file)))
    decisions = rules.decisions()
    policy_file.chmod(0o600)
    assert rules.decisions() is not decisions


def test_the_tools_of_oslo_policy_get_an_enforcer_of_the_files_they_name(monkeypatch, tmp_path):
    file = tmp_path / "placement.conf"
    file.write_text("[oslo_policy]\npolicy_file = other.yaml\n")
    monkeypatch.setattr(
        "sys.argv", ["tool", "--namespace", "placement", "--config-file", str(file)]
    )
    assert policy.get_enforcer().policy_file == "other.yaml"


def test_the_tools_of_oslo_policy_get_an_enforcer_of_the_configured_files(monkeypatch, tmp_path):
    (tmp_path / "placement.conf").write_text("[oslo_policy]\npolicy_file = other.yaml\n")
    monkeypatch.setenv("OS_PLACEMENT_CONFIG_DIR", str(tmp_path))
    assert policy.get_enforcer().policy_file == "other.yaml"


def counted(rules, monkeypatch):
    """Return the list of the rules that oslo.policy is asked for from now on."""
    asked = []
    enforcer = rules.decisions()._enforcer
    enforce = enforcer.enforce

    def enforced(rule, *args, **kwargs):
        asked.append(rule)
        return enforce(rule, *args, **kwargs)

    monkeypatch.setattr(enforcer, "enforce", enforced)
    return asked


def test_a_permission_is_remembered_for_equal_callers_and_targets_only(monkeypatch):
    rules, rule = policy.Policy(configured()), policies.SHOW_USAGES_OF_PROJECT.name
    asked = counted(rules, monkeypatch)
    assert allowed(rules, rule, ["reader"])
    assert allowed(rules, rule, ["reader"])
    assert len(asked) == 1
    assert not allowed(rules, rule, ["reader"], target={"project_id": "q", "user_id": "u"})
    assert not allowed(rules, rule, ["member"])
    assert not allowed(rules, rule, ["reader"], project_id="q")
    assert not allowed(rules, rule, ["member"]), "a refusal is not remembered"
    assert len(asked) == 5


@pytest.mark.parametrize("check", ["http://127.0.0.1/decide or role:reader", "opa:x or @"])
def test_no_permission_is_remembered_if_a_rule_may_ask_another_service(
    own_rules, policy_file, monkeypatch, check
):
    write(policy_file, placement__usages="role:reader", used=check)
    asked = counted(own_rules, monkeypatch)
    rule = policies.SHOW_USAGES_OF_PROJECT.name
    assert allowed(own_rules, rule, ["reader"])
    assert allowed(own_rules, rule, ["reader"])
    assert len(asked) == 2


def test_the_permissions_that_are_remembered_are_limited(rules):
    rule = policies.SHOW_USAGES_OF_PROJECT.name
    for number in range(2_100):
        assert allowed(rules, rule, ["admin"], request_user=str(number))
    assert len(rules.decisions()._allowed) <= 1_000
