"""The programs start in ``placement.terminal``: Ctrl-C ends their imports without a traceback."""

import os
import signal
import subprocess
import sys
import tomllib

import pytest

from placement.tests.support.processes import ROOT

# sends Ctrl-C when the program imports its first library
PROGRAM = """
import os, signal, sys
class Interrupting:
    def find_spec(self, name, path, target=None):
        if name == "{library}":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
from placement import terminal
sys.argv = ["{program}", "--help"]
sys.exit(terminal.{program}())
"""
LIBRARIES = {
    "api": "oslo_config",
    "manage": "sqlalchemy",
    "status": "numpy",
    "compare": "zlib",
}


def run(program, library, **options):
    text = PROGRAM.format(program=program, library=library)
    command = [sys.executable, "-c", text]
    return subprocess.run(command, check=False, capture_output=True, text=True, **options)


@pytest.mark.parametrize(("program", "library"), LIBRARIES.items())
def test_ctrl_c_during_imports_shows_no_traceback(program, library):
    result = run(program, library)
    code = 0 if program == "api" else -signal.SIGINT  # a server that is stopped has succeeded
    assert (result.returncode, result.stdout, result.stderr) == (code, "", "")


def test_ctrl_c_is_ignored_in_the_background():
    ignore = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)}
    assert run("manage", "sqlalchemy", **ignore).returncode == 0


def test_all_programs_start_there():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    started = {f"placement-{name}": f"placement.terminal:{name}" for name in LIBRARIES}
    assert project["scripts"].items() <= started.items()
    assert started.keys() - project["scripts"].keys() == {"placement-api"}
    assert "terminal.api()" in (ROOT / "bin" / "placement-api").read_text()
    assert os.access(ROOT / "bin" / "placement-api", os.X_OK)
