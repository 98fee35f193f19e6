"""The container image: built from its Containerfile, and run without a container engine.

``make test-packages PACKAGES=container`` runs this as root. The service runs as a container engine
runs it with ``--read-only --tmpfs /tmp``: as the user of the image, in a mount namespace with the
root file system of the image mounted read-only. Building takes minutes: with IMAGE_FOLDER, an
image that ``packaging/build-image`` has built there is used.
"""

import json
import os
import shutil
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
import requests

from placement.tests.support.processes import ROOT
from placement_insight.tests.functional.docs.pages import executed

BUILD = executed("install/packages", "Container image", matching="(?!podman)")
UID = 42424
URL = "http://127.0.0.1:8778"
SECONDS_TO_START = 120
NEEDS = ("buildah", "mmdebstrap", "unshare", "nsenter")
CONFIGURATION = (
    "[placement_database]\nconnection = sqlite:////var/lib/placement/placement.sqlite\n"
    "[api]\nauth_strategy = noauth2\n"
)
# Arguments: root, configuration file, data directory, command.
RUN = """
mount --make-rprivate /
mount --bind "$1" "$1"
mount --bind "$2" "$1/etc/placement/placement.conf"
mount --bind "$3" "$1/var/lib/placement"
mount -o remount,bind,ro "$1"
mount -t tmpfs tmpfs "$1/tmp"
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
root=$1
shift 3
exec chroot --userspec=42424 "$root" "$@"
"""

pytestmark = [
    pytest.mark.skipif(
        os.environ.get("PACKAGES") != "container" or os.getuid() != 0,
        reason="make test-packages PACKAGES=container, as root",
    ),
    pytest.mark.timeout(3600),
]


class Image:
    """An image in a storage of buildah, its configuration, and the path of its mounted root."""

    def __init__(self, folder):
        self._folder = folder
        self._container = self.buildah("from", "--pull-never", "placement")
        self.root = Path(self.buildah("mount", self._container))
        inspected = json.loads(self.buildah("inspect", "--type", "image", "placement"))
        self.config = inspected["Docker"]["config"]
        self.environment = dict(line.split("=", 1) for line in self.config["Env"])

    def buildah(self, *arguments):
        storage = ("--root", self._folder / "storage", "--runroot", self._folder / "run")
        command = ["buildah", *map(str, storage), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def close(self):
        self.buildah("umount", self._container)
        self.buildah("rm", self._container)


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    """The image, built with the commands of the page in another folder."""
    folder = Path(os.environ.get("IMAGE_FOLDER") or tmp_path_factory.mktemp("image"))
    assert [each.split()[0] for each in BUILD] == ["apt-get", "packaging/build-image", "buildah"]
    install, build, images = (each.replace("/var/tmp/image", str(folder)) for each in BUILD)
    if missing := [name for name in NEEDS if not shutil.which(name)]:
        print("Install", missing)
        subprocess.run([*install.split(), "--yes"], check=True)
    if not (folder / "storage").exists():
        subprocess.run(build.split(), check=True, cwd=ROOT)
    listed = subprocess.run(images.split(), check=True, capture_output=True, text=True).stdout
    assert "localhost/placement" in listed
    image = Image(folder)
    yield image
    image.close()


@pytest.fixture
def start(image, tmp_path):
    """Return a function that starts a command in the image."""
    configuration = tmp_path / "placement.conf"
    configuration.write_text(CONFIGURATION)
    data = tmp_path / "data"
    data.mkdir()
    os.chown(data, UID, UID)
    (image.root / "etc/placement/placement.conf").touch()

    def start(*command):
        paths = (image.root, configuration, data)
        return subprocess.Popen(
            ["/usr/bin/unshare", "--mount", "sh", "-ec", RUN, "sh", *map(str, paths), *command],
            env=image.environment,
        )

    return start


def inside(process, image, *command):
    """Run a command in the container of a process, as its user."""
    enter = ["/usr/bin/nsenter", "--mount", "--root", "--target", str(process.pid)]
    return subprocess.run(
        [*enter, "--setuid", str(UID), "--", *command],
        env=image.environment,
        check=False,
        capture_output=True,
        text=True,
    )


def health(process, image):
    """Return whether the health check of the image succeeds."""
    kind, *command = image.config["Healthcheck"]["Test"]
    assert kind == "CMD"
    return inside(process, image, *command).returncode == 0


@contextmanager
def serving(start, image):
    """Run the command of the image until the end of the block."""
    process = start(*image.config["Cmd"])
    try:
        deadline = time.monotonic() + SECONDS_TO_START
        while not health(process, image):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.2)
        yield process
    finally:
        process.terminate()
        process.wait(60)


def test_the_image_serves_rootless_on_a_read_only_file_system(image, start):
    assert image.config["User"] == str(UID)
    assert start("placement-manage", "db", "sync").wait(120) == 0
    assert start("placement-status", "upgrade", "check").wait(120) == 0
    with serving(start, image) as process:
        family = [psutil.Process(process.pid), *psutil.Process(process.pid).children()]
        assert {uid for each in family for uid in each.uids()} == {UID}
        assert len(family) == 4  # the master, two workers, and the process that receives HTTP
        for path in ("/probe", "/opt/placement/probe", "/etc/placement/probe"):
            assert "Read-only file system" in inside(process, image, "touch", path).stderr
        headers = {"X-Auth-Token": "admin", "OpenStack-API-Version": "placement latest"}
        path = f"{URL}/resource_providers"
        created = requests.post(path, json={"name": "host"}, headers=headers, timeout=60)
        assert created.status_code == 200, created.text
        listed = requests.get(path, headers=headers, timeout=60).json()["resource_providers"]
        assert [provider["name"] for provider in listed] == ["host"]


def test_the_health_check_fails_if_the_service_does_not_respond(image, start):
    assert start("placement-manage", "db", "sync").wait(120) == 0
    with serving(start, image) as process:
        family = [psutil.Process(process.pid), *psutil.Process(process.pid).children()]
        for each in family:
            each.suspend()
        assert not health(process, image)
        for each in family:
            each.resume()
        assert health(process, image)
