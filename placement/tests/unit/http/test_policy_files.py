"""Errors in policy files are sentences that name the file and the line."""

import pytest

from placement.http.policy_files import problems

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
    '\n"a": true\n': ", line 2: the check of a is True, which is no text. Write it in quotes",
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
    assert not caplog.records


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
