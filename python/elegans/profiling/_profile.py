"""Profiles: what the library measured, as figures, tables, reports and traces."""

from __future__ import annotations

import json
import os
from typing import Any, Callable, Mapping, Sequence

import numpy as np

from .. import _core, _html
from ._figure import Figure, Figures, figure_of, figure_table, readable
from ._subject import Forward, Subject, resolve

PathLike = Any
SHOWN = (
    "time_median",
    "time_mean",
    "samples_per_second",
    "tflops",
    "compute_efficiency",
    "bandwidth",
    "bandwidth_utilization",
    "peak_memory",
    "cache_hit_rate",
    "ne_utilization",
    "power_usage",
)


class Profile:
    """What a model or a function takes here. Figures by name: `profile["tflops"]`, in the units of the library.

    >>> profile = profile_model("cfc:8,in=2", batch_size=2, seq_length=4, num_runs=5)
    >>> profile["flops"].provenance, profile["time_median"].unit, len(profile.samples)
    ('counted', 's', 5)
    >>> profile["ne_tflops"].available
    False
    """

    def __init__(self, core: _core.Profile) -> None:
        self._core = core
        self._document: dict[str, Any] | None = None

    # ---- figures
    def __getitem__(self, name: str) -> Figure:
        return figure_of(self._core.metric(name))

    @property
    def figures(self) -> Figures:
        """Every figure of the profile."""
        figures = Figures({name: figure_of(metric) for name, metric in self._core.metrics().items()})
        figures.profile = self
        return figures

    @property
    def hardware(self) -> Figures:
        """What the system counted while it ran."""
        return Figures({name: figure_of(metric) for name, metric in self._core.hardware().items()})

    @property
    def time(self) -> dict[str, Any]:
        """Statistics of the timed runs; intervals are (value, low, high) of 95 %."""
        return self._core.statistics()

    @property
    def samples(self) -> Any:
        """The seconds of every timed run, as they came."""
        return np.frombuffer(self._core.samples(), dtype=np.float64)

    # ---- the document, and what it says
    @property
    def document(self) -> dict[str, Any]:
        """All of it, as `elegans profile --json` has it (docs/profiling.md)."""
        if self._document is None:
            self._document = json.loads(self._core.report("json"))
        return self._document

    @property
    def verdict(self) -> str:
        """One sentence: noise, what bounds it, what is left to do."""
        return str(self.document["verdict"])

    @property
    def operations(self) -> list[dict[str, Any]]:
        """Operations by shape, the longest first."""
        return list(self.document.get("operations", []))

    @property
    def bottlenecks(self) -> list[dict[str, Any]]:
        """Operations by the time they lose against their rooflines: text, action, reason, gain_seconds."""
        return list(self.document.get("bottlenecks", []))

    @property
    def opportunities(self) -> list[dict[str, Any]]:
        """Figures that miss what is required of this chip, in the same form."""
        return list(self.document.get("opportunities", []))

    @property
    def recommendations(self) -> list[dict[str, Any]]:
        """What to do, in the same form."""
        return list(self.document.get("recommendations", []))

    @property
    def ratios(self) -> dict[str, dict[str, Any]]:
        """Figures beside what is required of this chip, by name."""
        return {row["name"]: row for row in self.document.get("ratios", [])}

    def try_advice(self, seconds: float = 1.5) -> list[dict[str, Any]]:
        """Tries the recommendations for so long; returns those that helped."""
        self._core.try_advice(seconds)
        self._document = None
        return self.recommendations

    def diagnose(self) -> dict[str, list[dict[str, str]]]:
        """What slows this down on this machine, and a checklist."""
        return _core.diagnose(self._core)

    # ---- reports and traces
    def json(self, chips: str | Sequence[str] | None = None) -> str:
        """The document as text; with `chips`, projections to them are part of it."""
        return self._core.report("json", False, True, _chips(chips))

    def html(self, basic: bool = False, chips: str | Sequence[str] | None = None) -> str:
        """One page that needs no other file and no network."""
        return self._core.report("html", basic, False, _chips(chips))

    def markdown(self, basic: bool = False, chips: str | Sequence[str] | None = None) -> str:
        """The report as Markdown; `basic` leaves out ratios and advice."""
        return self._core.report("markdown", basic, False, _chips(chips))

    def save(self, path: PathLike, chips: str | Sequence[str] | None = None) -> None:
        """By the ending of the name: .html, .md, or else the document in JSON."""
        ending = os.path.splitext(os.fspath(path))[1].lower()
        text = {".html": self.html, ".md": self.markdown}.get(ending, self.json)(chips=chips)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text + "\n")

    def export_chrome_trace(self, path: PathLike) -> None:
        """The recorded steps, for ui.perfetto.dev or chrome://tracing."""
        self._core.trace(path)

    def export_stacks(self, path: PathLike) -> None:
        """Folded stacks, for flame graphs."""
        self._core.stacks(path)

    def __repr__(self) -> str:
        return f"Profile({self._core.name!r}: {self['time_median']!r})"

    def _repr_html_(self) -> str:
        figures = figure_table((name, self[name]) for name in SHOWN)
        return _html.title(self._core.name, self.verdict) + figures + operation_table(self.operations)


def operation_table(rows: Sequence[Mapping[str, Any]], most: int = 10) -> str:
    """The longest operations as a table of HTML; their times are measured."""
    cells = [
        (
            " ".join(dict.fromkeys((row["operation"], row["kernel"]))),
            row["shape"],
            row["calls"],
            readable(Figure(row["seconds"], unit="s")),
            f"{row['share'] * 100:.1f} %",
            row["bound"],
        )
        for row in rows[:most]
    ]
    head = ("operation", "shape", "calls", "time (measured)", "share", "bound by")
    return _html.table(cells, head, right=(2, 3, 4))


def _chips(chips: str | Sequence[str] | None) -> Any:
    if chips is None or isinstance(chips, str):
        return None if chips is None else chip_name(chips)
    return [chip_name(chip) for chip in chips]


def chip_name(chip: str) -> str:
    """A chip as the table has it: `M1_Pro` is "M1 Pro"."""
    return chip.replace("_", " ").strip()


def profile_model(
    model: Any,
    batch_size: int = 1,
    seq_length: int = 1,
    num_runs: int | None = None,
    *,
    warmup: int | None = None,
    compiled: bool = True,
    schedule: Sequence[int] | None = None,
    ceilings: bool = True,
    steps: bool = True,
    name: str | None = None,
) -> Profile:
    """Compiles a model for this batch and length, runs and records it; a Model, a file or a spec.

    `num_runs` None: as many as fit into a second. `schedule` is (skip, wait, warmup, active, repeat) of the recorded runs.
    Without `ceilings`, nothing is compared with what this machine can do; without `steps`, nothing is recorded.
    TypeError for what is no model.

    >>> profile_model("cfc:8,in=2", batch_size=4, seq_length=8, num_runs=10)["flops"].provenance
    'counted'
    """
    subject = resolve(model, None, batch_size, seq_length)
    if subject.model is None:
        raise TypeError(f"model: expected a Model, a file or a spec, given {type(model)}; see profile_function()")
    return measure(subject, num_runs, warmup, compiled, schedule, ceilings, steps, name)


def measure(
    subject: Subject,
    runs: int | None,
    warmup: int | None = None,
    compiled: bool = True,
    schedule: Sequence[int] | None = None,
    ceilings: bool = True,
    steps: bool = True,
    name: str | None = None,
) -> Profile:
    title = name or subject.name
    if subject.model is None:
        assert subject.function is not None
        return Profile(_core.profile_function(subject.function, title, runs, warmup))
    return Profile(
        _core.profile_model(
            subject.model, title, subject.batch, subject.seq, runs, warmup, compiled, schedule, ceilings, steps
        )
    )


def profile_function(
    function: Callable[[], Any], num_runs: int | None = None, *, warmup: int | None = None, name: str | None = None
) -> Profile:
    """The same for any function without arguments; its FLOPs and its traffic are unknown.

    >>> profile = profile_function(lambda: sum(range(100)), num_runs=10, name="a sum")
    >>> profile["time_median"].provenance, profile["tflops"]
    ('measured', n/a (a callback: its FLOPs are unknown))
    """
    return Profile(
        _core.profile_function(function, name or getattr(function, "__name__", "function"), num_runs, warmup)
    )


__all__ = ["Forward", "Profile", "chip_name", "measure", "profile_function", "profile_model"]
