"""A fork runs a script as a new interpreter would."""

import os
import signal
import subprocess
from contextlib import closing

import psutil
import pytest

from placement.tests.support.preloaded import Commands
from placement.tests.support.waiting import wait_until

SCRIPT = """
import json, os, signal, sys, threading
print(json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ), threading.active_count()]))
print(sorted(os.listdir("/proc/self/fd")), signal.getsignal(signal.SIGTERM) == signal.SIG_DFL)
sys.stdout.flush()
sys.stdin.read()
sys.exit(3)
"""


@pytest.fixture(scope="module")
def commands():
    with closing(Commands("json")) as commands:
        yield commands


@pytest.fixture
def start(commands, tmp_path):
    """Return a function that starts the script, which waits for the end of its input."""
    (tmp_path / "script").write_text(SCRIPT)
    ends = []

    def start(*arguments):
        reader, writer = os.pipe()
        ends.append(writer)
        with os.fdopen(reader) as stdin, (tmp_path / "output").open("w") as output:
            return commands.start(
                [str(tmp_path / "script"), *arguments],
                folder=tmp_path,
                environ={"A": "b"},
                streams=(stdin, output, output),
            )

    yield start
    for writer in ends:
        os.close(writer)


def printed(tmp_path):
    return (tmp_path / "output").read_text().splitlines()


def test_arguments_folder_environment_and_exit_code_are_those_of_the_command(commands, tmp_path):
    (tmp_path / "script").write_text(SCRIPT)
    command = [str(tmp_path / "script"), "c", "d"]
    result = commands.run(command, folder=tmp_path, environ={"A": "b"}, timeout_seconds=60)
    assert result.stderr == ""
    assert result.stdout == f'[["c", "d"], "{tmp_path}", {{"A": "b"}}, 1]\n' + (
        "['0', '1', '2', '3'] True\n"  # the last is the folder that is listed
    )
    assert result.returncode == 3


def test_a_command_that_takes_too_long_is_killed(commands, tmp_path):
    (tmp_path / "script").write_text(
        "import os, signal; open('pid', 'w').write(str(os.getpid())); signal.pause()"
    )
    with pytest.raises(subprocess.TimeoutExpired):
        commands.run([str(tmp_path / "script")], folder=tmp_path, environ={}, timeout_seconds=2)
    pid = tmp_path / "pid"
    assert not pid.exists() or not psutil.pid_exists(int(pid.read_text()))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_one_of_two(start, tmp_path, number):
    first, second = start(), start()
    wait_until(lambda: printed(tmp_path))
    first.send_signal(number)
    assert first.wait(60) == -number
    first.kill()  # it has no process any more
    assert second.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        second.wait(0.01)
    second.kill()
    assert second.wait(60) == -signal.SIGKILL


def test_a_fork_has_no_descriptors_of_others(start, tmp_path):
    others = [start() for _ in range(2)]
    (tmp_path / "output").unlink()
    process = start()
    wait_until(lambda: len(printed(tmp_path)) == 2)
    assert printed(tmp_path)[1] == "['0', '1', '2', '3'] True"
    for each in (*others, process):
        each.terminate()
        each.wait(60)


def test_test_processes_share_the_process(commands, tmp_path):
    (tmp_path / "script").write_text("import os; print(os.getppid())")
    with closing(Commands("json")) as others:
        first, second = (
            each.run([str(tmp_path / "script")], folder=tmp_path, environ={}, timeout_seconds=60)
            for each in (commands, others)
        )
    assert first.stdout == second.stdout != ""
