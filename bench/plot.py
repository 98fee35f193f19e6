"""The plot of a run: time by number of hosts, both services, both axes logarithmic."""

import re
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from bench.harness import OURS, UPSTREAM, Measurements

_FLAT = re.compile(r"candidates, ([\d,]+) flat hosts, (limit=\d+|unlimited)$")
_COLORS = {OURS: "#1b7837", UPSTREAM: "#762a83"}
_MARKS = {"limit=10": "o", "limit=1000": "s", "unlimited": "^"}


def plot(results: dict[str, Measurements], path: Path) -> None:
    """Write the plot as SVG; the same results give the same file."""
    figure = Figure(figsize=(7, 5))
    axes = figure.subplots()
    for (service, limit), points in sorted(_series(results).items()):
        hosts, times = zip(*sorted(points), strict=True)
        axes.loglog(
            hosts, times, color=_COLORS[service], marker=_MARKS[limit],
            linestyle="-" if service == OURS else "--",
            label=f"{'this service' if service == OURS else 'openstack-placement'}, {limit}",
        )  # fmt: skip
    axes.set(xlabel="hosts", ylabel="milliseconds, median", title="GET /allocation_candidates")
    axes.grid(visible=True, which="both", alpha=0.2)
    axes.legend()
    figure.tight_layout()
    with mpl.rc_context({"svg.hashsalt": "placement"}):
        figure.savefig(path, format="svg", metadata={"Date": None})


def _series(results: dict[str, Measurements]) -> dict[tuple[str, str], list[tuple[int, float]]]:
    """Points (hosts, ms) of each line; a measurement that was cut off has no point."""
    series: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for name, measurements in results.items():
        if match := _FLAT.match(name):
            for service, measurement in measurements.items():
                if not measurement.cut_off:
                    point = int(match[1].replace(",", "")), measurement.value
                    series.setdefault((service, match[2]), []).append(point)
    return series
