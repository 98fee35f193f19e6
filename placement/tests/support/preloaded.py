"""Runs commands in forks of a process that has imported their modules.

Each command runs its installed script in a process of its own, with its own environment, directory
and output, but without the second that the imports take, and the third of a second that the end
of an interpreter with so many modules takes. All test processes of a run share the process: the
first ``Commands`` starts it. The module, run as a program, is the process. It has one thread, and
no connections to databases: a fork inherits modules only.
"""

import atexit
import fcntl
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from typing import IO, Any, NamedTuple

OF_PLACEMENT = ("placement.cmd.api", "placement.cmd.manage", "placement.cmd.status")


class Commands:
    """A connection to the process that forks the commands."""

    def __init__(self, *modules: str) -> None:
        """Connect to the process of the run that has imported the modules, or start it."""
        path = _run().folder / f"{modules[0]}.socket"
        with path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                _start(path, modules)
        self._connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._connection.connect(str(path))

    def close(self) -> None:
        """Close the connection; the process ends with the run."""
        self._connection.close()

    def run(
        self,
        command: list[str],
        *,
        folder: Path,
        environ: dict[str, str],
        timeout_seconds: float,
        stdin: str = "",
    ) -> "subprocess.CompletedProcess[str]":
        """Return the result of a script with arguments.  Raises: subprocess.TimeoutExpired."""
        with ExitStack() as files:
            streams = [files.enter_context(tempfile.TemporaryFile("w+")) for _ in range(3)]
            streams[0].write(stdin)
            streams[0].seek(0)
            process = self.start(command, folder=folder, environ=environ, streams=streams)
            try:
                code = process.wait(timeout_seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise
            for stream in streams:
                stream.seek(0)
            _, output, errors = (stream.read() for stream in streams)
            return subprocess.CompletedProcess(command, code, output, errors)

    def start(
        self,
        command: list[str],
        *,
        folder: Path,
        environ: dict[str, str],
        streams: Sequence[IO[Any]],
    ) -> "Process":
        """Start a script with arguments; return its process.

        ``streams`` are its standard input, output and errors.
        """
        document = json.dumps({"command": command, "folder": str(folder), "environ": environ})
        status, other_end = socket.socketpair(type=socket.SOCK_SEQPACKET)
        with other_end:
            numbers = [*(stream.fileno() for stream in streams), other_end.fileno()]
            socket.send_fds(self._connection, [document.encode()], numbers)
        return Process(command, status)


class Process:
    """A started command, with the part of the interface of ``subprocess.Popen`` that tests use."""

    def __init__(self, command: list[str], status: socket.socket) -> None:
        self.args = command
        self.returncode: int | None = None
        self._status = status
        self.pid = self._receive()

    def _receive(self) -> int:
        number = self._status.recv(16)
        if not number:
            raise RuntimeError("The process that forks the commands has ended.")
        return int(number)

    def wait(self, timeout: float | None = None) -> int:
        """Wait until the process ends; return its exit code.  Raises: TimeoutExpired."""
        if self.returncode is None:
            self._status.settimeout(timeout)
            try:
                self.returncode = self._receive()
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired(self.args, timeout or 0) from None
            self._status.close()
        return self.returncode

    def poll(self) -> int | None:
        """Return the exit code, or None if the process still runs."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)


class Run(NamedTuple):
    """What the test processes of a run have in common: a folder, and the first process."""

    folder: Path
    pid: int


_shared: list[Run] = []


def share(folder: Path, pid: int) -> None:
    """Use one process for each set of modules in all test processes of a run."""
    _shared[:] = [Run(folder, pid)]


@cache
def _run_of_this_process() -> Run:
    folder = tempfile.TemporaryDirectory(prefix="placement-run-")
    atexit.register(folder.cleanup)
    return Run(Path(folder.name), os.getpid())


def _run() -> Run:
    return _shared[0] if _shared else _run_of_this_process()


def _start(path: Path, modules: Sequence[str]) -> None:
    """Start the process, which imports the modules and listens on the path."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(path))
        listener.listen()
        arguments = [str(listener.fileno()), str(_run().pid), *modules]
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", __name__, *arguments],
            pass_fds=[listener.fileno()],
            stdin=subprocess.DEVNULL,
        )
    process.returncode = 0  # it outlives this process on purpose


@cache
def of_placement() -> Commands:
    """Return the connection to the process that forks the commands of Placement."""
    commands = Commands(*OF_PLACEMENT)
    atexit.register(commands.close)
    return commands


def start_api(
    arguments: Sequence[str], *, folder: Path, environ: dict[str, str], output: IO[Any]
) -> Process:
    """Start ``placement-api`` with its output in a file; return its process."""
    script = Path(sys.executable).with_name("placement-api")
    with Path(os.devnull).open() as nothing:
        return of_placement().start(
            [str(script), *arguments],
            folder=folder,
            environ=environ,
            streams=(nothing, output, output),
        )


class Child(NamedTuple):
    """A fork, and the socket that its process id and exit code are sent to."""

    pid: int
    status: socket.socket


def serve(listener: socket.socket, run: int) -> dict[str, Any] | None:
    """Fork for each command; return it in the child, and None once the run has ended.

    ``run`` is a descriptor of the first process of the run.
    """
    clients: dict[int, socket.socket] = {}
    children: dict[int, Child] = {}  # by descriptor of the process
    while True:
        ready, _, _ = select.select([run, listener, *clients, *children], [], [])
        if run in ready:
            return None
        if listener in ready:
            client, _ = listener.accept()
            clients[client.fileno()] = client
        for descriptor in children.keys() & ready:
            report_exit(descriptor, children.pop(descriptor))
        for descriptor in clients.keys() & ready:
            message, descriptors, *_ = socket.recv_fds(clients[descriptor], 1 << 20, 4)
            if not message:
                clients.pop(descriptor).close()
                continue
            child = fork(descriptors)
            if child is None:
                close(children)
                for each in (listener, *clients.values()):
                    each.close()
                os.close(run)
                command: dict[str, Any] = json.loads(message)
                return command
            children[os.pidfd_open(child.pid)] = child


def fork(descriptors: list[int]) -> Child | None:
    """Fork; return None in the child, whose standard streams are the first three descriptors."""
    *streams, status = descriptors
    with ExitStack() as opened:
        for stream in streams:
            opened.callback(os.close, stream)
        pid = os.fork()
        if pid == 0:
            os.close(status)
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
            return None
    child = Child(pid, socket.socket(fileno=status))
    with suppress(BrokenPipeError):  # the test has ended
        child.status.sendall(str(pid).encode())
    return child


def report_exit(descriptor: int, child: Child) -> None:
    """Wait for the child, which has ended, and send its exit code."""
    os.close(descriptor)
    _, status = os.waitpid(child.pid, 0)
    with child.status, suppress(BrokenPipeError):
        child.status.sendall(str(os.waitstatus_to_exitcode(status)).encode())


def close(children: dict[int, Child]) -> None:
    """Close what belongs to other children."""
    for descriptor, child in children.items():
        os.close(descriptor)
        child.status.close()


def main() -> None:
    """Run commands until the run ends."""
    listener, pid, *modules = sys.argv[1:]
    run = os.pidfd_open(int(pid))
    for name in modules:
        importlib.import_module(name)
    gc.freeze()  # a collection in a fork would copy all of the memory
    with socket.socket(fileno=int(listener)) as listening:
        command = serve(listening, run)
    if command is not None:
        os.environ.clear()
        os.environ.update(command["environ"])
        os.chdir(command["folder"])
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115  possibly a terminal
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
