"""Plots of a run: time by number of hosts, both services, both axes logarithmic."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.harness import LABELS, PLACEMENT, UPSTREAM, Measurements

_FLAT = re.compile(r"candidates, ([\d,]+) flat hosts, (limit=\d+|unlimited)$")
_GPU = re.compile(r"candidates, ([\d,]+) GPU hosts, (.+)$")
_COLORS = {PLACEMENT: "#1b7837", UPSTREAM: "#762a83"}
_MARKERS = "os^Dv"

Series = Mapping[tuple[str, str], Sequence[tuple[int, float]]]


def plot_flat(results: Mapping[str, Measurements], path: Path) -> None:
    """Plot candidates of flat hosts, where all trees are equal, as SVG."""
    _plot(_series(results, _FLAT), path, "Flat hosts")


def plot_gpu(results: Mapping[str, Measurements], path: Path) -> None:
    """Plot candidates of GPU hosts, where nearly all trees differ, as SVG."""
    _plot(_series(results, _GPU), path, "GPU hosts, limit=1000")


def _plot(series: Series, path: Path, title: str) -> None:
    """Write the plot; the same results give the same file."""
    import matplotlib as mpl  # noqa: PLC0415  half a second for modules that plot nothing
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(7, 5))
    axes = figure.subplots()
    requests = sorted({request for _, request in series})
    for (service, request), points in sorted(series.items()):
        hosts, times = zip(*sorted(points), strict=True)
        axes.loglog(
            hosts, times, color=_COLORS[service], marker=_MARKERS[requests.index(request)],
            linestyle="-" if service == PLACEMENT else "--",
            label=f"{LABELS[service]}, {request}",
        )  # fmt: skip
    axes.set(xlabel="hosts", ylabel="milliseconds, median")
    axes.set_title(f"GET /allocation_candidates: {title}")
    axes.grid(visible=True, which="both", alpha=0.2)
    if series:
        axes.legend(fontsize="small")
    figure.tight_layout()
    with mpl.rc_context({"svg.hashsalt": "placement"}):
        figure.savefig(path, format="svg", metadata={"Date": None})


def _series(results: Mapping[str, Measurements], rows: re.Pattern[str]) -> Series:
    """Points (hosts, ms) by service and request; a measurement that was cut off has no point."""
    series: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for name, measurements in results.items():
        if match := rows.match(name):
            for service, measurement in measurements.items():
                if not measurement.cut_off:
                    point = int(match[1].replace(",", "")), measurement.value
                    series.setdefault((service, match[2]), []).append(point)
    return series
