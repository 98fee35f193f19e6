"""Errors in policy files are sentences that name the file and the line."""

import pytest
from oslo_config import cfg
from oslo_policy import opts

from placement.policy import Policy
from placement.policy.files import problems, unknown_rules

KNOWN = ["placement:usages", "admin_api"]
WRONG = {
    '"a": "role:x"\n"placement:usages": "role:x orr role:y"\n': (
        ", line 2: the check of placement:usages cannot be read, and refuses everyone: "
        "role:x orr role:y"
    ),
    '"a": "role:x or y"\n': (
        ", line 1: the check of a cannot be read, and refuses everyone: role:x or y"
    ),
    '"a": "rule:b"\n': ", line 1: the check of a refers to the rule b, which does not exist",
    '\n"a": true\n': ", line 2: the check of a is True, which is not text. Write it in quotes",
    "- a\n": " is not a mapping of rules to checks",
    '"a": "role:x"\n"b: "c"\n"d": "e"\n': " is not valid YAML, line ",
}
RIGHT = [
    "",
    '"placement:usages": "@"\n"a": "!"\n"b": "rule:a or rule:admin_api"\n',
    '"a": "role:x and (! or role:y)"\n',
    '"a": []\n"b": [["role:x"], ["rule:a"]]\n',
]


@pytest.mark.parametrize("text", WRONG)
def test_a_mistake_is_reported_with_file_and_line(tmp_path, text, caplog):
    path = tmp_path / "policy.yaml"
    path.write_text(text)
    (problem,) = problems([str(tmp_path), str(path)], KNOWN)
    assert problem.startswith(f"{path}{WRONG[text]}")
    assert [each.name for each in caplog.records if each.name.startswith("oslo_policy")] == []


@pytest.mark.parametrize("text", RIGHT)
def test_a_correct_file_has_no_problems(tmp_path, text):
    path = tmp_path / "policy.yaml"
    path.write_text(text)
    assert list(problems([str(path)], KNOWN)) == []


def test_files_that_are_not_read_are_not_checked(tmp_path):
    hidden = tmp_path / ".policy.yaml.swp"
    hidden.write_text("- a\n")
    assert list(problems([str(hidden)], KNOWN)) == []


def test_a_rule_of_another_file_may_be_referred_to(tmp_path):
    first, second = tmp_path / "1.yaml", tmp_path / "2.yaml"
    first.write_text('"a": "rule:b"\n')
    second.write_text('"b": "role:x"\n')
    assert list(problems([str(first), str(second)], KNOWN)) == []


def test_a_file_that_cannot_be_opened_is_reported(tmp_path):
    (problem,) = problems([str(tmp_path / "gone.yaml")], KNOWN)
    assert "No such file" in problem


def test_a_rule_that_nothing_uses_is_reported_with_its_line(tmp_path):
    first, second = tmp_path / "1.yaml", tmp_path / "2.yaml"
    first.write_text('"placement:usages": "rule:mine"\n"placement:usage": "role:x"\n')
    second.write_text('"mine": "role:x"\n"admin_api": "!"\n')
    (tmp_path / "3.yaml").write_text("a: [\n")
    paths = [str(tmp_path), *map(str, sorted(tmp_path.iterdir())), str(tmp_path / "gone")]
    assert list(unknown_rules(paths, KNOWN)) == [
        f"{first}, line 2: placement:usage is no rule of the service"
    ]


def policy_of(tmp_path, text):
    path = tmp_path / "policy.yaml"
    path.write_text(text)
    conf = cfg.ConfigOpts()
    opts.set_defaults(conf)
    conf.set_override("policy_file", str(path), "oslo_policy")
    conf([], project="placement", default_config_files=[])
    return Policy(conf)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("- a\n", "is not a mapping of rules to checks"),
        ("hello\n", "is not a mapping of rules to checks"),
        ('"a": 5\n', "line 1: the check of a is 5, which is not text"),
        (f'"a": "{"not " * 5000}role:x"\n', "cannot be read, and refuses everyone"),
        ('"a": "rule:a"\n', "refer to each other in a loop: a."),
        ('"a": "not rule:b"\n"b": "role:x or rule:a"\n', "in a loop: a, b."),
        (
            '"admin_api": "rule:placement:usages"\n"placement:usages": "rule:admin_api"\n',
            "in a loop: admin_api, placement:usages.",
        ),
    ],
    ids=["list", "text", "number", "deep", "self", "two", "default"],
)
def test_the_service_does_not_start_with_an_invalid_file(tmp_path, text, reason):
    with pytest.raises(RuntimeError, match=r"^The policy files cannot be read: ") as error:
        policy_of(tmp_path, text)
    assert reason in str(error.value)
    assert str(tmp_path / "policy.yaml") in str(error.value)


@pytest.mark.parametrize("text", RIGHT)
def test_the_service_starts_with_a_correct_file(tmp_path, text):
    policy_of(tmp_path, text).decisions()
