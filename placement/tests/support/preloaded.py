"""Runs commands in forks of a process that has imported their modules.

Each command runs its installed script in a process of its own, with its own environment, directory
and output, but without the second that the imports take, and the third of a second that the end
of an interpreter with so many modules takes. ``Commands`` starts the process; the module, run as a
program, is the process.
"""

import atexit
import gc
import importlib
import json
import os
import runpy
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

OF_PLACEMENT = ("placement.cmd.api", "placement.cmd.manage", "placement.cmd.status")


class Commands:
    """The process that runs the commands, one after another."""

    def __init__(self, *modules: str) -> None:
        """Start the process, which imports the modules."""
        self._connection, other_end = socket.socketpair()
        module = [sys.executable, "-W", "ignore", "-m", __name__]
        with other_end:
            self._process = subprocess.Popen(
                [*module, str(other_end.fileno()), *modules],
                pass_fds=[other_end.fileno()],
                stdin=subprocess.DEVNULL,
            )

    def close(self) -> None:
        """End the process."""
        self._connection.close()
        self._process.kill()
        self._process.wait()

    def run(
        self,
        command: list[str],
        *,
        folder: Path,
        environ: dict[str, str],
        timeout_seconds: float,
        stdin: str = "",
    ) -> "subprocess.CompletedProcess[str]":
        """Return the result of a script with arguments.  Raises: TimeoutError."""
        document = json.dumps({"command": command, "folder": str(folder), "environ": environ})
        with ExitStack() as files:
            streams = [files.enter_context(tempfile.TemporaryFile("w+")) for _ in range(3)]
            streams[0].write(stdin)
            streams[0].seek(0)
            numbers = [stream.fileno() for stream in streams]
            socket.send_fds(self._connection, [document.encode()], numbers)
            self._connection.settimeout(timeout_seconds)
            code = int(self._connection.recv(16))
            for stream in streams:
                stream.seek(0)
            _, output, errors = (stream.read() for stream in streams)
            return subprocess.CompletedProcess(command, code, output, errors)


def serve(connection: socket.socket) -> dict[str, Any] | None:
    """Fork for each command; return it in the child, and None once no more commands come."""
    while True:
        message, descriptors, *_ = socket.recv_fds(connection, 1 << 20, 3)
        if not message:
            return None
        child = os.fork()
        if child == 0:
            for number, descriptor in enumerate(descriptors):
                os.dup2(descriptor, number)
            command: dict[str, Any] = json.loads(message)
            return command
        for descriptor in descriptors:
            os.close(descriptor)
        _, status = os.waitpid(child, 0)
        connection.sendall(str(os.waitstatus_to_exitcode(status)).encode())


def main() -> None:
    """Run commands until the other end of the socket is closed."""
    for name in sys.argv[2:]:
        importlib.import_module(name)
    gc.freeze()  # a collection in a fork would copy all of the memory
    with socket.socket(fileno=int(sys.argv[1])) as connection:
        command = serve(connection)
    if command is not None:
        os.environ.clear()
        os.environ.update(command["environ"])
        os.chdir(command["folder"])
        sys.argv = command["command"]
        end(exit_code_of_script(sys.argv[0]))


def exit_code_of_script(path: str) -> int:
    """Run a script; return the exit code that Python would have."""
    try:
        runpy.run_path(path, run_name="__main__")
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            return error.code or 0
        print(error.code, file=sys.stderr)
        return 1
    except BaseException:  # Python prints it and exits
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def end(code: int) -> None:
    """End this process as Python does, but leave its memory to the operating system."""
    for thread in threading.enumerate():
        if thread is not threading.main_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code & 0xFF)


if __name__ == "__main__":
    main()
