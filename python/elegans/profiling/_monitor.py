"""Monitors: figures of a model again and again, and what this machine can do."""

from __future__ import annotations

import math
import os
import sys
import threading
from typing import Any, Callable, Sequence, TypeVar

from .. import _core, monitoring
from ._device import DeviceConfig, Validation
from ._figure import Figure, Figures, figure_of, megabytes, readable
from ._profiler import MLXProfiler, machine_figures
from ._subject import resolve

_T = TypeVar("_T")
PUBLISHED = ("step_rate", "p50", "p99", "token_rate", "loss", "validation_loss", "time_left")
"""Figures of a program that updates show."""


class PerformanceMonitor:
    """With a model, its figures; without one, the bandwidth and throughput of this machine.

    >>> monitor = PerformanceMonitor("cfc:8,in=2", DeviceConfig())
    >>> monitor.monitor_compute(batch_size=2, num_runs=5)["tflops"].provenance
    'measured'
    >>> PerformanceMonitor().measure_compute_throughput(64, num_iterations=3).unit
    'GFLOP/s'
    """

    def __init__(self, model: Any = None, config: DeviceConfig | None = None) -> None:
        self.config = config
        self.profiler = None if model is None else MLXProfiler(model)
        self.metrics: dict[str, list[Any]] = {}

    def _profiler(self) -> MLXProfiler:
        if self.profiler is None:
            raise ValueError("model: this monitor was made without one")
        return self.profiler

    def _keep(self, kind: str, value: _T) -> _T:
        self.metrics.setdefault(kind, []).append(value)
        return value

    def _batch(self, batch_size: int | None) -> int:
        return batch_size or (self.config.get_optimal_batch_size() if self.config else 32)

    # ---- of the model
    def monitor_compute(self, batch_size: int | None = None, seq_length: int = 16, num_runs: int = 100) -> Figures:
        """Profiles the model now: time, rates and efficiency, as MLXProfiler.profile_compute(); kept in `metrics`.

        Without a `batch_size`, that of the configuration or 32. ValueError for a monitor without a model.
        """
        return self._keep("compute", self._profiler().profile_compute(self._batch(batch_size), seq_length, num_runs))

    def monitor_memory(self, batch_size: int | None = None, seq_length: int = 16, num_runs: int = 30) -> Figures:
        """Profiles the model now: memory and traffic, as MLXProfiler.profile_memory(); kept in `metrics`.

        Without a `batch_size`, that of the configuration or 32. ValueError for a monitor without a model.
        """
        return self._keep("memory", self._profiler().profile_memory(self._batch(batch_size), seq_length, num_runs))

    def monitor_hardware(self, batch_size: int | None = None, seq_length: int = 16, num_runs: int = 30) -> Figures:
        """Profiles the model now: counters and utilization, as MLXProfiler.profile_hardware(); kept in `metrics`.

        Without a `batch_size`, that of the configuration or 32. ValueError for a monitor without a model.
        """
        return self._keep("hardware", self._profiler().profile_hardware(self._batch(batch_size), seq_length, num_runs))

    def validate(self) -> Validation:
        """The latest figures beside what the configuration requires."""
        latest: dict[str, Any] = {}
        for kind in ("hardware", "memory", "compute"):
            if self.metrics.get(kind):
                latest.update(self.metrics[kind][-1])
        return (self.config or DeviceConfig()).validate_performance(latest)

    # ---- of this machine
    def measure_memory_bandwidth(self, tensor_size: int | Sequence[int] = 0, num_iterations: int = 20) -> Figure:
        """GB/s of copying so many float32, reading and writing; the median."""
        elements = tensor_size if isinstance(tensor_size, int) else math.prod(int(n) for n in tensor_size)
        return self._keep("memory_bandwidth", figure_of(_core.bench_copy(elements * 4, num_iterations)["median"]))

    def measure_compute_throughput(self, matrix_size: int = 512, num_iterations: int = 20) -> Figure:
        """GFLOP/s of a product of two square matrices of float32; the median."""
        n = int(matrix_size)
        return self._keep("compute_throughput", figure_of(_core.bench_gemm(n, n, n, num_iterations)["median"]))


class RealTimeMonitor:
    """A sample of the sensors of this machine every `update_interval` seconds, in a thread, until it is stopped.

    With a model, every update is a short profile of it, too, which `elegans monitor` sees. Without one, it shows the
    machine, and what this process publishes (elegans.publish()). `monitor` is the elegans.monitoring.Monitor behind it,
    whose latest sample has all readings, and whose history() the last hour.

    >>> with RealTimeMonitor(update_interval=0.01) as live:
    ...     _ = live.start_monitoring("cfc:8,in=2", num_runs=3)
    ...     _ = live.wait(1)
    >>> live.history[0]["time_median"].provenance, live.history[0]["cpu_load"].unit
    ('measured', '%')
    """

    def __init__(self, update_interval: float = 1.0, on_update: Callable[[Figures], Any] | None = None) -> None:
        if not update_interval > 0:
            raise ValueError(f"update_interval: expected seconds above 0, given {update_interval}")
        self.update_interval = update_interval
        self.on_update = on_update
        self.history: list[Figures] = []
        self.monitor: monitoring.Monitor | None = None
        self.error: BaseException | None = None
        self._thread: threading.Thread | None = None
        self._changed = threading.Condition()
        self._stop = threading.Event()

    def start_monitoring(
        self, model: Any = None, batch_size: int = 1, seq_length: int = 1, num_runs: int = 30, forward_fn: Any = None
    ) -> RealTimeMonitor:
        """Begins to sample, and to profile a model (or what MLXProfiler has; None: only to sample), in a thread.

        Returns the monitor. RuntimeError when it is running already; what an update raises, stop_monitoring() raises.
        """
        if self._thread is not None:
            raise RuntimeError("this monitor is running; stop_monitoring() first")
        if isinstance(model, MLXProfiler):
            model = model.model
        subject = None if model is None else resolve(model, forward_fn, batch_size, seq_length)
        self._stop.clear()
        self.monitor = monitoring.Monitor()
        self._thread = threading.Thread(target=self._run, args=(subject, num_runs), daemon=True)
        self._thread.start()
        return self

    def _run(self, subject: Any, runs: int) -> None:
        try:
            if subject is None:
                self._stop.wait(self.update_interval)  # rates need some time between two samples
                self._follow(lambda: Figures())
            else:
                with monitoring.publish(subject.name, "profile") as page:
                    self._follow(lambda: _quick(subject, runs, page))
        except Exception as error:
            self.error = error
        with self._changed:
            self._changed.notify_all()

    def _follow(self, profile: Callable[[], Figures]) -> None:
        assert self.monitor is not None
        while not self._stop.is_set():
            figures = profile()
            sample = self.monitor.read()
            figures.update(machine_figures(sample))
            for program in sample.own(os.getpid()):
                if program.activity != "profile":
                    figures.update({name: program[name] for name in PUBLISHED if program[name].available})
            self._update(figures)
            self._stop.wait(self.update_interval)

    def _update(self, figures: Figures) -> None:
        with self._changed:
            self.history.append(figures)
            self._changed.notify_all()
        if self.on_update is not None:
            self.on_update(figures)

    def wait(self, updates: int = 1, timeout: float = 60.0) -> bool:
        """Waits until there were so many updates; False when that took too long or an update failed."""
        with self._changed:
            self._changed.wait_for(lambda: len(self.history) >= updates or self.error is not None, timeout)
            return len(self.history) >= updates

    def update_display(self, stats: Figures | None = None, file: Any = None) -> str:
        """Writes the latest figures (or these) as one line, over the one before in a terminal; returns the line."""
        latest = stats if stats is not None else (self.history[-1] if self.history else Figures())
        line = "  ".join(f"{name} {readable(figure)}" for name, figure in latest.rows() if figure.available)
        out = sys.stdout if file is None else file
        is_terminal = bool(getattr(out, "isatty", lambda: False)())
        out.write(f"\r{line}\x1b[K" if is_terminal else f"{line}\n")
        out.flush()
        return line

    def stop_monitoring(self) -> list[Figures]:
        """Ends the thread, raises what an update raised, and returns all updates."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self.monitor is not None:
            self.monitor.stop()
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        return self.history

    def __enter__(self) -> RealTimeMonitor:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.stop_monitoring()


def _quick(subject: Any, runs: int, page: monitoring.Publisher) -> Figures:
    quick = _core.quick_profile(subject.model, subject.function, subject.batch, subject.seq, runs)
    costs = (figure_of(quick[name]) or None for name in ("flops", "bytes_moved"))
    page.add(quick["time"]["count"], float(figure_of(quick["seconds"])), *costs)
    return Figures(
        time_median=figure_of(quick["seconds"]),
        samples_per_second=figure_of(quick["samples"]),
        tflops=figure_of(quick["tflops"]),
        peak_memory=megabytes(figure_of(quick["memory"])),
    )
