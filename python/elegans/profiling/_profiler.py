"""MLXProfiler and quick_profile: the names that profilers of MLX have, over the profiles of the library."""

from __future__ import annotations

from typing import Any, Sequence

from .. import _core, monitoring
from ._figure import Figure, Figures, figure_of, megabytes, percent, unavailable
from ._parts import (
    COMPUTE,
    called_figures,
    compute_figures,
    hardware_figures,
    memory_figures,
    projected_figures,
    stream_figures,
)
from ._picture import Picture, lines
from ._profile import Profile, measure
from ._subject import Forward, as_model, resolve

HERE = (None, "", "cpu", "cores", "host", "here")
UNITS = {"gpu": "GPU", "mps": "GPU", "metal": "GPU", "ne": "Neural Engine", "ane": "Neural Engine"}


SENSORS = ("cpu_load", "cpu_clock", "memory_used", "temperature", "throttling", "power", "gpu_load")


def machine_figures(sample: monitoring.Sample) -> Figures:
    """The figures of the machine that stand beside those of a model."""
    figures = Figures({name: sample[name] for name in SENSORS})
    figures["memory_used"] = megabytes(figures["memory_used"])
    return figures


class MLXProfiler:
    """Profiles of one model: an elegans.Model, a file, a spec, or anything to call.

    Results are dicts of figures: MB (of 2^20 bytes) and % where these interfaces have them; `.unit` says which.

    >>> profiler = MLXProfiler("cfc:autoncp:12:3,in=4")
    >>> stats = profiler.profile_compute(batch_size=4, seq_length=8, num_runs=10)
    >>> f"{stats['ne_tflops']:.2f}", stats["compute_efficiency"].unit, stats["tflops"].provenance
    ('n/a', '%', 'measured')
    >>> profiler.profile_compute(batch_size=4, seq_length=8, device="M1_Pro")["tflops"].provenance
    'modelled'
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.wiring = getattr(model, "wiring", None)
        self.history: dict[str, list[Figures]] = {
            kind: [] for kind in ("compute", "memory", "hardware", "stream", "realtime", "stability")
        }
        self.profile: Profile | None = None
        """The latest profile that was measured."""

    def _keep(self, kind: str, figures: Figures) -> Figures:
        self.history[kind].append(figures)
        self.profile = figures.profile or self.profile
        return figures

    def _measure(self, batch: int, seq: int, runs: int | None, **how: Any) -> Profile:
        subject = resolve(self.model, how.get("forward_fn"), batch, seq, how.get("input_shape"), how.get("input_size"))
        if subject.model is not None:
            subject.function = None
        return measure(subject, runs)

    def profile_compute(
        self,
        batch_size: int = 32,
        seq_length: int = 16,
        num_runs: int | None = 100,
        *,
        enable_ne: bool = False,
        device: str | None = None,
        input_shape: Sequence[int] | None = None,
        input_size: int | None = None,
        forward_fn: Forward | None = None,
    ) -> Figures:
        """Time, rates and efficiency. With `forward_fn`, calls of it are timed, and FLOPs are those of the model.

        With a `device` of the table of chips ("M1", "M1_Pro", "M4 Max"), figures are projections: `modelled`. Models
        run on the cores: a GPU or a Neural Engine has no figures here (`enable_ne`), and says so.
        """
        subject = resolve(self.model, forward_fn, batch_size, seq_length, input_shape, input_size)
        where = (device or "").lower()
        if where in UNITS:
            reason = f"models run on the cores: there is no program for the {UNITS[where]}"
            return self._keep("compute", Figures({key: unavailable(reason) for key in COMPUTE}))
        if device is not None and where not in HERE:
            return self._keep("compute", projected_figures(subject, device, enable_ne))
        if subject.model is not None and subject.function is not None:
            return self._keep("compute", called_figures(subject, num_runs))
        return self._keep("compute", compute_figures(measure(subject, num_runs)))

    def profile_memory(
        self,
        batch_size: int = 32,
        seq_length: int = 16,
        num_runs: int | None = 30,
        *,
        track_unified: bool = True,
        track_bandwidth: bool = True,
        input_shape: Sequence[int] | None = None,
        input_size: int | None = None,
        forward_fn: Forward | None = None,
    ) -> Figures:
        """Memory of the process and the library in MB, and the traffic of the DRAM."""
        how = {"forward_fn": forward_fn, "input_shape": input_shape, "input_size": input_size}
        profile = self._measure(batch_size, seq_length, num_runs, **how)
        return self._keep("memory", memory_figures(profile, track_unified, track_bandwidth))

    def profile_hardware(
        self,
        batch_size: int = 32,
        seq_length: int = 16,
        num_runs: int | None = 30,
        *,
        input_shape: Sequence[int] | None = None,
        input_size: int | None = None,
        forward_fn: Forward | None = None,
    ) -> Figures:
        """Counters and utilization; `.profile.hardware` has what the system counted."""
        how = {"forward_fn": forward_fn, "input_shape": input_shape, "input_size": input_size}
        return self._keep("hardware", hardware_figures(self._measure(batch_size, seq_length, num_runs, **how)))

    def profile_stream(
        self, batch_size: int = 32, seq_length: int = 16, num_runs: int | None = 30, *, input_size: int | None = None
    ) -> Figures:
        """Steps of a run: those that compute, and those that move values."""
        return self._keep(
            "stream", stream_figures(self._measure(batch_size, seq_length, num_runs, input_size=input_size))
        )

    def profile_realtime(self, num_steps: int = 10000, deadline: float | None = None) -> Figures:
        """One step after the other, as a robot runs it: the latency of every step, in seconds.

        With what the sensors of this machine say of that time: load, clock, temperature, power. `elegans monitor` sees it.
        """
        model = as_model(self.model)
        with monitoring.Monitor() as sensors, monitoring.publish(model.name, "realtime") as page:
            found = _core.latency(model, num_steps)
            page.add(found["steps"], float(figure_of(found["p50"])) * 1e-6)
            sample = sensors.read()
        names = {"mean": "mean", "min": "min", "p50": "p50", "p90": "p90", "p99": "p99", "p99_9": "p99_9", "max": "max"}
        figures = Figures({f"latency_{key}": figure_of(found[name]).scaled(1e-6, "s") for key, name in names.items()})
        mean = figures["latency_mean"]
        figures["steps_per_second"] = Figure(1 / mean, mean.provenance, "steps/s", "1 / mean latency")
        if deadline is not None:
            figures["deadline"] = float(deadline)
            figures["deadline_met"] = bool(figures["latency_max"] <= deadline)
        figures.update(machine_figures(sample))
        return self._keep("realtime", figures)

    def profile_stability(
        self, batch_size: int = 32, seq_length: int = 16, num_runs: int = 100, *, rounds: int = 4
    ) -> Figures:
        """Whether times stay the same: several rounds, the first half compared with the second."""
        subject = resolve(self.model, None, batch_size, seq_length)
        profiles = [measure(subject, num_runs, ceilings=False, steps=False) for _ in range(max(rounds, 2))]
        times = [list(profile.samples) for profile in profiles]
        half = len(times) // 2
        everything = [t for part in times for t in part]
        s = _core.statistics(everything)
        c = _core.compare([t for part in times[:half] for t in part], [t for part in times[half:] for t in part])
        source = f"{len(everything)} runs in {len(times)} rounds"
        figures = Figures(
            {
                "time_mean": Figure(s["mean"][0], "measured", "s", source),
                "time_std": Figure(s["std"], "measured", "s", source),
                "time_min": Figure(s["min"], "measured", "s", source),
                "time_max": Figure(s["max"], "measured", "s", source),
                "time_p50": Figure(s["p50"][0], "measured", "s", source),
                "time_p99": Figure(s["p99"][0], "measured", "s", source),
                "drift": percent(Figure(c["ratio"][0] - 1, "measured", "ratio", "later rounds over earlier ones")),
                "leaked": megabytes(profiles[-1]["leaked"]),
                "verdict": c["verdict"],
                "noise": s["noise"],
            }
        )
        figures.profile = profiles[-1]
        return self._keep("stability", figures)

    def profile_all(
        self,
        batch_size: int = 32,
        seq_length: int = 16,
        num_runs: int | None = 100,
        *,
        input_size: int | None = None,
        forward_fn: Forward | None = None,
    ) -> Figures:
        """One profile, and all figures of it, by part: compute, memory, hardware, stream."""
        profile = self._measure(batch_size, seq_length, num_runs, input_size=input_size)
        compute = compute_figures(profile)
        if forward_fn is not None:
            subject = resolve(self.model, forward_fn, batch_size, seq_length, None, input_size)
            if subject.model is not None:
                compute = called_figures(subject, num_runs)
        parts = Figures(
            compute=self._keep("compute", compute),
            memory=self._keep("memory", memory_figures(profile)),
            hardware=self._keep("hardware", hardware_figures(profile)),
            stream=self._keep("stream", stream_figures(profile)),
        )
        parts.profile = profile
        return parts

    def summary(self) -> str:
        """The latest figures of every kind, each with its provenance."""
        parts = []
        for kind, entries in self.history.items():
            if not entries:
                continue
            parts.append(kind)
            for name, figure in entries[-1].rows():
                value = f"{float(figure):.6g} {figure.unit or ''}" if figure.available else f"n/a: {figure.reason}"
                about = f"  {figure.provenance}" if figure.available else ""
                parts.append(f"  {name:<22} {value.strip()}{about}")
        return "\n".join(parts) if parts else "nothing was profiled yet"

    def plot_history(self, metrics: Sequence[str] | None = None) -> Picture:
        """A picture of what was profiled so far: one line for each kind."""
        chosen = {"compute": "tflops", "memory": "peak_usage", "hardware": "tflops", "stream": "kernel_time"}
        chosen.update(realtime="latency_p99", stability="time_p50")
        kinds = list(metrics) if metrics is not None else [kind for kind in self.history if self.history[kind]]
        for kind in kinds:
            if kind not in self.history:
                raise ValueError(f"metrics: unknown kind {kind!r}; there are {', '.join(self.history)}")
        series = {f"{kind}: {chosen[kind]}": [entry[chosen[kind]] for entry in self.history[kind]] for kind in kinds}
        return lines("history", series)


def quick_profile(
    model: Any,
    batch_size: int = 32,
    seq_length: int = 16,
    num_runs: int | None = 100,
    forward_fn: Forward | None = None,
    *,
    input_size: int | None = None,
) -> Figures:
    """Compute, memory and hardware in one dict of figures; also by part: `stats["compute"]["tflops"]`.

    >>> stats = quick_profile("cfc:8,in=2", batch_size=2, seq_length=4, num_runs=5)
    >>> sorted(stats)[:3], stats["peak_memory"].unit
    (['bandwidth', 'bandwidth_utilization', 'cache_hit_rate'], 'MB')
    >>> stats["memory"]["peak_usage"] == stats["peak_usage"]
    True
    """
    parts = MLXProfiler(model).profile_all(
        batch_size, seq_length, num_runs, input_size=input_size, forward_fn=forward_fn
    )
    figures = Figures()
    for kind in ("hardware", "memory", "compute"):
        figures.update(parts[kind])
    figures.update(parts)
    figures.profile = parts["memory"].profile
    return figures
