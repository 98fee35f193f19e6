"""Runs commands in forks of a process that has imported their modules.

Each command runs its installed script in a process of its own, with its own environment, directory
and output, but without the second that the imports take. ``Commands`` starts the process; the
module, run as a program, is the process.
"""

import importlib
import json
import os
import runpy
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

MODULES = ("placement.cmd.api", "placement.cmd.manage", "placement.cmd.status")


class Commands:
    """The process that runs the commands, one after another."""

    def __init__(self) -> None:
        self._connection, other_end = socket.socketpair()
        with other_end:
            self._process = subprocess.Popen(
                [sys.executable, "-W", "ignore", "-m", __name__, str(other_end.fileno())],
                pass_fds=[other_end.fileno()],
                stdin=subprocess.DEVNULL,
            )

    def close(self) -> None:
        """End the process."""
        self._connection.close()
        self._process.kill()
        self._process.wait()

    def run(
        self, command: list[str], *, folder: Path, environ: dict[str, str], timeout_seconds: float
    ) -> "subprocess.CompletedProcess[str]":
        """Return the result of a script with arguments.  Raises: TimeoutError."""
        document = json.dumps({"command": command, "folder": str(folder), "environ": environ})
        with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
            descriptors = [output.fileno(), errors.fileno()]
            socket.send_fds(self._connection, [document.encode()], descriptors)
            self._connection.settimeout(timeout_seconds)
            code = int(self._connection.recv(16))
            output.seek(0)
            errors.seek(0)
            return subprocess.CompletedProcess(command, code, output.read(), errors.read())


def serve(connection: socket.socket) -> dict[str, Any] | None:
    """Fork for each command; return it in the child, and None once no more commands come."""
    while True:
        message, descriptors, *_ = socket.recv_fds(connection, 1 << 20, 2)
        if not message:
            return None
        child = os.fork()
        if child == 0:
            for number, descriptor in enumerate(descriptors, start=1):
                os.dup2(descriptor, number)
            command: dict[str, Any] = json.loads(message)
            return command
        for descriptor in descriptors:
            os.close(descriptor)
        _, status = os.waitpid(child, 0)
        connection.sendall(str(os.waitstatus_to_exitcode(status)).encode())


def main() -> None:
    """Run commands until the other end of the socket is closed."""
    for name in MODULES:
        importlib.import_module(name)
    with socket.socket(fileno=int(sys.argv[1])) as connection:
        command = serve(connection)
    if command is not None:
        os.environ.clear()
        os.environ.update(command["environ"])
        os.chdir(command["folder"])
        sys.argv = command["command"]
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
