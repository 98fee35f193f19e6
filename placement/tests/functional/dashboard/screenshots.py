"""Take the pictures of the dashboard that the documentation shows: ``make screenshots``.

They show an uneven cloud: hosts of four aggregates, partly in use, some with GPUs.
"""

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from bench.world_loader import load
from bench.worlds import Kind, World
from placement.tests.support.dashboard_service import ARGUMENTS, CHROMIUM, Service

HOSTS = {"VCPU": 256, "MEMORY_MB": 524288, "DISK_GB": 4000}
USED = {
    "VCPU": [*range(40, 257, 8), 256, 256],
    "MEMORY_MB": [*range(131072, 524289, 16384), 524288, 524288, 524288],
    "DISK_GB": range(200, 3000, 50),
}
CLOUD = World(
    "demo",
    (
        Kind("compute", 360, "", HOSTS, ["COMPUTE_NODE"], [0, 1, 2], random_used=USED),
        Kind("gpu-host", 24, "", HOSTS, ["COMPUTE_NODE"], [3], random_used=USED),
        Kind(
            "numa", 2, "gpu-host", {"PCPU": 32}, ["HW_NUMA_ROOT"], random_used={"PCPU": range(33)}
        ),
        Kind("gpu", 4, "numa", {"PGPU": 1}, ["CUSTOM_GPU_A100"], random_used={"PGPU": [0, 1, 1]}),
    ),
)
TOO_LARGE = "resources=VCPU:8,MEMORY_MB:65536&resources1=PGPU:5&required1=CUSTOM_GPU_A100"
REFUSED = ["resources=VCPU:300", "resources=VCPU:8&required=HW_CPU_X86_AVX512F", TOO_LARGE]
WIDTHS = {"": 1440, "-narrow": 360}


def main(target: Path) -> None:
    """Write a picture of each view, in both color schemes and two widths."""
    with tempfile.TemporaryDirectory() as folder:
        service = Service(Path(folder))
        service.start()
        service.send("PUT", "/traits/CUSTOM_GPU_A100")
        service.stop()
        loaded = load(f"sqlite:///{folder}/data/placement.sqlite", CLOUD)
        service.start()
        try:
            for query in REFUSED:
                service.send("GET", f"/allocation_candidates?{query}")
            views = {
                "cloud": "#/cloud?by=aggregate",
                "tree": f"#/tree/{loaded.providers['gpu-host'][0]}",
                "shape": "#/shape?resources=VCPU:16,MEMORY_MB:65536",
                "explanation": f"#/shape?{TOO_LARGE}",
                "requests": "#/requests",
                "findings": "#/findings",
            }
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
                for name, address in views.items():
                    take(browser, f"{service.url}/insight/page/{address}", target, name)
                browser.close()
        finally:
            service.stop()


def take(browser: Browser, url: str, target: Path, name: str) -> None:
    """Write the pictures of one view."""
    for scheme in ("light", "dark"):
        for suffix, width in WIDTHS.items():
            context = browser.new_context(
                viewport={"width": width, "height": 900}, color_scheme=scheme
            )
            page = context.new_page()
            page.goto(url)
            page.locator(".status.live").wait_for()
            page.wait_for_timeout(1500)
            page.screenshot(path=target / f"dashboard-{name}-{scheme}{suffix}.png")
            context.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
