"""profile: a context manager in the style of torch.profiler, which records what models do in a program of yours."""

from __future__ import annotations

import contextlib
import html
import json
import os
from typing import Any, Callable, Iterator, NamedTuple

from .. import _core
from ._keys import KeyAverages, averages

_present: profile | None = None


class Schedule(NamedTuple):
    """Skips some steps, then cycles of waiting, warming up and recording; `repeat` 0 = for ever."""

    wait: int = 0
    warmup: int = 0
    active: int = 0
    repeat: int = 0
    skip_first: int = 0

    def is_active(self, step: int) -> bool:
        """Whether a step is recorded."""
        if not self.active:
            return step >= self.skip_first
        at, cycle = step - self.skip_first, self.wait + self.warmup + self.active
        if at < 0 or (self.repeat and at >= cycle * self.repeat):
            return False
        return at % cycle >= self.wait + self.warmup

    def ends_cycle(self, step: int) -> bool:
        """Whether a step is the last recorded one of a cycle."""
        return (
            bool(self.active)
            and self.is_active(step)
            and not (
                self.is_active(step + 1) and (step + 1 - self.skip_first) % (self.wait + self.warmup + self.active) != 0
            )
        )


def schedule(*, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0) -> Schedule:
    """As torch.profiler.schedule."""
    return Schedule(wait, warmup, active, repeat, skip_first)


class _Range(NamedTuple):
    name: str
    begin: int
    end: int


class profile:
    """Records the steps of all calls of models while it is active; call step() after each of yours.

    Only one can record at a time. Streams are not recorded: a step of theirs takes less than recording it.

    >>> import elegans, numpy
    >>> model = elegans.open("cfc:autoncp:12:3,in=4")
    >>> x = numpy.zeros((8, 16, 4), "float32")
    >>> with profile(wait=1, warmup=1, active=2, repeat=1) as prof:
    ...     for _ in range(6):
    ...         _ = model(x)
    ...         prof.step()
    >>> prof.recorded_runs
    2
    >>> print(prof.key_averages().table(row_limit=3).splitlines()[0].split()[:2])
    ['operation', 'shape']
    """

    def __init__(
        self,
        wait: int = 0,
        warmup: int = 0,
        active: int = 0,
        repeat: int = 0,
        skip_first: int = 0,
        *,
        schedule: Schedule | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        activities: Any = None,
        record_shapes: bool = True,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = True,
    ) -> None:
        numbers = (wait, warmup, active, repeat, skip_first)
        if any(int(number) < 0 for number in numbers):
            raise ValueError(
                f"wait, warmup, active, repeat, skip_first: expected numbers of at least 0, given {numbers}"
            )
        self.schedule = schedule if schedule is not None else Schedule(*(int(number) for number in numbers))
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self._programs: list[dict[str, Any]] = []
        self._ranges: list[_Range] = []
        self._began = 0
        self._step_began = 0

    # ---- recording
    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exception: Any) -> None:
        self.stop()

    def start(self) -> None:
        """Begins to record, as `with` does. RuntimeError while another profile records."""
        global _present
        if _present is not None:
            raise RuntimeError("another profile is recording")
        _present = self
        self.step_num = 0
        self._programs, self._ranges = [], []
        self._began = self._step_began = _core.clock_ns()
        _core.record(self.schedule.is_active(0))

    def stop(self) -> None:
        """Ends recording; harmless when it has ended."""
        global _present
        if _present is not self:
            return
        _present = None
        self._end_step()
        is_open = self.schedule.is_active(self.step_num)
        self._programs.extend(_core.record_take())
        if is_open and self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def step(self) -> None:
        """The end of one step of yours, and the beginning of the next."""
        if _present is not self:
            raise RuntimeError("this profile is not recording")
        self._end_step()
        if self.schedule.ends_cycle(self.step_num):
            self._programs.extend(_core.record_take())
            if self.on_trace_ready is not None:
                self.on_trace_ready(self)
        self.step_num += 1
        _core.record(self.schedule.is_active(self.step_num))

    def _end_step(self) -> None:
        now = _core.clock_ns()
        if self.schedule.is_active(self.step_num):
            self._ranges.append(_Range(f"ProfilerStep#{self.step_num}", self._step_began, now))
        self._step_began = now

    # ---- results
    @property
    def recorded_runs(self) -> int:
        """Calls of models that were recorded."""
        return sum(program["runs"] for program in self._programs)

    @property
    def lost_events(self) -> int:
        """Events that were overwritten: a recorder holds the latest 65536 of a thread."""
        return sum(program["lost"] for program in self._programs)

    def key_averages(self, group_by_input_shape: bool = True) -> KeyAverages:
        """Operations of all recorded calls, the longest first."""
        return averages(self._programs, group_by_input_shape)

    def events(self) -> list[dict[str, Any]]:
        """Every recorded step, and your own ranges, as Chrome's traces have them; times in microseconds."""
        process = {"pid": os.getpid(), "ph": "X"}
        out = [
            {
                **process,
                "name": r.name,
                "cat": "user",
                "tid": "python",
                "ts": (r.begin - self._began) / 1e3,
                "dur": (r.end - r.begin) / 1e3,
            }
            for r in self._ranges
        ]
        for program in self._programs:
            steps, offset = program["steps"], program["began_ns"] - self._began
            for begin, end, step, time, thread, run in program["events"].tolist():
                row = steps[step]
                about = {"shape": shape_text(row), "kernel": row["kernel"], "run": run, "model": program["model"]}
                if time >= 0:
                    about["time"] = time
                out.append(
                    {
                        **process,
                        "name": f"{row['operation']} {row['kernel']}",
                        "cat": "scan" if time >= 0 else "run",
                        "tid": f"thread {thread}",
                        "ts": (offset + begin) / 1e3,
                        "dur": (end - begin) / 1e3,
                        "args": about,
                    }
                )
        return out

    def export_chrome_trace(self, path: Any) -> None:
        """For ui.perfetto.dev or chrome://tracing."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": self.events(), "displayTimeUnit": "ns"}, file)

    def __repr__(self) -> str:
        return f"profile({self.recorded_runs} calls recorded, {self.schedule})"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.key_averages().table())}</pre>"


def shape_text(row: dict[str, Any]) -> str:
    return "x".join(str(n) for n in (row["rows"], row["columns"], row["depth"]) if n)


@contextlib.contextmanager
def record_function(name: str) -> Iterator[None]:
    """A range of yours in the trace of the profile that is recording; nothing without one."""
    began = _core.clock_ns()
    try:
        yield
    finally:
        if _present is not None and _present.schedule.is_active(_present.step_num):
            _present._ranges.append(_Range(str(name), began, _core.clock_ns()))
