"""Analysis: what bounds a profile, and what could be done about it; the rules are those of the library."""

from __future__ import annotations

from typing import Any

from .. import _core
from ._figure import Figures, figure_of
from ._parts import compute_figures, hardware_figures, memory_figures
from ._profile import Profile, profile_model
from ._profiler import MLXProfiler


def profile_of(what: Any, batch_size: int = 32, seq_length: int = 16) -> Profile:
    """The profile behind figures or a profiler; or a new one of a model."""
    if isinstance(what, Profile):
        return what
    if isinstance(what, Figures):
        if what.profile is None:
            raise ValueError("figures without a profile: projected, or of a function around a model")
        return profile_of(what.profile)
    if isinstance(what, dict):
        for part in what.values():
            if isinstance(part, Figures) and part.profile is not None:
                return profile_of(part.profile)
        raise ValueError("a dict that did not come from a profiler")
    if isinstance(what, MLXProfiler):
        return what.profile if what.profile is not None else profile_model(what.model, batch_size, seq_length)
    if isinstance(what, _core.Profile):
        return Profile(what)
    return profile_model(what, batch_size, seq_length)


def _part(profile: Profile, figures: Figures, *ratios: str) -> dict[str, Any]:
    rows = {}
    for name in ratios:
        row = profile.ratios.get(name)
        if row:
            rows[name] = {
                "ratio": figure_of(row["ratio"]),
                "limit": figure_of(row["limit"]),
                "verdict": row["verdict"],
                "fires": row["fires"],
                "reason": row["reason"],
            }
    return {"verdict": profile.verdict, "figures": figures, "ratios": rows}


def analyze_compute(what: Any) -> dict[str, Any]:
    """Figures of compute, what bounds each operation, and the requirement of this chip.

    `what` is a profile, what a profiler returned, a profiler, or a model.

    >>> found = analyze_compute("cfc:8,in=2")
    >>> sorted(found)
    ['bounds', 'figures', 'operations', 'ratios', 'verdict']
    """
    profile = profile_of(what)
    bounds: dict[str, float] = {}
    for row in profile.operations:
        bounds[row["bound"]] = bounds.get(row["bound"], 0.0) + row["share"]
    found = _part(profile, compute_figures(profile), "compute")
    found["bounds"] = dict(sorted(bounds.items(), key=lambda item: -item[1]))
    found["operations"] = profile.operations
    return found


def analyze_memory(what: Any) -> dict[str, Any]:
    """Figures of memory, what is held over time, and the budgets."""
    profile = profile_of(what)
    found = _part(profile, memory_figures(profile), "bandwidth", "memory", "controller")
    found["over_time"] = profile.document.get("memory_over_time")
    found["arena"] = profile.document.get("arena")
    return found


def analyze_hardware(what: Any) -> dict[str, Any]:
    """Counters of the system and utilization of the units."""
    profile = profile_of(what)
    found = _part(profile, hardware_figures(profile), "engine", "cache", "power")
    found["counters"] = profile.hardware
    return found


def identify_bottlenecks(what: Any) -> list[dict[str, Any]]:
    """Operations by the time that they lose against their rooflines: `text`, `action`, `reason`, `gain_seconds`.

    >>> [sorted(row) for row in identify_bottlenecks("cfc:8,in=2")[:1]]
    [['action', 'gain_seconds', 'reason', 'rule', 'text']]
    """
    return profile_of(what).bottlenecks


def find_optimizations(what: Any) -> list[dict[str, Any]]:
    """Figures below (or above) what is required of this chip."""
    return profile_of(what).opportunities


def generate_recommendations(what: Any, try_seconds: float = 0.0) -> list[dict[str, Any]]:
    """What to do; with `try_seconds`, only what was tried here and helped."""
    profile = profile_of(what)
    return profile.try_advice(try_seconds) if try_seconds > 0 else profile.recommendations
