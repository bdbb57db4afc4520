"""What this machine and the programs of this user are doing, as `elegans monitor` shows it.

>>> from elegans.monitoring import Monitor
>>> with Monitor() as monitor:
...     sample = monitor.read()
>>> sample["cpu_load"].unit, sample["power"].available or sample["power"].reason is not None
('%', True)

Every figure says where it comes from, or why there is none: `.provenance`, `.reason`.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from . import _core, _html
from ._model import PathLike
from ._publish import Publisher, publish
from .profiling._figure import Figure, Figures, figure_of, figure_table, unavailable

__all__ = ["Monitor", "Program", "Publisher", "Reading", "Sample", "Series", "publish"]


@dataclass(frozen=True)
class Reading:
    """One figure of the machine: `label` says of what ("cpu0", "package-0"); "" is the whole machine."""

    sensor: str
    label: str
    figure: Figure


@dataclass(frozen=True)
class Program:
    """A program that publishes (elegans.publish(), `elegans train`, ...), as it was at a sample."""

    pid: int
    program: str
    activity: str
    model: str
    started: float
    """Seconds since 1970."""
    verdict: str
    """What bounds its steps: "compute-bound, 61 % of peak, 1.1 us/step (counted costs, measured time)"."""
    figures: Figures = field(repr=False)
    losses: list[tuple[int, float, float | None]] = field(repr=False)
    """Of a training: updates, loss and validation loss (None: there is none)."""
    operations: list[tuple[str, float]] = field(repr=False)
    """Where its time goes, if that was recorded: names and shares."""

    def __getitem__(self, name: str) -> Figure:
        figure: Figure = self.figures[name]
        return figure

    def _repr_html_(self) -> str:
        about = f"{self.activity} {self.model}, pid {self.pid}: {self.verdict}"
        return _html.title(self.program, about) + figure_table(self.figures.items())


@dataclass(frozen=True)
class Sample:
    """What the machine and programs did since the sample before: `elapsed` seconds, up to `time` (since 1970)."""

    time: float
    elapsed: float
    readings: list[Reading] = field(repr=False)
    programs: list[Program]
    ignored: int = 0
    """Files among the pages of programs that are none, or of another version; `ignored_reason` names the first."""
    ignored_reason: str = ""

    def figure(self, sensor: str, label: str | None = None) -> Figure:
        """A figure of the machine: that of `label`, or without one that of the whole machine or else the first there is.

        KeyError for a sensor that nobody knows; one that this machine lacks is unavailable, with the reason.
        """
        found = [reading for reading in self.readings if reading.sensor == sensor]
        if not found:
            raise KeyError(f"{sensor!r}; sensors are {', '.join(sorted({r.sensor for r in self.readings}))}")
        chosen = [reading for reading in found if reading.label == ("" if label is None else label)]
        if label is not None and not chosen:
            labels = ", ".join(repr(reading.label) for reading in found)
            return unavailable(f"no {sensor} of {label!r}; there are {labels}", found[0].figure.unit)
        return (chosen or found)[0].figure

    def __getitem__(self, sensor: str) -> Figure:
        return self.figure(sensor)

    def own(self, pid: int) -> list[Program]:
        """Programs of this process number: one may have several pages."""
        return [program for program in self.programs if program.pid == pid]

    def _repr_html_(self) -> str:
        rows = [(f"{r.sensor} {r.label}".strip(), r.figure) for r in self.readings]
        return (
            _html.title("this machine", f"over {self.elapsed:.2f} s")
            + figure_table(rows)
            + "".join(program._repr_html_() for program in self.programs)
        )


@dataclass(frozen=True)
class Series:
    """A figure over the last hour; arrays have a row per point. NaN where it was not known then."""

    name: str
    unit: str | None
    label: str
    pid: int
    """Of a program; 0: a sensor."""
    seconds: float
    """That a point stands for."""
    time: NDArray[Any] = field(repr=False)
    least: NDArray[Any] = field(repr=False)
    mean: NDArray[Any] = field(repr=False)
    most: NDArray[Any] = field(repr=False)
    samples: NDArray[Any] = field(repr=False)


class Monitor:
    """Samples of this machine and of programs that publish; or those of a recording (`elegans monitor --record`).

    `root` is a folder with the files of another machine, `folder` another one than that of this user's pages. A monitor
    is for any number of threads, and has a thread of its own between start() and stop().

    >>> with Monitor() as monitor:
    ...     _ = monitor.start(0.01)
    ...     _ = monitor.wait(2)
    >>> monitor.latest.elapsed > 0, monitor.error
    (True, None)
    """

    def __init__(
        self, root: PathLike | None = None, folder: PathLike | None = None, replay: PathLike | None = None
    ) -> None:
        self._core = _core.Monitor(root, folder, replay)
        self._lock = threading.Lock()
        self._changed = threading.Condition()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._samples = 0
        self.latest: Sample | None = None
        """The last sample."""
        self.error: BaseException | None = None
        """What ended the thread of start() too early."""

    def read(self) -> Sample:
        """A sample: rates are over the time since the one before. Of a recording, the next line; EOFError after the last.

        Takes a millisecond or so.
        """
        with self._lock:
            found = self._core.read()
        if found is None:
            raise EOFError("the recording has no further sample")
        sample = _sample_of(found)
        with self._changed:
            self.latest = sample
            self._samples += 1
            self._changed.notify_all()
        return sample

    def __iter__(self) -> Iterator[Sample]:
        """Samples of a recording until its end; of this machine, one after the other without a pause, forever."""
        while True:
            try:
                yield self.read()
            except EOFError:
                return

    def line(self) -> str:
        """The last sample as a line of JSON, as `elegans monitor --json` prints it and `--replay` reads it."""
        with self._lock:
            return self._core.line()

    def history(self, name: str | None = None, label: str | None = None, pid: int | None = None) -> list[Series]:
        """Figures over the last hour: those of this name, label and process, or all."""
        with self._lock:
            found = self._core.series()
        return [
            _series_of(row)
            for row in found
            if (name is None or row["name"] == name)
            and (label is None or row["label"] == label)
            and (pid is None or row["pid"] == pid)
        ]

    # ---- a thread that samples
    def start(self, interval: float = 1.0, callback: Callable[[Sample], Any] | None = None) -> Monitor:
        """Samples every `interval` seconds (0.01 to 86400) in a thread, and gives each to `callback` there.

        Ends with stop(), at the end of a recording, and when the callback raises: stop() raises that then. RuntimeError
        when it was started already.
        """
        if not 0.01 <= interval <= 86400:
            raise ValueError(f"interval: expected 0.01 to 86400 seconds, given {interval}")
        if self._thread is not None:
            raise RuntimeError("this monitor was started; stop() it first")
        self.error = None
        self._stop.clear()
        self._thread = threading.Thread(
            target=self._run, args=(float(interval), callback), daemon=True, name="elegans monitor"
        )
        self._thread.start()
        return self

    def _run(self, interval: float, callback: Callable[[Sample], Any] | None) -> None:
        try:
            while not self._stop.wait(interval):
                sample = self.read()
                if callback is not None:
                    callback(sample)
        except EOFError:
            pass
        except BaseException as error:
            self.error = error
        with self._changed:
            self._stop.set()
            self._changed.notify_all()

    def wait(self, samples: int = 1, timeout: float = 60.0) -> bool:
        """Waits until there are so many samples more; False when that took too long or the thread ended before."""
        with self._changed:
            wanted = self._samples + samples
            self._changed.wait_for(lambda: self._samples >= wanted or self._stop.is_set(), timeout)
            return self._samples >= wanted

    def stop(self) -> None:
        """Ends the thread, and raises what ended it before; nothing where there is none."""
        self._stop.set()
        thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            thread.join()
        if self.error is not None:
            error, self.error = self.error, None
            raise error

    def close(self) -> None:
        """Stops it, and gives back files and memory."""
        try:
            self.stop()
        finally:
            with self._lock:
                self._core.close()

    def __enter__(self) -> Monitor:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()


# ---- what the extension gives, as objects
def _program_of(row: Mapping[str, Any]) -> Program:
    figures = Figures({name: figure_of(metric) for name, metric in row["figures"].items()})
    return Program(**{**row, "figures": figures})


def _sample_of(found: Mapping[str, Any]) -> Sample:
    return Sample(
        time=found["time"],
        elapsed=found["elapsed"],
        readings=[Reading(sensor, label, figure_of(metric)) for sensor, label, metric in found["readings"]],
        programs=[_program_of(row) for row in found["programs"]],
        ignored=found["ignored"],
        ignored_reason=found["ignored_reason"],
    )


def _series_of(row: Mapping[str, Any]) -> Series:
    points = np.frombuffer(row["points"]).reshape(-1, 5)
    known = points[:, 4] > 0
    least, mean, most = (np.where(known, points[:, i], np.nan) for i in (1, 2, 3))
    about: Sequence[str] = ("name", "unit", "label", "pid", "seconds")
    return Series(
        **{key: row[key] for key in about},
        time=points[:, 0].copy(),
        least=least,
        mean=mean,
        most=most,
        samples=points[:, 4].astype(np.int64),
    )
