"""Figures of a profile by part: compute, memory, hardware, streams; here, around a function, or on another chip."""

from __future__ import annotations

from .. import _core
from ._figure import Figure, Figures, figure_of, megabytes, percent, readable, unavailable
from ._profile import Profile, chip_name
from ._subject import Subject

COMPUTE = (
    "time_mean",
    "time_std",
    "samples_per_second",
    "tflops",
    "ne_tflops",
    "ne_utilization",
    "compute_efficiency",
    "peak_memory",
)


def compute_figures(profile: Profile) -> Figures:
    time = profile.time
    figures = Figures(
        time_mean=profile["time_mean"],
        time_std=Figure(time["std"], "measured", "s", "deviation of the timed runs"),
        samples_per_second=profile["samples_per_second"],
        tflops=profile["tflops"],
        ne_tflops=profile["ne_tflops"],
        ne_utilization=percent(profile["ne_utilization"]),
        compute_efficiency=percent(profile["compute_efficiency"]),
        peak_memory=megabytes(profile["peak_memory"]),
    )
    figures.profile = profile
    return figures


def memory_figures(profile: Profile, track_unified: bool = True, track_bandwidth: bool = True) -> Figures:
    figures = Figures(
        peak_usage=megabytes(profile["peak_usage"]),
        current_usage=megabytes(profile["current_memory"]),
        unified_peak=megabytes(profile["unified_peak"]),
        total_allocated=megabytes(profile["total_allocated"]),
        total_freed=megabytes(profile["total_freed"]),
        bandwidth=profile["bandwidth"],
        bandwidth_utilization=percent(profile["bandwidth_utilization"]),
        cache_hit_rate=percent(profile["cache_hit_rate"]),
    )
    if not track_unified:
        figures["unified_peak"] = unavailable("not asked for: track_unified=False", "MB")
    if not track_bandwidth:
        figures["bandwidth"] = unavailable("not asked for: track_bandwidth=False", "GB/s")
        figures["bandwidth_utilization"] = unavailable("not asked for: track_bandwidth=False", "%")
    figures.profile = profile
    return figures


def hardware_figures(profile: Profile) -> Figures:
    figures = Figures(
        ne_cycles=profile["ne_cycles"],
        ne_utilization=percent(profile["ne_utilization"]),
        tflops=profile["tflops"],
        memory_bandwidth=profile["memory_bandwidth"],
        mc_utilization=percent(profile["mc_utilization"]),
        cache_hit_rate=percent(profile["cache_hit_rate"]),
        power_usage=profile["power_usage"],
    )
    figures.profile = profile
    return figures


def stream_figures(profile: Profile) -> Figures:
    """Steps that compute and steps that only move values; of one run."""
    rows = profile.operations
    if rows:
        source = "steps of a recorded run"
        computing = [row for row in rows if row["flops"] > 0]
        moving = [row for row in rows if not row["flops"] > 0]
        figures = Figures(
            kernel_time=Figure(sum(row["seconds"] for row in computing), "measured", "s", source),
            memory_time=Figure(sum(row["seconds"] for row in moving), "measured", "s", source),
            num_kernels=Figure(sum(row["calls"] for row in computing), "counted", "calls", source),
        )
    else:
        reason = profile["steps_sum"].reason or "no run was recorded"
        figures = Figures({key: unavailable(reason) for key in ("kernel_time", "memory_time", "num_kernels")})
    figures["num_transfers"] = unavailable(profile["transfer_rate"].reason or "unknown", "transfers")
    figures.profile = profile
    return figures


def called_figures(subject: Subject, runs: int | None) -> Figures:
    """A function around a model: its time, and the FLOPs of the model."""
    quick = _core.quick_profile(subject.model, subject.function, subject.batch, subject.seq, runs)
    here = Profile(_core.profile_function(_nothing, "", 1, 1))  # reasons for what this machine lacks
    ceilings = {name: figure_of(metric) for name, metric in _core.ceilings().items()}
    peak = ceilings["fma_all" if _core.configuration()["threads"] > 1 else "fma_one"]
    tflops = figure_of(quick["tflops"])
    share = tflops * 1e5 / peak if peak.available else peak
    source = "tflops / FMA peak of these threads"
    return Figures(
        time_mean=Figure(quick["time"]["mean"][0], "measured", "s", "mean of all timed calls"),
        time_std=Figure(quick["time"]["std"], "measured", "s", "deviation of the timed calls"),
        samples_per_second=figure_of(quick["samples"]),
        tflops=tflops,
        ne_tflops=here["ne_tflops"],
        ne_utilization=percent(here["ne_utilization"]),
        compute_efficiency=share if isinstance(share, Figure) else Figure(share, "measured", "%", source),
        peak_memory=megabytes(figure_of(quick["memory"])),
    )


def _nothing() -> None:
    pass


def _seconds(value: float) -> str:
    return readable(Figure(value, "modelled", "s"))


def projected_figures(subject: Subject, chip: str, enable_ne: bool) -> Figures:
    """What the model would take on another chip: modelled, never measured."""
    if subject.model is None:
        raise ValueError(f"device: a function alone cannot be projected to {chip!r}: its FLOPs are unknown")
    row = _core.project(subject.model, [chip_name(chip)], subject.batch, subject.seq)[0]
    engine = row["units"]["Neural Engine"]
    seconds = figure_of(engine["seconds"])
    unit = engine if enable_ne and seconds.available else row["units"][row["best"]]
    seconds = figure_of(unit["seconds"])
    rate = Figure(subject.batch / float(seconds), seconds.provenance, "samples/s", "batch / projected time")
    figures = Figures(
        time_mean=seconds,
        time_std=unavailable(f"a projection; likely: {_seconds(unit['low'])} to {_seconds(unit['high'])}", "s"),
        samples_per_second=rate,
        tflops=figure_of(unit["tflops"]),
        ne_tflops=figure_of(engine["tflops"]),
        ne_utilization=percent(figure_of(engine["utilization"])),
        compute_efficiency=percent(figure_of(unit["utilization"])),
        peak_memory=unavailable("a projection: nothing ran there", "MB"),
    )
    return figures
