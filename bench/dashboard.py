"""Measure the dashboard in Chromium on a cloud of 10,000 roots: ``make bench-dashboard``."""

import gzip
import statistics
import sys
import tempfile
import uuid
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from bench.world_loader import load
from bench.worlds import used
from placement.dashboard.page import STATIC
from placement.tests.support.dashboard_service import ARGUMENTS, CHROMIUM, Service

ROOTS = 10_000
CLAIMS = 30
# Keeps the durations of the frames from now on, in milliseconds.
RECORD_FRAMES = """() => {
  window.frames_ = [];
  let last = performance.now();
  const step = (now) => {
    window.frames_.push(now - last);
    last = now;
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}"""


def main() -> int:
    """Print times and sizes."""
    sizes = [len(gzip.compress(path.read_bytes())) for path in STATIC.iterdir()]
    print(f"files, compressed: {sum(sizes) / 1000:.1f} kB")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        service = Service(Path(folder))
        service.start()
        service.stop()
        hosts = load(f"sqlite:///{folder}/data/placement.sqlite", used(ROOTS - 1)).providers
        service.start()
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        try:
            page = browser.new_page()
            times = [milliseconds_to_interactive(page, service.url) for _ in range(5)]
            print(f"interactive with {ROOTS} roots: median {statistics.median(times):.0f} ms")
            frames = frames_during_claims(page, service, hosts["free"][0])
            print(f"longest of {len(frames)} frames during updates: {max(frames):.0f} ms")
        finally:
            browser.close()
            service.stop()
    return 0


def milliseconds_to_interactive(page: Page, url: str) -> float:
    """Return the time from the start of the navigation until the heat map is drawn."""
    page.goto("about:blank")
    page.goto(f"{url}/insight/page/")
    page.locator("canvas").wait_for()
    page.wait_for_function("document.querySelector('canvas').height > 100")
    elapsed: float = page.evaluate("performance.now()")
    return elapsed


def frames_during_claims(page: Page, service: Service, host: str) -> list[float]:
    """Return the durations of the frames while claims change the map."""
    page.evaluate(RECORD_FRAMES)
    for _ in range(CLAIMS):
        service.send(
            "PUT",
            f"/allocations/{uuid.uuid4()}",
            {
                "allocations": {host: {"resources": {"VCPU": 1}}},
                "consumer_generation": None,
                "consumer_type": "INSTANCE",
                "project_id": "p",
                "user_id": "u",
            },
        )
        page.wait_for_timeout(200)
    frames: list[float] = page.evaluate("window.frames_")
    return frames


if __name__ == "__main__":
    sys.exit(main())
