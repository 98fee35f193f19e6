"""``openstack placement dashboard``: the page and the proxy, with the session of ``openstack``."""

import json
import os
import re
import signal
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

from placement.tests.support.processes import IS_ROOT
from placement.tests.support.servers import free_port
from placement.tests.support.waiting import SECONDS_TO_WAIT, wait_until
from placement_insight.tests.support.nova_api import nova_api
from placement_insight.tests.support.nova_documents import server
from placement_insight.tests.support.openstack_client import OPENSTACK, commands

COMMAND = ("placement", "dashboard")
SECONDS_TO_START = 60


def arguments(url, *more):
    region = ("--os-region-name", "RegionOne")
    return [OPENSTACK, "--os-endpoint", url, "--os-token", "admin", *region, *COMMAND, *more]


def environment():
    return {name: text for name, text in os.environ.items() if not name.startswith("OS_")}


@contextmanager
def dashboard(command, folder, *options):
    """Run the command; yield the process and the address that it prints."""
    log = folder / "dashboard.log"
    with log.open("wb") as output, Path(os.devnull).open() as nothing:
        process = commands().start(
            [*map(str, command), *options],
            folder=folder,
            environ=environment(),
            streams=(nothing, output, output),
        )
    try:
        deadline = time.monotonic() + SECONDS_TO_START
        while not (
            printed := re.search(r"^The dashboard is at (\S+)$", log.read_text(), re.MULTILINE)
        ):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        yield process, printed[1]
    finally:
        process.kill()
        process.wait()


def status(url, method="GET"):
    try:
        request = urllib.request.Request(url, method=method)
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status
    except urllib.error.HTTPError as error:
        return error.code


def test_it_serves_the_page_and_forwards_reads(small, tmp_path):
    with dashboard(arguments(small.url), tmp_path, "--no-browser") as (process, address):
        with urllib.request.urlopen(address, timeout=60) as response:
            assert b"<title>Placement</title>" in response.read()
        with urllib.request.urlopen(f"{address}settings.json", timeout=60) as response:
            assert json.load(response)["region"] == "RegionOne"
        insight = address.removesuffix("page/")
        with urllib.request.urlopen(f"{insight}providers", timeout=60) as response:
            assert b'"host1"' in response.read()
        assert status(f"{insight}providers", "DELETE") == 405
        origin = re.match(r"http://[^/]+", address)[0]
        assert status(f"{origin}/insight/providers") == 404
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS_TO_WAIT) == 0


BROWSER = """#!/bin/sh
setpriv --reuid=nobody --regid=nogroup --clear-groups cat /proc/$$/cmdline > "$0.arguments"
"""


@pytest.mark.skipif(not IS_ROOT, reason="only root can run a command as another user")
def test_other_users_read_the_address_in_the_arguments_of_the_browser(
    small, tmp_path, monkeypatch
):
    browser = tmp_path / "browser"
    browser.write_text(BROWSER)
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    seen = tmp_path / "browser.arguments"
    with dashboard(arguments(small.url), tmp_path, "--no-browser") as (_, address):
        assert status(address) == 200
    assert not seen.exists()
    with dashboard(arguments(small.url), tmp_path) as (_, address):
        wait_until(lambda: seen.exists() and address in seen.read_text())


def names(address):
    url = f"{address.removesuffix('page/')}names"
    with urllib.request.urlopen(url, timeout=60) as response:
        return json.load(response)


def test_it_has_the_names_of_nova_and_keystone(small, tmp_path):
    with nova_api() as nova:
        nova.token_id, nova.placement_url = "admin", small.url
        nova.servers = [server(f"uuid{number}", name=f"web-{number}") for number in range(5)]
        nova.projects, nova.aggregates = {"p": "shop"}, {"a": "az1"}
        command = [OPENSTACK, *nova.credentials(), *COMMAND]
        with dashboard(command, tmp_path, "--no-browser") as (_, address):
            assert names(address) == {
                "aggregates": {"a": "az1"},
                "projects": {"p": "shop"},
                "servers": {f"uuid{number}": f"web-{number}" for number in range(5)},
            }
            names(address)
            assert nova.named.count("projects") == 1


def test_without_a_catalog_there_are_no_names(small, tmp_path):
    with dashboard(arguments(small.url), tmp_path, "--no-browser") as (_, address):
        assert names(address) == {"aggregates": {}, "projects": {}, "servers": {}}


def test_a_service_that_stops_is_a_bad_gateway(small_to_change, tmp_path):
    with dashboard(arguments(small_to_change.url), tmp_path, "--no-browser") as (_, address):
        small_to_change.stop()
        assert status(f"{address.removesuffix('page/')}providers") == 502


def failed(folder, *command):
    words = [str(word) for word in command]
    result = commands().run(words, folder=folder, environ=environment(), timeout_seconds=120)
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    return result.stderr


def test_no_service_is_reported(tmp_path):
    url = f"http://127.0.0.1:{free_port()}"
    assert "Unable to establish connection" in failed(tmp_path, *arguments(url))


def test_a_port_that_is_taken_is_reported(small, tmp_path):
    assert "Choose another --port" in failed(tmp_path, *arguments(small.url, "--port", small.port))
