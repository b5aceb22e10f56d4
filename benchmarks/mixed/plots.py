"""Draws plots, where matplotlib is installed: the latency of every mix, and throughput by size.

See docs/decisions/0018-matplotlib-draws-the-plots.md."""

import importlib.util
import io
import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.mixed.latency import CURVE
from benchmarks.mixed.measure import Case
from benchmarks.mixed.mixes import CHECK

IS_POSSIBLE = importlib.util.find_spec("matplotlib") is not None

LATENCY, THROUGHPUT = "latency.png", "throughput.png"

_INCHES = (7.0, 4.5)
_DOTS_PER_INCH = 80
_COLOURS = 64
"""In a file, which is a third of the size that way."""
_TICKS = {0.5: "50 %", 0.9: "90 %", 0.95: "95 %", 0.99: "99 %", 0.999: "99.9 %"}


def draw(folder: Path, cases: Sequence[Case], dataset: str, name: str) -> list[Path]:
    """Draws two files into the folder, whose names begin with `name`: the latencies of the largest size of this data
    set at the constant rate, and checks per second of all."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}-{LATENCY}", folder / f"{name}-{THROUGHPUT}"]
    _draw_latency(paths[0], _largest(cases, dataset))
    _draw_throughput(paths[1], cases)
    return paths


def _largest(cases: Sequence[Case], dataset: str) -> list[Case]:
    """Of each system the case of this data set, or of any if there is none, with the most warrants."""
    found = [case for case in cases if case.system.dataset.name == dataset] or list(cases)
    size = max(case.system.dataset.size for case in found)
    return [case for case in found if case.system.dataset.size == size]


def _draw_latency(path: Path, cases: Sequence[Case]) -> None:
    figure, axes = _new_plot()
    for case, line in zip(cases, ("-", "--", ":", "-.") * len(cases), strict=False):
        axes.set_prop_cycle(None)  # the same colour for a mix, whatever the system
        for measured in case.mixes:
            label = f"{case.system.name}: {measured.mix}"
            axes.plot([_place(share) for share in CURVE], measured.paced.latency.curve, line, label=label)
    dataset = cases[0].system.dataset
    axes.set_title(f"Latency at half the possible rate: {dataset.name}, {dataset.size:,} warrants")
    axes.set_xticks([_place(share) for share in _TICKS], _TICKS.values())
    axes.set_xlabel("share of the requests")
    axes.set_ylabel("ms, from when the request was due")
    _save(figure, axes, path)


def _draw_throughput(path: Path, cases: Sequence[Case]) -> None:
    figure, axes = _new_plot()
    rates: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for case in cases:
        dataset = case.system.dataset
        rates[f"{dataset.name}, {case.system.name}"].append((dataset.size, case.of(CHECK).closed.rate))
    for label, points in rates.items():
        axes.plot(*zip(*sorted(points), strict=True), "o-", label=label)
    axes.set_title("Warm checks a second by size")
    axes.set_xscale("log")
    axes.set_xlabel("warrants")
    axes.set_ylabel("checks/s")
    _save(figure, axes, path)


def _place(share: float) -> float:
    """Every further nine of a share takes as much space as the one before."""
    return -math.log10(1 - share)


def _new_plot() -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=_INCHES, dpi=_DOTS_PER_INCH, layout="constrained")
    return figure, figure.subplots()


def _save(figure: Any, axes: Any, path: Path) -> None:
    from PIL import Image

    axes.grid(alpha=0.3)
    if path.name == LATENCY:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.legend(fontsize="x-small")
    drawn = io.BytesIO()
    figure.savefig(drawn)
    Image.open(drawn).convert("RGB").quantize(_COLOURS).save(path, optimize=True)
