"""The picture of a run: time against the number of hosts, both services, both axes logarithmic."""

import re
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure as Picture

from bench.harness import OURS, REFERENCE, Figures

_FLAT = re.compile(r"candidates, ([\d,]+) flat hosts, (limit=\d+|unlimited)$")
_COLOURS = {OURS: "#1b7837", REFERENCE: "#762a83"}
_MARKS = {"limit=10": "o", "limit=1000": "s", "unlimited": "^"}


def plot(results: dict[str, Figures], path: Path) -> None:
    """Write the picture as SVG; the same results give the same file."""
    picture = Picture(figsize=(7, 5))
    axes = picture.subplots()
    for (who, limit), points in sorted(_series(results).items()):
        hosts, times = zip(*sorted(points), strict=True)
        axes.loglog(
            hosts, times, color=_COLOURS[who], marker=_MARKS[limit],
            linestyle="-" if who == OURS else "--",
            label=f"{'this service' if who == OURS else 'reference'}, {limit}",
        )  # fmt: skip
    axes.set(xlabel="hosts", ylabel="milliseconds, median", title="GET /allocation_candidates")
    axes.grid(visible=True, which="both", alpha=0.2)
    axes.legend()
    picture.tight_layout()
    with mpl.rc_context({"svg.hashsalt": "placement"}):
        picture.savefig(path, format="svg", metadata={"Date": None})


def _series(results: dict[str, Figures]) -> dict[tuple[str, str], list[tuple[int, float]]]:
    """Points (hosts, ms) of each line; what was cut off has no point."""
    series: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for name, figures in results.items():
        if found := _FLAT.match(name):
            for who, figure in figures.items():
                if not figure.cut_off:
                    point = int(found[1].replace(",", "")), figure.value
                    series.setdefault((who, found[2]), []).append(point)
    return series
