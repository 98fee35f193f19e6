"""Each command reports each wrong configuration in one sentence, without a traceback."""

import json
import os
import sys
import tempfile
from pathlib import Path

import pytest

from placement import terminal
from placement.cmd import api, manage, status
from placement.tests.support.processes import IS_ROOT, skip_unless_readable_by_nobody

MANAGE = [
    ("db", "sync"),
    ("db", "version"),
    ("db", "stamp", "head"),
    ("db", "online_data_migrations"),
]
COMMANDS = [
    *(("placement-manage", *arguments) for arguments in MANAGE),
    ("placement-status", "upgrade", "check"),
    ("placement-api", "--port", "0"),
]
EXIT_CODES = {"placement-manage": 1, "placement-status": 255, "placement-api": 1}
WORKING = (
    "[placement_database]\nconnection = sqlite:///{folder}/p.sqlite\n"
    "[api]\nauth_strategy = noauth2\n"
)
NOBODY = 65534
MYSQL = "[placement_database]\nmax_retries = 0\nconnection = mysql+pymysql://u:secret@{where}\n"
PROBLEMS = {
    "not-utf8": (b"[api]\nauth_strategy = \xff\n", "not UTF-8 text: byte 0xff in line 2"),
    "binary": (bytes(range(256)), "not UTF-8 text: byte 0x80"),
    "invalid-value": (
        WORKING + "[placement_database]\nmax_retries = many\n",
        "Value for option max_retries from {folder}/placement.conf is not valid",
    ),
    "file-in-place-of-directory": (
        WORKING.replace("p.sqlite", "placement.conf/p.sqlite"),
        "unable to open database file",
    ),
    "missing-directory": (
        WORKING.replace("p.sqlite", "nowhere/p.sqlite"),
        "unable to open database file",
    ),
    "directory": (WORKING.replace("/p.sqlite", ""), "unable to open database file"),
    "not-a-database": (
        WORKING.replace("p.sqlite", "placement.conf"),
        "file is not a database",
    ),
    "unknown-backend": (
        "[placement_database]\nconnection = oracle://u:secret@db/placement\n",
        "oracle is none of mysql",
    ),
    "unknown-parameter": (
        MYSQL.format(where="127.0.0.1:1/p?nonsense=1"),
        "unexpected keyword argument 'nonsense'",
    ),
    "port": (MYSQL.format(where="127.0.0.1:port/p"), "its port is not a number"),
    "at-sign-in-password": (
        MYSQL.format(where="127.0.0.1/p").replace("u:", "u:pass@"),
        "its host has the character @",
    ),
    "at-sign-and-slash-in-password": (
        MYSQL.format(where="127.0.0.1/p").replace("u:", "u:pass@wo/rd"),
        "its database has the character @",
    ),
    "closed-port": (MYSQL.format(where="127.0.0.1:1/p"), "The database is not available"),
}
OF_LOGS = {
    "log-directory": ("log_file = {folder}/nowhere/x.log", "nowhere/x.log: No such file"),
    "log-configuration": ("log_config_append = {folder}/nowhere.conf", "nowhere.conf"),
}


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Return a function that runs a command, and returns its exit code and its error."""
    monkeypatch.setenv("OS_PLACEMENT_CONFIG_DIR", str(tmp_path))

    def run(program, *arguments):
        monkeypatch.setattr(sys, "argv", [program, *arguments])
        mains = {"placement-manage": manage, "placement-status": status, "placement-api": api}
        code = mains[program].main()
        printed = capsys.readouterr()
        assert "Traceback" not in printed.out + printed.err
        return code, printed.err

    return run


def configure(folder, content):
    """Write placement.conf; text may name the folder."""
    if isinstance(content, str):
        content = content.replace("{folder}", str(folder)).encode()
    (folder / "placement.conf").write_bytes(content)


def check_reported(run, command, text):
    """Check that a command fails with one sentence that contains the text."""
    code, error = run(*command)
    assert code == EXIT_CODES[command[0]]
    (line,) = [line for line in error.splitlines() if line.startswith(f"{command[0]}: ")]
    assert text in line
    assert "secret" not in error


each_command = pytest.mark.parametrize("command", COMMANDS, ids=" ".join)


@each_command
@pytest.mark.parametrize("name", PROBLEMS)
def test_wrong_configuration(run, tmp_path, command, name):
    content, text = PROBLEMS[name]
    configure(tmp_path, content)
    check_reported(run, command, text.replace("{folder}", str(tmp_path)))


@each_command
def test_directory_in_place_of_the_file(run, tmp_path, command):
    (tmp_path / "placement.conf").mkdir()
    check_reported(run, command, f"{tmp_path}/placement.conf: Is a directory.")


@pytest.mark.parametrize(
    "command", [each for each in COMMANDS if each[0] != "placement-status"], ids=" ".join
)
@pytest.mark.parametrize("name", OF_LOGS)
def test_logs_that_cannot_be_written_are_reported(run, tmp_path, command, name):
    options, text = OF_LOGS[name]
    configure(tmp_path, f"[DEFAULT]\n{options}\n{WORKING}")
    check_reported(run, command, text)


def test_invalid_policy_file(run, tmp_path):
    (tmp_path / "policy.yaml").write_text("a: [\n")
    configure(tmp_path, WORKING + "[oslo_policy]\npolicy_file = {folder}/policy.yaml\n")
    assert run("placement-manage", "db", "sync")[0] == 0
    check_reported(run, COMMANDS[-1], f"{tmp_path}/policy.yaml is not valid YAML, line 2")


@pytest.mark.parametrize(
    ("text", "code", "problem"),
    [
        ("a: [\n", 2, "is not valid YAML, line 2"),
        ('"placement:usages": !\n', 2, "line 1: the check of placement:usages is null"),
        ('"placement:usages": "not rule:b"\n', 2, "because the rule b does not exist"),
        ('"placement:usages": "rule:b"\n', 1, "the rule b does not exist; rule:b allows nobody."),
        ('"placement:usage": "!"\n', 1, "placement:usage is no rule of the service. Correct"),
        ('"placement:usages": "@"\n', 1, "line 1: the check of placement:usages allows every"),
        ('"placement:traits:list": "user_id:%(user_id)s"\n', 1, " have no user_id; "),
        ('"placement:usages": "role:x or project_id:%(project_id)s"\n', 0, ""),
    ],
)
def test_upgrade_check_reports_mistakes_in_policy_files(
    run, tmp_path, *, capsys, text, code, problem
):
    (tmp_path / "policy.yaml").write_text(text)
    configure(tmp_path, WORKING + "[oslo_policy]\npolicy_file = {folder}/policy.yaml\n")
    assert run("placement-manage", "db", "sync")[0] == 0
    assert status.main(["upgrade", "check", "--json"]) == code
    checks = json.loads(capsys.readouterr().out)["checks"]
    (details,) = [check["details"] for check in checks if check["check"] == "Policy Rules"]
    assert problem in (details or "")


@pytest.mark.skipif(not IS_ROOT, reason="NOT TESTED: only root can become another user")
def test_configuration_without_read_permission(capfd):
    """In a child process, which gives up its privileges."""
    skip_unless_readable_by_nobody()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        configure(folder, WORKING)
        (folder / "placement.conf").chmod(0)
        child = os.fork()
        if not child:
            code = 99
            try:
                os.environ["OS_PLACEMENT_CONFIG_DIR"] = name
                os.setuid(NOBODY)
                code = manage.main(["db", "version"])
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
        assert f"{name}/placement.conf" in capfd.readouterr().err


@pytest.mark.parametrize("program", ["placement-manage", "placement-status"])
@pytest.mark.parametrize("where", ["placement.conf.register_opts", "placement.db_api.opened"])
def test_an_interrupted_command(run, tmp_path, monkeypatch, program, where):
    """Also while it reads which options there are, which imports the add-on."""

    def interrupted(*_):
        raise KeyboardInterrupt

    configure(tmp_path, WORKING)
    monkeypatch.setattr(where, interrupted)
    words = ["db", "sync"] if program == "placement-manage" else ["upgrade", "check"]
    assert run(program, *words) == (terminal.INTERRUPTED, f"{program}: interrupted\n")
