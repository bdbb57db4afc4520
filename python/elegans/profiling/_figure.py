"""Figures: numbers that say where they come from, or why there is none."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, Iterator, Mapping

from .. import _html

MB = 2**20
"""Bytes of a MB, as these interfaces count them."""

_WIDTH = re.compile(r"(?:(.)?([<>=^]))?[-+ ]?z?#?0?(\d+)?")


class Figure(float):
    """A float with its provenance, unit and source; or one that is unavailable, with the reason.

    An unavailable figure is NaN: it compares false, is false, and whatever is computed from it is unavailable, too.

    >>> power = Figure(None, unit="W", source="the kernel reports no energy")
    >>> f"{power:.2f} W", power > 5, bool(power), power.reason
    ('n/a W', False, False, 'the kernel reports no energy')
    >>> 2 * power + 1
    n/a (the kernel reports no energy)
    >>> time = Figure(0.25, "measured", "s", "median of the timed runs")
    >>> time, time * 1000, f"{time:.1f}", time.provenance
    (0.25 s (measured), 250.0, '0.2', 'measured')
    """

    __slots__ = ("provenance", "unit", "_from")
    provenance: str
    unit: str | None
    _from: str | None

    def __new__(
        cls, value: float | None, provenance: str = "measured", unit: str | None = None, source: str | None = None
    ) -> Figure:
        figure = super().__new__(cls, float("nan") if value is None else value)
        figure.provenance = "unavailable" if value is None else provenance
        figure.unit = unit
        figure._from = source
        return figure

    @property
    def available(self) -> bool:
        """Whether there is a value."""
        return self.provenance != "unavailable"

    @property
    def reason(self) -> str | None:
        """Why it is unavailable; None when it is there."""
        return None if self.available else self._from or "unknown"

    @property
    def source(self) -> str | None:
        """What gave it; None when it is unavailable."""
        return self._from if self.available else None

    def scaled(self, factor: float, unit: str) -> Figure:
        """The same figure in another unit."""
        return Figure(float(self) * factor if self.available else None, self.provenance, unit, self._from)

    # ---- as text
    def __format__(self, spec: str) -> str:
        if self.available:
            return format(float(self), spec)
        found = _WIDTH.match(spec)
        fill, align, width = found.groups() if found else (None, None, None)
        align = align if align and align != "=" else ">"
        return format("n/a", f"{fill or ' '}{align}{width or ''}")

    def __str__(self) -> str:
        return str(float(self)) if self.available else "n/a"

    def __repr__(self) -> str:
        if not self.available:
            return f"n/a ({self.reason})"
        return f"{float(self):.6g}{' ' + self.unit if self.unit else ''} ({self.provenance})"

    # ---- as a number
    def __bool__(self) -> bool:
        return self.available and float(self) != 0

    def __int__(self) -> int:
        if not self.available:
            raise ValueError(f"unavailable: {self.reason}")
        return int(float(self))

    def __round__(self, digits: Any = None) -> Any:
        return round(float(self), digits) if self.available else self

    def __neg__(self) -> Any:
        return -float(self) if self.available else self

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return abs(float(self)) if self.available else self

    def __reduce__(self) -> Any:
        return Figure, (float(self) if self.available else None, self.provenance, self.unit, self._from)


def _arithmetic(name: str) -> Callable[[Figure, Any], Any]:
    compute = getattr(float, name)

    def method(self: Figure, other: Any) -> Any:
        for part in (self, other):
            if isinstance(part, Figure) and not part.available:
                return Figure(None, unit=None, source=part.reason)
        return compute(float(self), float(other) if isinstance(other, Figure) else other)

    method.__name__ = name
    return method


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    setattr(Figure, f"__{_name}__", _arithmetic(f"__{_name}__"))
    setattr(Figure, f"__r{_name}__", _arithmetic(f"__r{_name}__"))


def figure_of(metric: Any) -> Figure:
    """A figure of what the library gives: (value or None, provenance, unit, source or reason), or the same as a dict."""
    if isinstance(metric, Mapping):
        return Figure(
            metric["value"], metric["provenance"], metric.get("unit"), metric.get("reason") or metric.get("source")
        )
    value, provenance, unit, source = metric
    return Figure(value, provenance, unit, source)


def megabytes(figure: Figure) -> Figure:
    return figure.scaled(1 / MB, "MB")


def percent(figure: Figure) -> Figure:
    return figure.scaled(100, "%")


def unavailable(reason: str, unit: str | None = None) -> Figure:
    return Figure(None, unit=unit, source=reason)


def readable(figure: Figure) -> str:
    """For people: microseconds, MiB and per cent instead of powers of ten.

    >>> readable(Figure(2.5e-5, unit="s")), readable(Figure(0.5, unit="ratio")), readable(unavailable("no sensor"))
    ('25 us', '50 %', 'n/a')
    """
    if not figure.available:
        return "n/a"
    value, unit = float(figure), figure.unit or ""
    if unit == "ratio":
        value, unit = value * 100, "%"
    elif unit == "s" and 0 < value < 1:
        factor, unit = next((f, u) for f, u in ((1e3, "ms"), (1e6, "us"), (1e9, "ns")) if value * f >= 1 or u == "ns")
        value *= factor
    elif unit == "B" and value >= 1024:
        value, unit = (value / MB, "MiB") if value >= MB else (value / 1024, "KiB")
    return f"{number(value)} {unit}".strip()


def number(value: float) -> str:
    """Four digits; large numbers without an exponent, and whole ones with all their digits.

    >>> number(0.066624), number(90133.7), number(16384.0)
    ('0.06662', '90,130', '16,384')
    """
    if not 1e3 <= abs(value) < 1e12:
        return f"{value:.4g}"
    return f"{value if value == int(value) else float(f'{value:.4g}'):,.0f}"


class Figures(Dict[str, Any]):
    """Figures by name: a dict that notebooks show as a table. `profile` is what they come from; None for projections."""

    profile: Any = None
    others: str = ""
    """The provenance of values that are no Figure; "" for what is none at all: a verdict, a deadline."""

    def rows(self) -> Iterator[tuple[str, Figure]]:
        """Names and figures; values that are no Figure are left out."""
        for name, value in self.items():
            if isinstance(value, Figure):
                yield name, value

    def _repr_html_(self) -> str:
        parts = {name: value for name, value in self.items() if isinstance(value, Figures)}
        own = [(name, value) for name, value in self.items() if name not in parts and value not in (None, "")]
        if own:
            return figure_table(own, self.others)
        return "".join(_html.title(name) + part._repr_html_() for name, part in parts.items())


def figure_table(rows: Any, others: str = "") -> str:
    """Figures as a table of HTML, each with its provenance, or with the reason why it is not there.

    What is no figure is shown as it is, with `others` as its provenance.
    """
    cells, sources = [], []
    for name, figure in rows:
        is_figure = isinstance(figure, Figure)
        about = others if not is_figure else figure.provenance if figure.available else f"unavailable: {figure.reason}"
        cells.append((name, readable(figure) if is_figure else figure, about))
        sources.append((figure.source or "") if is_figure else "")
    return _html.table(cells, right=(1,), titles=sources)
