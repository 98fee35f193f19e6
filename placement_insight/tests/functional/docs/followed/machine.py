"""A container with the files of this machine, for commands that change the system.

systemd-nspawn boots it on an overlay of the root file system: systemd manages services, the
network has only the loopback interface, and nothing is left when it stops.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

import psutil

from placement.tests.support import docs
from placement.tests.support.processes import BIN, skip_untested

NEEDS = {
    "systemd-nspawn": "apt-get install systemd-container",
    "/lib/systemd/systemd": "apt-get install systemd",
    "unshare": "apt-get install util-linux",
}
SECONDS_TO_BOOT = 60
SECONDS_TO_LEAVE = 20
# Arguments: folder for the overlay, then those of systemd-nspawn.
BOOT = """
for hierarchy in /sys/fs/cgroup /sys/fs/cgroup/systemd /sys/fs/cgroup/unified; do
    if [ -e "$hierarchy/cgroup.procs" ]; then
        mkdir "$hierarchy/documented-$$"
        echo $$ > "$hierarchy/documented-$$/cgroup.procs"
    fi
done
mount -t tmpfs tmpfs "$1"
cd "$1"
mkdir upper work root
mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work root
rm -f root/etc/fstab
printf '[Unit]\\nDescription=No service is started\\n' > root/etc/systemd/system/idle.target
printf 'APT::Get::Assume-Yes "true";\\n' > root/etc/apt/apt.conf.d/99documented
shift
exec systemd-nspawn --directory=root "$@" --boot -- --unit=idle.target
"""
# Debian's Python before others, as on a machine where nothing else is installed.
PATH = f"/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/bin:{BIN}"


def skip_without_programs() -> None:
    """Skip the test if a container cannot be started here; on CI, fail."""
    if os.getuid():
        skip_untested("a container needs root")
    for program, package in NEEDS.items():
        if shutil.which(program) is None:
            skip_untested(f"{program} is not installed: {package}")


class Machine:
    """A running container; ``visible`` are paths that commands in it can read."""

    def __init__(self, folder: Path, *visible: Path):
        self._log = folder / "machine.log"
        overlay = folder / "overlay"
        overlay.mkdir()
        bound = [docs.ROOT, Path(sys.prefix), Path(sys.base_prefix), *visible]
        options = [
            *("--quiet", "--register=no", "--keep-unit", "--private-network"),
            *(f"--machine=documented-{os.getpid()}", "--resolv-conf=bind-host"),
            *(f"--bind-ro={path.resolve()}" for path in bound),
        ]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                ["unshare", "--mount", "sh", "-ec", BOOT, "sh", overlay, *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self._wait()

    def _wait(self) -> None:
        """Wait until systemd has started."""
        deadline = time.monotonic() + SECONDS_TO_BOOT
        while True:
            booted = self._first and self._run("systemctl is-system-running --wait", {}, None)
            if booted and booted.stdout.strip() in {"running", "degraded"}:
                return
            assert self._process.poll() is None, self._log.read_text()
            assert time.monotonic() < deadline, self._log.read_text()
            time.sleep(0.1)

    @property
    def _first(self) -> psutil.Process | None:
        """The first process of the container."""
        below = psutil.Process(self._process.pid).children(recursive=True)
        return next((process for process in below if process.name() == "systemd"), None)

    def close(self) -> None:
        """Kill all processes of the container, and remove its control groups.

        An orderly shutdown takes up to 20 seconds, and no file of the container is kept.
        """
        if first := self._first:
            first.kill()  # the kernel ends all processes of its namespace
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(20)
        for group in Path("/sys/fs/cgroup").rglob(f"documented-{self._process.pid}"):
            for folder in [*sorted(group.rglob("*/"), reverse=True), group]:
                _remove(folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def run(self, *lines: str, online: bool = False, stdin: str = "", **variables: str) -> str:
        """Run lines of the shell as root; return their output.

        With ``online`` they use the network of this machine, to install packages.

        Raises: AssertionError with the output if one fails.
        """
        result = self._run("\n".join(lines), variables, stdin, online=online)
        assert result.returncode == 0, result.stdout[-6000:] + result.stderr[-6000:]
        return result.stdout

    def _run(
        self, script: str, variables: dict[str, str], stdin: str | None, *, online: bool = False
    ) -> "subprocess.CompletedProcess[str]":
        assert self._first
        return subprocess.run(
            [*self.entrance(online=online), "bash", "-euxo", "pipefail", "-c", script],
            env=self.environment() | variables,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )

    def entrance(self, *, online: bool = False) -> list[str]:
        """Return the command that starts another one in the container."""
        assert self._first
        namespaces = ["--mount", "--pid", "--uts", "--ipc", *([] if online else ["--net"])]
        target = f"--target={self._first.pid}"
        # nsenter enters the root directory, but stays in a directory outside of it
        inside = ["sh", "-c", 'cd / && exec "$@"', "sh"]
        return ["nsenter", target, *namespaces, "--root", "--", *inside]

    @staticmethod
    def environment() -> dict[str, str]:
        """Return the variables of this process without those of the service and the client."""
        kept = {name: text for name, text in os.environ.items() if not name.startswith("OS_")}
        return kept | {"PATH": PATH, "HOME": "/root", "DEBIAN_FRONTEND": "noninteractive"}


def _remove(group: Path) -> None:
    """Remove a control group as soon as the last process has left it."""
    deadline = time.monotonic() + SECONDS_TO_LEAVE
    while True:
        try:
            return group.rmdir()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
