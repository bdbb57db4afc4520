"""Pictures: bars, lines and matrices as SVG, for notebooks and files."""

from __future__ import annotations

import html
from typing import Any, Iterable, Mapping, Sequence

from .. import _html
from ._figure import Figure, number, readable

COLOURS = ("#3b6ea8", "#c8702b", "#4f8f4a", "#8d5a9e", "#a33f3f", "#6b6b6b")
STYLE = "font-family='system-ui, sans-serif' font-size='12' fill='currentColor'"


class Picture:
    """An SVG that notebooks show; `save(path)` writes it."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def save(self, path: Any) -> None:
        """Writes the SVG."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg + "\n")

    def show(self) -> Picture:
        """Shows it where there is a notebook."""
        try:
            from IPython.display import display  # type: ignore[unused-ignore,import-not-found]
        except ImportError:
            return self
        display(self)
        return self

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        # one of ours has the colour of the text around it, whatever the theme; one with styles of its own stays apart
        return self.svg if "<style" not in self.svg else _html.image(self.svg, "a picture")

    def __repr__(self) -> str:
        return f"Picture({len(self.svg)} characters of SVG)"


def _text(x: float, y: float, text: str, anchor: str = "start", extra: str = "") -> str:
    return f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' {extra}>{html.escape(text)}</text>"


def _frame(width: float, height: float, title: str, parts: Iterable[str]) -> Picture:
    body = "".join(parts)
    head = _text(8, 18, title, extra="font-weight='bold'")
    return Picture(
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:.0f} {height:.0f}' width='{width:.0f}' "
        f"role='img' aria-label='{html.escape(title, quote=True)}' {STYLE}>{head}{body}</svg>"
    )


def value_text(value: Any) -> str:
    if isinstance(value, Figure) and not value.available:
        return f"n/a: {value.reason}"
    if isinstance(value, Figure):
        return f"{readable(value)} ({value.provenance})"
    return number(float(value))


def is_known(value: Any) -> bool:
    return bool(value == value)  # not NaN


def bars(title: str, groups: Mapping[str, Mapping[str, Any]], full: float | None = None) -> Picture:
    """For each name a bar in every group. A full bar is `full`, or 100 %, or the largest value of that name; a single
    value that is no percentage has none, since there is nothing to compare it with."""
    parts, y = [], 34.0
    names = list(dict.fromkeys(name for group in groups.values() for name in group))
    for name in names:
        values = [(label, group[name]) for label, group in groups.items() if name in group]
        known = [abs(float(value)) for _, value in values if is_known(value)]
        unit = next((value.unit for _, value in values if isinstance(value, Figure)), None)
        most = full or (100.0 if unit == "%" else max(known, default=0) if len(values) > 1 else 0)
        parts.append(_text(8, y + 12, name))
        for index, (label, value) in enumerate(values):
            length = min(220 * abs(float(value)) / most, 220) if most and is_known(value) else 0
            colour = COLOURS[index % len(COLOURS)]
            parts.append(f"<rect x='170' y='{y + 2:.1f}' width='{length:.1f}' height='12' rx='2' fill='{colour}'/>")
            note = f"{label}: {value_text(value)}" if len(groups) > 1 else value_text(value)
            parts.append(_text(178 + length, y + 12, note))
            y += 18
        y += 6
    return _frame(760, y + 8, title, parts)


def lines(title: str, series: Mapping[str, Sequence[Any]]) -> Picture:
    """One small chart for each series, from 0 to its largest value."""
    parts, y = [], 30.0
    for index, (name, values) in enumerate(series.items()):
        known = [(i, float(v)) for i, v in enumerate(values) if is_known(v)]
        colour = COLOURS[index % len(COLOURS)]
        parts.append(_text(8, y + 14, name))
        if not known:
            parts.append(_text(170, y + 14, value_text(values[-1]) if values else "nothing yet"))
            y += 30
            continue
        top = max(v for _, v in known) or 1.0
        across = 400 / max(len(values) - 1, 1)
        points = [(170 + across * i, y + 52 - 44 * v / top) for i, v in known]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
        parts.append(f"<line x1='170' x2='570' y1='{y + 52}' y2='{y + 52}' stroke='currentColor' opacity='.3'/>")
        parts.append(f"<polyline points='{path}' fill='none' stroke='{colour}' stroke-width='2'/>")
        parts.extend(f"<circle cx='{a:.1f}' cy='{b:.1f}' r='2.5' fill='{colour}'/>" for a, b in points)
        last = values[known[-1][0]]
        parts.append(_text(580, points[-1][1] + 4, value_text(last)))
        y += 66
    return _frame(800, y + 8, title, parts)


def matrix(title: str, values: Any, rows: str = "from", columns: str = "to") -> Picture:
    """A square for every synapse: one colour excites, the other inhibits."""
    height, width = values.shape
    side = max(2.0, min(16.0, 520 / max(width, height, 1)))
    names = [f"<tspan fill='{colour}'>\u25a0</tspan> {kind}" for colour, kind in zip(COLOURS, ("excites", "inhibits"))]
    legend = f"<text x='{max(48 + width * side, 240):.1f}' y='40' text-anchor='end'>{' '.join(names)}</text>"
    parts = [_text(48, 40, f"{columns} \u2192"), _text(8, 62, rows), legend]
    for i in range(height):
        for j in range(width):
            if values[i, j] == 0:
                continue
            colour = COLOURS[0] if values[i, j] > 0 else COLOURS[1]
            parts.append(
                f"<rect x='{48 + j * side:.1f}' y='{48 + i * side:.1f}' width='{side * 0.92:.1f}' "
                f"height='{side * 0.92:.1f}' fill='{colour}'/>"
            )
    parts.append(
        f"<rect x='48' y='48' width='{width * side:.1f}' height='{height * side:.1f}' fill='none' stroke='currentColor' "
        "opacity='.4'/>"
    )
    return _frame(max(64 + width * side, 256), 60 + height * side, title, parts)
