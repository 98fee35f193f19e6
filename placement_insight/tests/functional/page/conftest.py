"""A service on clouds of several sizes, and Chromium in front of it."""

import os
import re
import shutil
import urllib.error
from pathlib import Path

import pytest

from bench import worlds
from placement.tests.support.waiting import SECONDS_TO_WAIT
from placement_insight.tests.functional.page.service import ARGUMENTS, CHROMIUM, Service
from placement_insight.tests.support import clouds


@pytest.fixture(scope="session")
def chromium():
    if CHROMIUM is None:
        if os.environ.get("CI"):
            pytest.fail("Chromium is not installed: apt-get install chromium")
        pytest.skip("Chromium is not installed: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api").sync_playwright().start()
    browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
    yield browser
    browser.close()
    playwright.stop()


def expect(locator):
    """Return Playwright's assertions on an element."""
    return pytest.importorskip("playwright.sync_api").expect(locator)


VIEWPORT = {"width": 1280, "height": 900}
STORED = "document.cookie.length + localStorage.length + sessionStorage.length"


@pytest.fixture(scope="session")
def kept_page(chromium):
    """The page of all tests: a new one costs a second."""
    context = chromium.new_context(viewport=VIEWPORT)
    context.set_default_timeout(SECONDS_TO_WAIT * 1000)
    pytest.importorskip("playwright.sync_api").expect.set_options(timeout=SECONDS_TO_WAIT * 1000)
    return context.new_page()


@pytest.fixture
def open_page(kept_page):
    """Return a function that opens an address in the page, which a previous call has left.

    Errors and policy violations fail the test, and so does what the next test would find: the
    dashboard stores nothing.
    """
    page, listeners, problems = kept_page, {}, []

    def open_(url: str, *, tolerated: str = ""):
        leave()
        origin = re.match(r"https?://[^/]+", url)[0]

        def note(message):
            if message.type == "error" and not (tolerated and re.search(tolerated, message.text)):
                problems.append(message.text)

        def foreign(request):
            if not request.url.startswith(origin):
                problems.append(f"a request to another host: {request.url}")

        listeners["console"] = note
        listeners["pageerror"] = lambda error: problems.append(str(error))
        listeners["request"] = foreign
        for event, listener in listeners.items():
            page.on(event, listener)
        page.goto(url)
        return page

    def leave():
        """Restore the page, and leave the dashboard: the next address may differ by a view."""
        if listeners and page.evaluate(STORED):
            problems.append("the page has stored something")
        for event, listener in listeners.items():
            page.remove_listener(event, listener)
        listeners.clear()
        page.unroute_all()
        page.emulate_media(color_scheme="light", forced_colors="none")
        page.set_viewport_size(VIEWPORT)
        page.mouse.move(0, 0)
        page.goto("about:blank")

    yield open_
    leave()
    assert problems == []


def _service(folder: Path, *commands: tuple[str, str, object]) -> Service:
    service = Service(folder)
    service.start()
    for method, path, body in commands:
        service.send(method, path, body)
    return service


HOST = "6f8a2c14-3d0b-4b5e-9a57-1c2f8e7d9b01"
MARKUP = "0b5b7f0e-6c0e-4b5c-8f2e-6f6d0a2f7a11"
GPU = "5a7c1f9e-25b3-4c68-9d0e-2f4b6a8c0d11"
SERVER = "a7c1f9e2-5b34-4c68-9d0e-2f4b6a8c0d11"
MARKUP_NAME = '<img src=x onerror="document.title=1">&amp;'


def inventories(generation: int, **totals: int) -> object:
    listed = {name: {"total": total, "max_unit": total} for name, total in totals.items()}
    return {"resource_provider_generation": generation, "inventories": listed}


def traits(generation: int, *names: str) -> object:
    return {"resource_provider_generation": generation, "traits": names}


def claim(consumer_generation: int | None, vcpus: int) -> object:
    return {
        "allocations": {HOST: {"resources": {"VCPU": vcpus}}},
        "consumer_generation": consumer_generation,
        "consumer_type": "INSTANCE",
        "project_id": "demo",
        "user_id": "me",
    }


@pytest.fixture(scope="session")
def small_data(tmp_path_factory):
    """A folder with the data of ``small``; each service has a copy."""
    folder = tmp_path_factory.mktemp("small")
    service = _service(
        folder,
        ("POST", "/resource_providers", {"name": "host1", "uuid": HOST}),
        ("PUT", f"/resource_providers/{HOST}/inventories", inventories(0, VCPU=16, MEMORY_MB=32)),
        (
            "POST",
            "/resource_providers",
            {"name": "gpu1", "uuid": GPU, "parent_provider_uuid": HOST},
        ),
        ("PUT", f"/resource_providers/{GPU}/inventories", inventories(0, PGPU=1)),
        ("POST", "/resource_providers", {"name": MARKUP_NAME, "uuid": MARKUP}),
        ("PUT", f"/resource_providers/{MARKUP}/inventories", inventories(0, VCPU=4)),
        ("PUT", f"/allocations/{SERVER}", claim(None, 4)),
    )
    service.stop()
    return folder / "data"


@pytest.fixture(scope="module")
def small(small_data, tmp_path_factory):
    """A host with a GPU below it, and a host whose name is markup; one server. Only for reads."""
    folder = tmp_path_factory.mktemp("small")
    shutil.copytree(small_data, folder / "data")
    service = _service(folder)
    yield service
    service.stop()


@pytest.fixture
def small_to_change(small_data, tmp_path):
    """The same for one test, which may change or stop it."""
    shutil.copytree(small_data, tmp_path / "data")
    service = _service(tmp_path)
    yield service
    service.stop()


LONG_NAME = f"compute-{'0123456789' * 10}.region-one.example.org"
LONG_TRAIT = f"CUSTOM_{'LICENSED_WINDOWS_DATACENTER_' * 3}2026"
FIVE_GPUS = "resources=VCPU:8,MEMORY_MB:65536&resources1=CUSTOM_GPU:5"


@pytest.fixture(scope="module")
def realistic(tmp_path_factory):
    """40 unequal hosts, findings, refusals, and names and traits that are too long for a phone."""
    folder = tmp_path_factory.mktemp("realistic")
    (folder / "data").mkdir()
    clouds.main([str(folder / "data" / "placement.sqlite"), "--hosts", "40"])
    service = _service(
        folder,
        ("POST", "/resource_providers", {"name": LONG_NAME, "uuid": HOST}),
        ("PUT", f"/resource_providers/{HOST}/inventories", inventories(0, VCPU=16)),
        ("PUT", f"/traits/{LONG_TRAIT}", None),
        ("PUT", f"/resource_providers/{HOST}/traits", traits(1, LONG_TRAIT)),
        ("PUT", f"/allocations/{SERVER}", claim(None, 16)),
        ("GET", f"/allocation_candidates?{FIVE_GPUS}&required={LONG_TRAIT}", None),
    )
    with pytest.raises(urllib.error.HTTPError):
        service.send("PUT", f"/allocations/{MARKUP}", claim(None, 8))
    service.wait_for_records(2)  # a page loads the summary once a minute
    yield service
    service.stop()


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    service = _service(tmp_path_factory.mktemp("empty"))
    yield service
    service.stop()


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """10,000 hosts, half of them nearly full."""
    folder = tmp_path_factory.mktemp("large")
    service = _service(folder)
    service.stop()
    worlds.load(f"sqlite:///{folder / 'data' / 'placement.sqlite'}", worlds.used(10_000))
    service.start()
    yield service
    service.stop()
