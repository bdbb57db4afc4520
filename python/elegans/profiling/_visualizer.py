"""PerformanceVisualizer: figures as pictures."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from ._figure import Figure
from ._picture import Picture, bars, lines

COMPUTE = ("tflops", "compute_efficiency", "samples_per_second", "time_mean", "ne_tflops", "ne_utilization")
MEMORY = ("peak_usage", "peak_memory", "current_usage", "unified_peak", "total_allocated", "total_freed", "bandwidth")
HARDWARE = ("ne_utilization", "mc_utilization", "cache_hit_rate", "bandwidth_utilization", "compute_efficiency")
POWER = ("power_usage",)


class PerformanceVisualizer:
    """Pictures of what a profiler returned: one dict of figures, a list of them, or several by name.

    >>> from elegans.profiling import quick_profile
    >>> stats = quick_profile("cfc:8,in=2", batch_size=2, num_runs=5)
    >>> picture = PerformanceVisualizer().plot_hardware_utilization(stats)
    >>> picture.svg.startswith("<svg"), "Neural Engine" in picture.svg
    (True, True)
    """

    def __init__(self) -> None:
        self.history: dict[str, list[Any]] = {}

    def add_metrics(self, **figures: Any) -> None:
        """Keeps figures for plot_metrics()."""
        for name, value in figures.items():
            if value is not None:
                self.history.setdefault(name, []).append(value)

    def plot_metrics(self, metrics: Sequence[str] | None = None) -> Picture:
        """A line for each figure that was kept; `metrics` chooses among them."""
        names = list(metrics) if metrics is not None else list(self.history)
        return lines("metrics", {name: self.history.get(name, []) for name in names})

    def plot_compute_performance(self, stats: Any, path: Any = None) -> Picture:
        """Bars of tflops, efficiency, samples per second and times; also written to `path`. ValueError without any."""
        return self._plot("compute performance", stats, COMPUTE, path)

    def plot_memory_usage(self, stats: Any, path: Any = None) -> Picture:
        """Bars of memory and bandwidth; also written to `path`. ValueError without any."""
        return self._plot("memory usage", stats, MEMORY, path)

    def plot_hardware_utilization(self, stats: Any, path: Any = None) -> Picture:
        """Bars of utilization, cache hits and power; also written to `path`. ValueError without any."""
        return self._plot("hardware utilization", stats, HARDWARE + POWER, path)

    def _plot(self, title: str, stats: Any, names: Sequence[str], path: Any) -> Picture:
        groups = {
            label: {name: group[name] for name in names if isinstance(group.get(name), (int, float))}
            for label, group in _groups(stats).items()
        }
        if not any(groups.values()):
            raise ValueError(f"stats: none of {', '.join(names)} is there")
        picture = bars(title, groups)
        if path is not None:
            picture.save(path)
        return picture


def _groups(stats: Any) -> dict[str, Mapping[str, Any]]:
    """Figures by label. A dict of dicts has several; the parts of profile_all() are taken together."""
    if isinstance(stats, Mapping):
        parts = {key: value for key, value in stats.items() if isinstance(value, Mapping)}
        flat = {key: value for key, value in stats.items() if isinstance(value, (int, float, Figure))}
        if parts and not flat and not set(parts) <= {"compute", "memory", "hardware", "stream"}:
            return parts
        for part in parts.values():
            flat = {**part, **flat}
        return {"": flat}
    if isinstance(stats, Sequence) and not isinstance(stats, (str, bytes)):
        return {str(index + 1): group for index, group in enumerate(stats)}
    raise TypeError(f"stats: expected a dict of figures, or several, given {type(stats)}")
