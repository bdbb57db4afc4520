"""Reports: a profile as a page, and two profiles compared."""

from __future__ import annotations

import json
import os
from typing import Any, Mapping, Sequence

from .. import _core, _html
from ._analysis import profile_of
from ._figure import Figure, Figures, figure_of, figure_table, number, readable
from ._profile import SHOWN, operation_table


class Report:
    """A finished report of a profile: `html`, `markdown`, and the `document` both are made of."""

    def __init__(self, document: str | Mapping[str, Any], basic: bool = False) -> None:
        self._json = document if isinstance(document, str) else json.dumps(document)
        self.basic = basic
        self.html: str = _core.report_of_text(self._json, "html", basic)
        self.document: dict[str, Any] = json.loads(self._json)

    @classmethod
    def load(cls, path: Any, basic: bool = False) -> Report:
        """A report of a document that was stored: by save(), or by `elegans profile --output`."""
        with open(path, encoding="utf-8") as file:
            return cls(file.read(), basic)

    @property
    def markdown(self) -> str:
        """The report as Markdown."""
        return _core.report_of_text(self._json, "markdown", self.basic)

    @property
    def verdict(self) -> str:
        """One sentence that sums it up."""
        return str(self.document.get("verdict", ""))

    @property
    def figures(self) -> Figures:
        """Every figure of the document."""
        return Figures({name: figure_of(metric) for name, metric in self.document.get("metrics", {}).items()})

    def save(self, path: Any) -> None:
        """By the ending of the name: .md, .json, or else the page."""
        ending = os.path.splitext(os.fspath(path))[1].lower()
        text = {".md": self.markdown, ".json": self._json}.get(ending, self.html)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text + "\n")

    def __str__(self) -> str:
        return self.markdown

    def __repr__(self) -> str:
        return f"Report({self.document.get('model')!r}: {self.verdict})"

    def _repr_html_(self) -> str:
        figures = self.figures
        page = _html.title(self.document.get("model", ""), self.verdict)
        page += figure_table((name, figures[name]) for name in SHOWN if name in figures)
        if not self.basic:
            advice = [(row["text"], row["action"]) for row in self.document.get("recommendations", [])]
            page += operation_table(self.document.get("operations", []))
            page += _html.table(advice, ("found", "to do"))
        return page + _html.table([_chip_row(row) for row in self.document.get("devices", [])], _CHIP_HEAD, (1, 2, 3))


_CHIP_HEAD = ("chip", "time", "likely", "TFLOP/s", "compute", "bandwidth", "provenance")


def _chip_row(row: Mapping[str, Any]) -> tuple[Any, ...]:
    low, time, high = (readable(Figure(row[key], "modelled", "s")) for key in ("low", "seconds", "high"))
    checks = (f"{row[f'{need}_check']}: {row[f'{need}_text']}" for need in ("compute", "bandwidth"))
    return (row["name"], time, f"{low} to {high}", number(row["tflops"]), *checks, row["provenance"])


def generate_basic_report(what: Any, path: Any = None, *, chips: str | Sequence[str] | None = None) -> Report:
    """Compute, memory and hardware of a profile, without ratios and advice. `what`: a profile, figures, or a model.

    >>> report = generate_basic_report("cfc:8,in=2")
    >>> report.html.startswith("<!doctype html>"), "tflops" in report.document["metrics"]
    (True, True)
    """
    return _report(what, path, chips, True)


def generate_detailed_report(what: Any, path: Any = None, *, chips: str | Sequence[str] | None = None) -> Report:
    """All of it: the verdict, rooflines, ratios, bottlenecks, advice, and (with `chips`) the times on other chips.

    With a `path`, it is also written: .md, .json, or else the page.

    >>> report = generate_detailed_report("cfc:8,in=2", chips=["M4", "M4_Max"])
    >>> [(row["name"], row["provenance"]) for row in report.document["devices"]]
    [('M4', 'modelled'), ('M4 Max', 'modelled')]
    """
    return _report(what, path, chips, False)


def _report(what: Any, path: Any, chips: str | Sequence[str] | None, basic: bool) -> Report:
    report = Report(profile_of(what).json(chips), basic)
    if path is not None:
        report.save(path)
    return report


class Comparison(Figures):
    """Two profiles beside each other: `verdict`, the `ratio` of the medians with its interval, `p`, and the figures."""

    def _repr_html_(self) -> str:
        rows = [
            (name, readable(old), readable(new), f"{ratio:.3f}", new.provenance)
            for name, (old, new, ratio) in self["figures"].items()
            if old.available or new.available
        ]
        value, low, high = self["ratio"]
        about = f"{value:.3f} times the old time ({low:.3f} to {high:.3f}, measured), p = {self['p']:.3g}"
        head = ("", "old", "new", "new / old", "provenance")
        return _html.title(self["verdict"], about) + _html.table(rows, head, (1, 2, 3))


def _document(what: Any) -> dict[str, Any]:
    if isinstance(what, Report):
        return what.document
    if isinstance(what, (str, os.PathLike)) and os.path.isfile(what):
        return Report.load(what).document
    if isinstance(what, Mapping) and "elegans_profile" in what:
        return dict(what)
    return profile_of(what).document


def _differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    found = [key for key in ("batch", "seq") if old.get(key) != new.get(key)]
    machines = old.get("machine", {}), new.get("machine", {})
    for key in ("chip", "isa", "threads", "system", "fingerprint"):
        if machines[0].get(key) != machines[1].get(key):
            found.append(key)
    return found


def compare_reports(
    old: Any, new: Any, *, alpha: float = 0.01, effect: float = 0.03, force: bool = False
) -> Comparison:
    """Whether `new` is faster or slower than `old`, by three tests that must agree, as `elegans baseline compare` does.

    Both are reports, profiles, stored documents (a file or a dict) or models. Profiles of another batch, length or
    machine are refused, except with `force`: their times say nothing about the model.

    >>> from elegans.profiling import profile_model
    >>> profile = profile_model("cfc:8,in=2", num_runs=20)
    >>> compare_reports(profile, profile)["verdict"]
    'the same'
    """
    before, after = _document(old), _document(new)
    differ = _differences(before, after)
    if differ and not force:
        raise ValueError(
            f"not comparable: the profiles differ in {', '.join(differ)}; force=True compares them all the same"
        )
    found = Comparison(_core.compare(before["time"]["samples"], after["time"]["samples"], alpha=alpha, effect=effect))
    figures: dict[str, tuple[Figure, Figure, Any]] = {}
    for name, metric in before["metrics"].items():
        if name in after["metrics"]:
            a, b = figure_of(metric), figure_of(after["metrics"][name])
            zero = a.available and float(a) == 0
            ratio = Figure(None, unit=None, source="the old figure is 0") if zero else b / a
            figures[name] = (a, b, ratio)
    found["figures"] = figures
    found["differ"] = differ
    return found
