"""Take the pictures of the dashboard that the documentation shows: ``make screenshots``.

They show a cloud of 300 unequal hosts, with refused requests and with findings of the audit.
"""

import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser, sync_playwright

from placement.tests.support.worlds import provider_uuid
from placement_insight.tests.functional.page.service import ARGUMENTS, CHROMIUM, Service
from placement_insight.tests.support import clouds

GPUS = "resources=VCPU:8,MEMORY_MB:16384&resources1=CUSTOM_GPU:4&required1=CUSTOM_NVIDIA_A100"
REFUSED = ["resources=VCPU:300", "resources=VCPU:8&required=HW_CPU_AARCH64_SVE", GPUS]


class Picture(NamedTuple):
    """A picture of the documentation."""

    name: str
    address: str
    scheme: str = "light"
    width: int = 1440


PICTURES = (
    Picture("cloud", "#/cloud?by=aggregate"),
    Picture("tree", f"#/tree/{provider_uuid('gpu-az2-r14-10')}", "dark"),
    Picture("shape", "#/shape?resources=VCPU:16,MEMORY_MB:65536"),
    Picture("explanation", f"#/shape?{GPUS}"),
    Picture("requests", "#/requests"),
    Picture("findings", "#/findings"),
    Picture("narrow", "#/cloud", width=390),
)


def main(target: Path) -> None:
    """Write the pictures into a folder."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        data.mkdir()
        clouds.main([str(data / "placement.sqlite"), "--hosts", "300"])
        service = Service(Path(folder))
        service.start()
        try:
            for query in REFUSED:
                service.send("GET", f"/allocation_candidates?{query}")
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
                for picture in PICTURES:
                    take(browser, f"{service.url}/insight/page/", picture, target)
                browser.close()
        finally:
            service.stop()


def take(browser: Browser, page_url: str, picture: Picture, target: Path) -> None:
    """Write one picture."""
    context = browser.new_context(
        viewport={"width": picture.width, "height": 900}, color_scheme=picture.scheme
    )
    page = context.new_page()
    page.goto(page_url + picture.address)
    page.locator(".status.live").wait_for()
    page.wait_for_timeout(3000)
    page.screenshot(path=target / f"dashboard-{picture.name}-{picture.scheme}.png")
    context.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
