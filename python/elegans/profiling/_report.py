"""Reports: a profile as a page, and two profiles compared."""

from __future__ import annotations

import html
import json
import os
from typing import Any, Mapping, Sequence

from .. import _core
from ._analysis import profile_of
from ._figure import Figure, Figures, figure_of, figure_table
from ._profile import SHOWN


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
        return _core.report_of_text(self._json, "markdown", self.basic)

    @property
    def verdict(self) -> str:
        return str(self.document.get("verdict", ""))

    @property
    def figures(self) -> Figures:
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
        head = f"<p><b>{html.escape(str(self.document.get('model', '')))}</b>: {html.escape(self.verdict)}</p>"
        advice = "".join(
            f"<li>{html.escape(row['text'])}: {html.escape(row['action'])}</li>"
            for row in ([] if self.basic else self.document.get("recommendations", []))
        )
        table = figure_table((name, figures[name]) for name in SHOWN if name in figures)
        return f"<div class='elegans-report'>{head}{table}{f'<ul>{advice}</ul>' if advice else ''}</div>"


def generate_basic_report(what: Any, path: Any = None, *, chips: str | Sequence[str] | None = None) -> Report:
    """Compute, memory and hardware of a profile, without ratios and advice. `what`: a profile, figures, or a model.

    >>> report = generate_basic_report("cfc:8,in=2")
    >>> report.html.startswith("<!doctype html>"), "tflops" in report.document["metrics"]
    (True, True)
    """
    return _report(what, path, chips, True)


def generate_detailed_report(what: Any, path: Any = None, *, chips: str | Sequence[str] | None = None) -> Report:
    """All of it: the verdict, rooflines, ratios, bottlenecks, advice, and (with `chips`) the times on other chips."""
    return _report(what, path, chips, False)


def _report(what: Any, path: Any, chips: str | Sequence[str] | None, basic: bool) -> Report:
    report = Report(profile_of(what).json(chips), basic)
    if path is not None:
        report.save(path)
    return report


class Comparison(Figures):
    """Two profiles beside each other: `verdict`, the `ratio` of the medians with its interval, `p`, and the figures."""

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th><td>{old:.6g}</td><td>{new:.6g}</td>"
            f"<td>{ratio:.4g}</td></tr>"
            for name, (old, new, ratio) in self["figures"].items()
        )
        value, low, high = self["ratio"]
        return (
            f"<p><b>{html.escape(self['verdict'])}</b>: {value:.3f} times the old time ({low:.3f} to {high:.3f}), "
            f"p = {self['p']:.3g}</p><table><thead><tr><th></th><th>old</th><th>new</th><th>ratio</th></tr></thead>"
            f"<tbody>{rows}</tbody></table>"
        )


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
