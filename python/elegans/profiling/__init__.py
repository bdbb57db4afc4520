"""Profiling with the names people know. Every figure comes from the library, and says where it is from.

>>> from elegans.profiling import MLXProfiler
>>> profiler = MLXProfiler("cfc:autoncp:28:8,in=3")
>>> stats = profiler.profile_compute(batch_size=8, seq_length=16, num_runs=20)
>>> stats["tflops"].provenance, f"{stats['ne_tflops']:.2f} TFLOPS", stats["peak_memory"].unit
('measured', 'n/a TFLOPS', 'MB')
>>> stats["ne_tflops"].reason is not None, bool(stats["ne_tflops"] > 0)
(True, False)

What is unknown is never a zero: it formats as `n/a`, compares false, and `.reason` says why. MB are 2^20 bytes.
"""

from __future__ import annotations

from .._core import ceilings as _ceilings
from .._core import diagnose as _diagnose
from .._core import environment as _environment
from ._analysis import (
    analyze_compute,
    analyze_hardware,
    analyze_memory,
    find_optimizations,
    generate_recommendations,
    identify_bottlenecks,
)
from ._device import DeviceConfig, Validation, device_configs
from ._figure import Figure, Figures, figure_of
from ._keys import KeyAverage, KeyAverages
from ._monitor import PerformanceMonitor, RealTimeMonitor
from ._picture import Picture
from ._profile import Profile, profile_function, profile_model
from ._profiler import MLXProfiler, quick_profile
from ._report import Comparison, Report, compare_reports, generate_basic_report, generate_detailed_report
from ._schedule import Schedule, profile, record_function, schedule
from ._visualizer import PerformanceVisualizer
from ._wiring import WiringProfiler, WiringVisualizer, profile_wiring

__all__ = [
    "Comparison",
    "DeviceConfig",
    "Figure",
    "Figures",
    "KeyAverage",
    "KeyAverages",
    "MLXProfiler",
    "PerformanceMonitor",
    "PerformanceVisualizer",
    "Picture",
    "Profile",
    "RealTimeMonitor",
    "Report",
    "Schedule",
    "Validation",
    "WiringProfiler",
    "WiringVisualizer",
    "analyze_compute",
    "analyze_hardware",
    "analyze_memory",
    "ceilings",
    "compare_reports",
    "device_configs",
    "diagnose",
    "environment",
    "find_optimizations",
    "generate_basic_report",
    "generate_detailed_report",
    "generate_recommendations",
    "identify_bottlenecks",
    "profile",
    "profile_function",
    "profile_model",
    "profile_wiring",
    "quick_profile",
    "record_function",
    "schedule",
]


def ceilings(again: bool = False) -> Figures:
    """What this machine can do: peaks and bandwidths, measured once, then stored; `again` measures them anew."""
    return Figures({name: figure_of(metric) for name, metric in _ceilings(again).items()})


def environment() -> dict[str, object]:
    """What affects times besides the program: texts and figures; None for a text that the system does not tell."""
    out: dict[str, object] = {}
    for name, value in _environment().items():
        is_figure = not isinstance(value, str) and (isinstance(value[0], float) or value[2] is not None)
        out[name] = value if isinstance(value, str) else figure_of(value) if is_figure else value[0]
    return out


def diagnose(profile: Profile | None = None) -> dict[str, list[dict[str, str]]]:
    """What slows programs down on this machine, and a checklist; more of it with a profile."""
    return profile.diagnose() if profile is not None else _diagnose()
