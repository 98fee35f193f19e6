"""Entries of policy files: refused, in force with a warning, or in force; with file and line."""

import logging

import pytest
import yaml

from placement import exception, policies
from placement.policy import Policy, load
from placement.tests.support.stub_service import configured

RULE = policies.DELETE_ALLOCATIONS.name
NO_CHECK = 'which is no check. Write "!" in quotes to deny everyone, "@" to allow everyone.'
UNREADABLE = "cannot be read: "
UNEVALUABLE = "cannot be evaluated: "
INVERTED = "would allow everyone: 'not' precedes a check that allows nobody, because "
TOO_DEEP = ", with the rules that it refers to, is nested too deeply."
REFUSED = {
    # without quotes
    "!": f"is null, {NO_CHECK}",
    "": f"is null, {NO_CHECK}",
    "# later": f"is null, {NO_CHECK}",
    "~": f"is null, {NO_CHECK}",
    "null": f"is null, {NO_CHECK}",
    "false": f"is False, {NO_CHECK}",
    "no": f"is False, {NO_CHECK}",
    "true": f"is True, {NO_CHECK}",
    "0": f"is 0, {NO_CHECK}",
    "2026-01-01": "is datetime.date(2026, 1, 1), ",
    "!!str": f"is '', {NO_CHECK}",
    "|": f"is '', {NO_CHECK}",
    "{}": f"is {{}}, {NO_CHECK}",
    "{role: x}": "is {'role': 'x'}, ",
    # lists
    "[]": f"is [], {NO_CHECK}",
    "[[]]": UNREADABLE,
    "[null]": f"is [None], {NO_CHECK}",
    '[""]': f"is [''], {NO_CHECK}",
    '[["role:x", 5]]': "is [['role:x', 5]], ",
    '[["role:x", ["role:y"]]]': "is [['role:x', ['role:y']]], ",
    '["role:x", "y"]': UNREADABLE,
    '["not", "role:x"]': UNREADABLE,
    # texts
    '"  "': f"is '  ', {NO_CHECK}",
    '"()"': f"is '()', {NO_CHECK}",
    '"role:x orr role:y"': f"{UNREADABLE}'role:x orr role:y'. Correct it.",
    '"role:x orr !"': UNREADABLE,
    '"role:x or y"': UNREADABLE,
    '"not y"': UNREADABLE,
    '"(role:x"': UNREADABLE,
    '"not"': UNREADABLE,
    "\"'x'\"": UNREADABLE,
    '":"': f"{UNEVALUABLE}: (invalid syntax",
    '"role:x or a:%"': f"{UNEVALUABLE}a:% (incomplete format). Correct it.",
    '"role:%(x)d"': UNEVALUABLE,
    '"class:x"': UNEVALUABLE,
    '"roles.x:y"': UNEVALUABLE,
    '"http://me:s3cret@host/%20"': f"{UNEVALUABLE}http:... (incomplete format). Correct it.",
    # behind `not`
    '"not rule:gone"': f"{INVERTED}the rule gone does not exist. Remove this part.",
    '"role:x or (role:y and not (role:z or not rule:gone))"': f"{INVERTED}the rule gone does",
    '"not rule:a"\n"a": "role:x and rule:gone"': f"{INVERTED}the rule gone does not exist.",
    '"not rol:x"': f"{INVERTED}no token has the attribute rol. Remove",
    '"not project_id:%(project_id)s"': (
        f"{INVERTED}not every request has the project_id that project_id:%(project_id)s reads."
    ),
    '"not rule:project_reader_api"': f"{INVERTED}not every request has the project_id",
    '"not http://me:s3cret@host/%(project_id)s"': (
        f"{INVERTED}not every request has the project_id that http:... reads."
    ),
    # deep ones
    f'"{"not " * 150}role:x"': TOO_DEEP,
    f'"{"not (" * 150}role:x{")" * 150}"': TOO_DEEP,
    '"rule:r1"\n' + "".join(f'"r{n}": "rule:r{n + 1}"\n' for n in range(150)): TOO_DEEP,
    f'"{"not " * 5000}role:x"': "nested too deeply.",
}
ALWAYS = " allows every token, also one without roles"
WARNED = {
    '""': ALWAYS,
    "''": ALWAYS,
    '"@"': ALWAYS,
    '["@"]': ALWAYS,
    '"not !"': ALWAYS,
    '"role:x or @"': ALWAYS,
    '"True:True"': ALWAYS,
    '&open "@"\n"admin_api": *open': ALWAYS,
    '"rule:a"\n"a": "@ and (role:x or @)"': ALWAYS,
    '"rule:gone"\n"default": "@"': ALWAYS,
    '"rule:gone"': ": the rule gone does not exist; rule:gone allows nobody",
    '"rule:gone or role:x"\n"default": "role:x"': (
        ": the rule gone does not exist; rule:gone is decided by the default rule"
    ),
    '"rol:x"': ": no token has the attribute rol; rol:x allows nobody",
    '"rule:admin_or_project_reader_or_service_api"': (
        f": requests of {RULE} have no project_id; what compares it allows nobody"
    ),
    '"user_id:%(user_id)s or project_id:%(project_id)s"': " have no project_id and user_id; ",
}
SILENT = [
    '"!"',
    '"role:x"',
    "role:x",
    '"not role:guest"',
    '"(role:x and !) or (role:y and role:z)"',
    '[["role:x"], ["rule:admin_api", "role:y"], "role:z"]',
    "\"user_domain_id:x or is_admin_project:True or 'x':%(flavor)s and !\"",
    '"http://host/decide or role:x"',
]


def shortened(entry):
    return entry[:40]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "policy.yaml"


@pytest.fixture
def conf(path):
    return configured(oslo_policy__policy_file=str(path), oslo_policy__policy_dirs=[])


def is_allowed(rules, roles):
    try:
        rules.decisions().authorize(RULE, {}, {"roles": roles, "project_id": "p"})
    except exception.PolicyNotAuthorized:
        return False
    return True


@pytest.mark.parametrize("entry", REFUSED, ids=shortened)
def test_what_a_check_cannot_mean_is_refused_at_the_start(conf, path, caplog, entry):
    path.write_text(f'"admin_api": "role:x"\n"{RULE}": {entry}\n')
    with pytest.raises(RuntimeError, match=r"^The policy files cannot be loaded: ") as error:
        Policy(conf)
    place = f"{path}, line 2: the check of {RULE}"
    assert REFUSED[entry] in str(error.value)
    assert place in str(error.value)
    assert "s3cret" not in str(error.value)
    assert [
        each for each in caplog.records if each.exc_info or each.levelno >= logging.ERROR
    ] == []


@pytest.mark.parametrize("entry", REFUSED, ids=shortened)
def test_what_a_check_cannot_mean_is_refused_at_a_reload_and_logged_once(
    conf, path, caplog, entry
):
    path.write_text(f'"{RULE}": "role:x"\n')
    rules = Policy(conf)
    path.write_text(f'"{RULE}": {entry}\n')
    for _ in range(3):
        assert is_allowed(rules, ["x"])
        assert not is_allowed(rules, [])
    (line,) = [each for each in caplog.records if each.name == "placement.policy"]
    assert line.levelno == logging.ERROR
    assert REFUSED[entry] in line.getMessage()
    assert line.getMessage().endswith(" The previous rules stay in force.")
    path.write_text(f'"{RULE}": "role:y or role:z"\n')
    assert is_allowed(rules, ["y"])


@pytest.mark.parametrize("entry", WARNED)
def test_what_a_check_may_not_mean_is_in_force_with_a_warning(conf, path, caplog, entry):
    path.write_text(f'"{RULE}": {entry}\n')
    rules = Policy(conf)
    assert is_allowed(rules, []) is (WARNED[entry] is ALWAYS)
    (line,) = [each for each in caplog.records if each.name == "placement.policy"]
    assert line.levelno == logging.WARNING
    assert f"{path}, line 1: the check of {RULE}" in line.getMessage()
    assert WARNED[entry] in line.getMessage()


@pytest.mark.parametrize("entry", SILENT)
def test_other_checks_are_in_force_without_a_warning(conf, path, entry):
    path.write_text(f'"{RULE}": {entry}\n')
    enforcer, warnings = load(conf)
    assert [each for each in warnings if "flavor" not in each] == []
    assert enforcer.rules[RULE]


def test_an_alias_is_judged_as_what_it_stands_for(conf, path):
    path.write_text(f'"admin_api": &nothing\n"{RULE}": *nothing\n')
    with pytest.raises(RuntimeError) as error:
        load(conf)
    for line, name in ((1, "admin_api"), (2, RULE)):
        assert f"{path}, line {line}: the check of {name} is null" in str(error.value)


@pytest.mark.parametrize("text", ["", "# later\n", "---\n", "null\n", "{}\n"])
def test_a_file_may_be_empty(conf, path, text):
    path.write_text(text)
    assert load(conf)[1] == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("- a\n", " is not a mapping of rules to checks."),
        ("hello\n", " is not a mapping of rules to checks."),
        ("false\n", " is not a mapping of rules to checks."),
        ("[]\n", " is not a mapping of rules to checks."),
        ('"a": "role:x"\n"b: "c"\n"d": "e"\n', " is not valid YAML, line 3: "),
        ("\0", " is not valid YAML: "),
        ("a: 2026-13-01\n", " is not valid YAML: month must be in 1..12."),
        ('"a": *b\n', " is not valid YAML, line 1: found undefined alias 'b'."),
        ("[" * 5000, " is nested too deeply."),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(conf, path, text, reason):
    path.write_text(text)
    with pytest.raises(RuntimeError) as error:
        load(conf)
    assert f"{path}{reason}" in str(error.value)


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ('"a": "rule:a"\n', "a"),
        ('"a": "not rule:b"\n"b": "role:x or rule:a"\n', "a, b"),
        ('"default": "rule:gone"\n', "gone"),
        (
            '"admin_api": "rule:placement:usages"\n"placement:usages": "rule:admin_api"\n',
            "admin_api, placement:usages",
        ),
    ],
)
def test_rules_that_refer_to_each_other_are_refused(conf, path, text, rules):
    path.write_text(text)
    with pytest.raises(RuntimeError, match=f"refer to each other in a loop: {rules}[.]$"):
        load(conf)


def test_every_problem_of_every_file_is_reported(tmp_path):
    (tmp_path / "main.yaml").write_text(f'"{RULE}":\n"admin_api": []\n')
    (tmp_path / "policy.d").mkdir()
    (tmp_path / "policy.d" / "1.json").write_text(f'{{"service_api": null,\n"{RULE}": "x"}}')
    (tmp_path / "policy.d" / "2.yaml").symlink_to("gone")
    (tmp_path / "policy.d" / ".hidden.yaml").write_text("- a\n")
    (tmp_path / "policy.d" / "directory").mkdir()
    with pytest.raises(RuntimeError) as error:
        load(
            configured(
                oslo_policy__policy_file=str(tmp_path / "main.yaml"),
                oslo_policy__policy_dirs=[str(tmp_path / "policy.d")],
            )
        )
    for place in (
        f"main.yaml, line 1: the check of {RULE} is null",
        "main.yaml, line 2: the check of admin_api is []",
        "policy.d/1.json, line 1: the check of service_api is null",
        f"policy.d/1.json, line 2: the check of {RULE} cannot be read: 'x'",
        "policy.d/2.yaml cannot be read: No such file or directory.",
    ):
        assert f"{tmp_path}/{place}" in str(error.value)
    assert "hidden" not in str(error.value)


def test_a_hidden_main_file_is_judged(tmp_path):
    path = tmp_path / ".policy.yaml"
    path.write_text(f'"{RULE}":\n')
    with pytest.raises(RuntimeError, match=f"line 1: the check of {RULE} is null"):
        load(configured(oslo_policy__policy_file=str(path)))


def test_an_entry_that_is_defined_again_is_reported(conf, path):
    path.write_text(f'"{RULE}": "role:x"\n"service_api": "role:x"\n"{RULE}": "role:y"\n')
    enforcer, warnings = load(conf)
    assert warnings == [f"{path}, line 1: {RULE} has no effect, line 3 defines it again"]
    assert str(enforcer.rules[RULE]) == "role:y"


def test_later_files_and_merged_mappings_count_as_in_oslo_policy(tmp_path, path):
    path.write_text(f'"{RULE}": "@"\n')
    (tmp_path / "policy.d").mkdir()
    (tmp_path / "policy.d" / "2.yaml").write_text(f'<<: {{"{RULE}": "rule:mine"}}\n')
    (tmp_path / "policy.d" / "1.yaml").write_text(f'"{RULE}": "role:x"\n"mine": "role:y"\n')
    enforcer, warnings = load(
        configured(
            oslo_policy__policy_file=str(path),
            oslo_policy__policy_dirs=[str(tmp_path / "policy.d")],
        )
    )
    assert str(enforcer.rules[RULE]) == "rule:mine"
    assert warnings == []


def test_a_file_that_is_not_utf_8_is_refused(conf, path):
    path.write_bytes(f'"{RULE}": "role:x"\n'.encode("utf-16"))
    with pytest.raises(
        RuntimeError, match=f"{path} is not valid YAML: 'utf-8' codec can't decode"
    ):
        load(conf)


def test_a_rule_that_nothing_uses_is_reported_with_its_line(conf, path):
    path.write_text('"placement:usages": "rule:mine"\n"mine": "!"\n"placement:usage": "role:x"\n')
    assert load(conf)[1] == [f"{path}, line 3: placement:usage is no rule of the service"]


def test_a_changed_rule_that_no_rule_refers_to_has_no_effect(conf, path):
    path.write_text('"admin_api": "role:cloud_admin"\n')
    reason = "admin_api has no effect, because no rule of the service refers to it"
    assert load(conf)[1] == [f"{path}, line 1: {reason}"]
    path.write_text('"admin_api": "role:admin"\n')
    assert load(conf)[1] == []


@pytest.mark.parametrize("leaf", ["system_scope:all", "domain_id:default"])
def test_a_check_of_a_scope_that_is_refused_is_reported(conf, path, leaf):
    path.write_text(f'"{RULE}": "role:admin and {leaf}"\n')
    reason = f"all rules have the scope project; {leaf} allows nobody"
    assert load(conf)[1] == [f"{path}, line 1: the check of {RULE}: {reason}"]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_former_name_names_the_rules_that_it_replaces(conf, path):
    path.write_text('"rule:admin_api": "role:x"\n"service_api": "role:service"\n')
    enforcer, warnings = load(conf)
    replaced = [
        "admin_or_service_api",
        "project_reader_api",
        "admin_or_project_reader_or_service_api",
    ]
    assert warnings == [
        f"{path}, line 1: rule:admin_api replaces the checks of {', '.join(replaced)}"
    ]
    assert {str(enforcer.rules[name]) for name in replaced} == {"role:x"}


def test_a_changed_base_rule_names_the_operations_that_have_no_project(conf, path):
    path.write_text('"admin_or_service_api": "role:admin or project_id:%(project_id)s"\n')
    (warning,) = load(conf)[1]
    operations = [rule for rule in policies.list_rules() if hasattr(rule, "operations")]
    of_base = [
        rule.name
        for rule in operations
        if rule.check_str == policies.ADMIN_OR_SERVICE
        and not isinstance(rule, policies.ProjectRule)
    ]
    listed = f"{', '.join(of_base[:3])} and {len(of_base) - 3} more have no project_id;"
    assert f"line 1: the check of admin_or_service_api: requests of {listed}" in warning


def test_a_file_that_changes_while_it_is_read_is_not_in_force(conf, path, monkeypatch):
    path.write_text(f'"{RULE}": "role:x"\n')
    original = yaml.compose

    def composed(*args, **kwargs):
        path.write_text(f'"{RULE}":\n')
        return original(*args, **kwargs)

    monkeypatch.setattr(yaml, "compose", composed)
    with pytest.raises(RuntimeError, match="they changed while they were read"):
        load(conf)
