"""The distributions: versions, contents, and a service that was installed from each.

They take minutes and install a Debian package: ``make test-packages`` runs them.
"""

import fcntl
import gzip
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests

import placement
from placement.tests.support.processes import BIN
from placement.tests.support.servers import free_port
from placement.tests.support.waiting import SECONDS_TO_WAIT

ROOT = Path(placement.__file__).parent.parent
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
SECONDS_TO_START = 60
NAME, EMAIL = "Ann Operator", "ann@example.com"
MAINTAINER = f"{NAME} <{EMAIL}>"
CONFIGURATION = "[placement_database]\nconnection = sqlite:///{}\n[api]\nauth_strategy = noauth2\n"

pytestmark = [
    pytest.mark.skipif("PACKAGES" not in os.environ, reason="make test-packages"),
    pytest.mark.timeout(1800),
    pytest.mark.xdist_group("packages"),
]


def run(*command, **options):
    """Return the output of a command.  Raises: AssertionError with its output if it fails."""
    result = subprocess.run(
        list(map(str, command)), check=False, capture_output=True, text=True, **options
    )
    assert result.returncode == 0, f"{command}: {result.stdout[-3000:]}{result.stderr[-3000:]}"
    return result.stdout


@contextmanager
def serving(command, url, folder, **environment):
    """Run a service until the end of the block; its version document is available."""
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            list(map(str, command)), stdout=log, stderr=log, env=os.environ | environment
        )
    try:
        deadline = time.monotonic() + SECONDS_TO_START
        while not responds(f"{url}/"):
            assert process.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < deadline, (folder / "log").read_text()
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait(SECONDS_TO_WAIT)


def responds(url):
    try:
        return requests.get(url, timeout=60).status_code == 200
    except requests.RequestException:
        return False


def assert_serves(url):
    """Assert that a provider can be created and listed."""
    headers = {"X-Auth-Token": "admin", "OpenStack-API-Version": "placement latest"}
    created = requests.post(
        f"{url}/resource_providers", json={"name": "host"}, headers=headers, timeout=60
    )
    assert created.status_code == 200, created.text
    listed = requests.get(f"{url}/resource_providers", headers=headers, timeout=60).json()
    assert [provider["name"] for provider in listed["resource_providers"]] == ["host"]


@pytest.fixture(scope="module")
def distributions(tmp_path_factory):
    """The folder of a source distribution, and of the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("distributions")
    run("make", "sbom", f"DIST={folder}", cwd=ROOT)
    return folder


@pytest.fixture(scope="module")
def sdist(distributions):
    (path,) = distributions.glob("*.tar.gz")
    return path


@pytest.fixture(scope="module")
def wheel(distributions):
    (path,) = distributions.glob("*.whl")
    return path


def test_the_distributions_have_the_version_of_the_project(sdist, wheel):
    assert sdist.name == f"openplacement-{VERSION}.tar.gz"
    assert wheel.name.startswith(f"openplacement-{VERSION}-")


def test_the_same_commit_gives_the_same_wheel(wheel, tmp_path):
    if run("git", "status", "--porcelain", cwd=ROOT):
        pytest.skip("NOT TESTED: there are changes that are not committed")
    run("git", "clone", "--quiet", ROOT, tmp_path / "clone")
    environment = ROOT / ".venv"
    run(
        *("make", "dist", f"DIST={tmp_path}", f"VENV={environment}"),
        *("--assume-old", environment / ".package"),
        cwd=tmp_path / "clone",
    )
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()


@pytest.mark.parametrize(("name", "library"), [("wheel", "waitress"), ("container", "uwsgi")])
def test_the_bill_of_materials_names_the_libraries(distributions, name, library):
    document = json.loads((distributions / f"{name}.cdx.json").read_text())
    assert document["bomFormat"] == "CycloneDX"
    assert document["metadata"]["component"]["name"] == "openplacement"
    libraries = {component["name"].lower(): component for component in document["components"]}
    assert {library, "sqlalchemy"} <= set(libraries)
    assert re.fullmatch(r"[\d.]+", libraries[library]["version"])


def test_the_source_distribution_has_all_files_of_the_repository(sdist):
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    tracked = set(run("git", "ls-files", cwd=ROOT).splitlines())
    assert not tracked - names
    assert {"doc/source/index.rst", "placement/tests/support/worlds.py", "PKG-INFO"} <= names


def test_the_wheel_has_no_tests_except_for_the_fixtures_of_other_projects(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if name.startswith("placement/tests/")}
        metadata = archive.read(f"openplacement-{VERSION}.dist-info/METADATA").decode()
    assert names == {
        f"placement/tests/{name}.py"
        for name in (
            *("__init__", "fixtures", "functional/__init__", "unit/__init__"),
            *(f"functional/fixtures/{name}" for name in ("__init__", "capture", "placement")),
            "unit/policy_fixture",
        )
    }
    assert "Author: the Placement contributors" in metadata


def test_the_wheel_installs_and_serves_in_a_clean_environment(wheel, tmp_path):
    environment = tmp_path / "environment"
    run(sys.executable, "-m", "venv", environment)
    run(environment / "bin/python", "-m", "pip", "install", "--quiet", wheel)
    conf, port = tmp_path / "placement.conf", free_port()
    conf.write_text(CONFIGURATION.format(tmp_path / "placement.sqlite"))
    assert VERSION in run(environment / "bin/placement-manage", "--version")
    run(environment / "bin/placement-manage", f"--config-file={conf}", "db", "sync")
    url = f"http://127.0.0.1:{port}"
    command = [environment / "bin/placement-api", "--port", port]
    with serving(command, url, tmp_path, OS_PLACEMENT_CONFIG_DIR=str(tmp_path)):
        assert_serves(url)


def build_deb(sdist, folder):
    """Build the packages of a source distribution."""
    if os.getuid() or not shutil.which("dh") or os.environ["PACKAGES"] != "debian":
        pytest.skip("NOT TESTED: needs root, apt-get install debhelper, and PACKAGES=debian")
    maintainer = {"DEBFULLNAME": NAME, "DEBEMAIL": EMAIL}
    run(ROOT / "packaging/build-deb", sdist, folder, env=os.environ | maintainer)


def test_a_library_with_another_hash_is_not_packaged(sdist, tmp_path):
    run("tar", "--extract", "--gzip", f"--file={sdist}", f"--directory={tmp_path}")
    (source,) = tmp_path.iterdir()
    requirements = source / "packaging/container-requirements.txt"
    first, *others = re.split(r"^(?=\S)", requirements.read_text(), flags=re.MULTILINE)[1:]
    changed_first = re.sub("sha256:[0-9a-f]{64}", "sha256:" + "0" * 64, first)
    requirements.write_text("".join((changed_first, *others)))  # pip downloads it first
    changed = tmp_path / sdist.name
    run("tar", "--create", "--gzip", f"--file={changed}", f"--directory={tmp_path}", source.name)
    with pytest.raises(AssertionError, match="DO NOT MATCH THE HASHES"):
        build_deb(changed, tmp_path)


@pytest.fixture(scope="module")
def debian_packages(sdist, tmp_path_factory):
    """The folder of the packages."""
    folder = tmp_path_factory.mktemp("debian")
    build_deb(sdist, folder)
    return folder


@pytest.fixture
def debian_package(debian_packages):
    """An installed service; it is purged at the end."""
    (package,) = debian_packages.glob("openplacement_*.deb")
    with only_one_on_this_machine():
        if maintainer_of_installed() == MAINTAINER:
            purge()  # a killed run has left it
        assert not Path("/etc/placement").exists(), "the package test would remove /etc/placement"
        try:
            run("dpkg", "--install", package)
            yield package
        finally:
            purge()


def installed_versions(packages):
    """Return the version of each distribution in a folder, by its normalized name."""
    found = importlib.metadata.distributions(path=[str(packages)])
    return {re.sub(r"[-_.]+", "-", each.name).lower(): each.version for each in found}


@contextmanager
def only_one_on_this_machine():
    """Wait for the end of the same block in other processes."""
    with Path(tempfile.gettempdir(), "placement-test-packages.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def maintainer_of_installed():
    """Return the maintainer of the installed package, empty if it is not installed."""
    query = ["dpkg-query", "--show", "--showformat", "${Maintainer}", "openplacement"]
    return subprocess.run(query, check=False, capture_output=True, text=True).stdout


def purge():
    run("dpkg", "--purge", "openplacement")
    assert Path("/var/lib/placement").owner() == "placement"
    shutil.rmtree("/var/lib/placement")
    run("deluser", "--system", "--quiet", "placement")
    assert not Path("/usr/lib/openplacement").exists()


def test_the_debian_package_installs_serves_and_is_removed(debian_package):
    conf, unit = (
        Path("/etc/placement/placement.conf"),
        Path("/lib/systemd/system/placement-api.service"),
    )
    assert (conf.stat().st_mode & 0o777, conf.group()) == (0o640, "placement")
    data = Path("/var/lib/placement")
    assert (data.stat().st_mode & 0o777, data.owner()) == (0o750, "placement")
    (packages,) = Path("/usr/lib/openplacement/lib").glob("python3.*/site-packages")
    for package in ("placement", "sqlalchemy", "numpy"):
        assert list(packages.glob(f"{package}/__pycache__/*.pyc")), "each start would compile it"
    pinned = re.findall(
        r"^([\w.-]+)==(\S+)",
        (ROOT / "packaging/container-requirements.txt").read_text(),
        re.MULTILINE,
    )
    assert len(pinned) > 20
    removed = {"setuptools", "setuptools-scm", "vcs-versioning"}
    assert installed_versions(packages) == {k: v for k, v in pinned if k not in removed} | {
        "openplacement": VERSION
    }
    assert maintainer_of_installed() == MAINTAINER
    assert VERSION in run("placement-manage", "--version")
    run("systemd-analyze", "verify", unit)
    conf.write_text(CONFIGURATION.format("/var/lib/placement/placement.sqlite"))
    run("runuser", "-u", "placement", "--", "placement-manage", "db", "sync")
    run("runuser", "-u", "placement", "--", "placement-status", "upgrade", "check")
    (command,) = re.findall(r"^ExecStart=(.*)$", unit.read_text(), re.MULTILINE)
    port, folder = free_port(), Path(tempfile.mkdtemp())
    runtime = Path("/run/placement")  # RuntimeDirectory= of the unit
    runtime.mkdir(exist_ok=True)
    shutil.chown(runtime, "placement", "placement")
    url = f"http://127.0.0.1:{port}/placement"
    # SupplementaryGroups= of the unit: the socket belongs to the group of the web server
    groups = ["-g", "placement", "-G", "www-data"]
    as_user = ["runuser", "-u", "placement", *groups, "--", *command.split()]
    try:
        with serving([*as_user, "--http-socket", f"127.0.0.1:{port}"], url, folder):
            assert_serves(url)
    finally:
        shutil.rmtree(runtime)
        shutil.rmtree(folder)


def test_the_debian_client_needs_the_libraries_that_it_declares(debian_packages, tmp_path):
    """Its commands run with the newest releases of them, and nothing else."""
    (package,) = debian_packages.glob("openplacement-client_*_all.deb")
    declared = run("dpkg-deb", "--field", package, "Depends")
    names = re.findall(r"python3-([a-z.-]+)", declared)
    libraries = {"python-openstackclient" if name == "openstackclient" else name for name in names}
    environment, root = tmp_path / "environment", tmp_path / "root"
    run(sys.executable, "-m", "venv", environment)
    python, uv = environment / "bin/python", os.environ.get("UV")
    install = (
        [uv, "pip", "install", "--python", python] if uv else [python, "-m", "pip", "install"]
    )
    run(*install, "--quiet", *libraries)
    run("dpkg-deb", "--extract", package, root)
    (contents,) = root.glob("usr/lib/python3/dist-packages")
    assert not (contents / "placement/tests").exists()
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    options = ["--os-auth-type", "admin_token", "--os-endpoint", url, "--os-token", "admin"]
    openstack = [environment / "bin/openstack", *options]
    client = {name: text for name, text in os.environ.items() if not name.startswith("OS_")}
    client |= {"PYTHONPATH": str(contents)}
    service = [BIN / "placement-api", "--development", tmp_path / "data", "--port", port]
    with serving(service, url, tmp_path):
        assert_serves(url)
        tree = run(*openstack, "resource", "provider", "tree", "-f", "json", env=client)
        plan = [*openstack, "placement", "audit", "--plan", tmp_path / "plan"]
        refused = subprocess.run(plan, check=False, capture_output=True, text=True, env=client)
    assert [provider["name"] for provider in json.loads(tree)] == ["host"]
    assert (refused.returncode, "placement-manage on an API host" in refused.stderr) == (1, True)


def test_the_debian_packages_have_manual_pages(debian_packages, tmp_path):
    for package in debian_packages.glob("*.deb"):
        run("dpkg-deb", "--extract", package, tmp_path)
    pages = {path.name: path for path in tmp_path.glob("usr/share/man/man1/*")}
    commands = {path.name for path in tmp_path.glob("usr/bin/*")} | {"openstack-placement"}
    assert pages.keys() == {f"{command}.1.gz" for command in commands}
    for name, path in pages.items():
        text = gzip.decompress(path.read_bytes()).decode()
        assert f"{name.partition('.')[0]} \\- " in text.replace("\\-p", "-p")
        assert ":doc:" not in text
