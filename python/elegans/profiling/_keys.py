"""Tables of recorded operations, as torch.profiler prints them."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any, Callable, Iterator, Mapping, Sequence

COLUMNS = ("operation", "shape", "self %", "self time", "total time", "calls", "time avg", "GFLOP/s")


@dataclass(frozen=True)
class KeyAverage:
    """All calls of one operation on one shape. Seconds are measured: means of the faster half of the calls of a model,
    times the number of calls."""

    key: str
    shape: str
    count: int
    self_seconds: float
    total_seconds: float
    flops: float
    share: float

    # the names of torch.profiler, in microseconds
    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds in this operation itself."""
        return self.self_seconds * 1e6

    @property
    def cpu_time_total(self) -> float:
        """Microseconds with what it contains: of a scan, its steps."""
        return self.total_seconds * 1e6

    @property
    def cpu_time(self) -> float:
        """Microseconds of one call, the mean."""
        return self.cpu_time_total / self.count if self.count else 0.0


SORTS: dict[str, Callable[[KeyAverage], float]] = {
    "self_cpu_time_total": lambda row: -row.self_seconds,
    "cpu_time_total": lambda row: -row.total_seconds,
    "cpu_time": lambda row: -row.cpu_time,
    "count": lambda row: -row.count,
    "flops": lambda row: -row.flops,
}


class KeyAverages(Sequence[KeyAverage]):
    """Operations, the longest first; `table()` is for people."""

    def __init__(self, rows: Sequence[KeyAverage]) -> None:
        self._rows = sorted(rows, key=SORTS["self_cpu_time_total"])

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        return self._rows[index]

    def __iter__(self) -> Iterator[KeyAverage]:
        return iter(self._rows)

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all operations."""
        return sum(row.self_cpu_time_total for row in self)

    def table(self, sort_by: str | None = None, row_limit: int = 10) -> str:
        """Rows by `sort_by`: self_cpu_time_total, cpu_time_total, cpu_time, count or flops; -1 = all of them."""
        order = SORTS.get(sort_by or "self_cpu_time_total")
        if order is None:
            raise ValueError(f"sort_by: unknown column {sort_by!r}; there are {', '.join(SORTS)}")
        rows = sorted(self, key=order)
        shown = rows if row_limit < 0 else rows[:row_limit]
        cells = [COLUMNS] + [_cells(row) for row in shown]
        widths = [max(len(row[i]) for row in cells) for i in range(len(COLUMNS))]
        text = ["  ".join(_pad(cell, width, i) for i, (cell, width) in enumerate(zip(row, widths))) for row in cells]
        text.insert(1, "  ".join("-" * width for width in widths))
        text.append(
            f"{len(shown)} of {len(rows)} rows; self time of all: {_time(self.self_cpu_time_total / 1e6)}, measured"
        )
        return "\n".join(text)

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.table())}</pre>"


def _pad(cell: str, width: int, column: int) -> str:
    return cell.ljust(width) if column < 2 else cell.rjust(width)


def _time(seconds: float) -> str:
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "us")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def _cells(row: KeyAverage) -> tuple[str, ...]:
    speed = f"{row.flops / row.self_seconds / 1e9:.1f}" if row.flops and row.self_seconds else "-"
    return (
        row.key,
        row.shape,
        f"{row.share * 100:.1f}",
        _time(row.self_seconds),
        _time(row.total_seconds),
        str(row.count),
        _time(row.total_seconds / row.count if row.count else 0.0),
        speed,
    )


def averages(programs: Sequence[Mapping[str, Any]], by_shape: bool = True) -> KeyAverages:
    sums: dict[tuple[str, str], list[float]] = {}
    everything = 0.0
    for program in programs:
        for step in program["steps"]:
            if not step["calls"]:
                continue
            shape = "x".join(str(n) for n in (step["rows"], step["columns"], step["depth"]) if n) if by_shape else ""
            row = sums.setdefault((f"{step['operation']} {step['kernel']}", shape), [0, 0.0, 0.0, 0.0])
            runs = program["runs"]
            is_scan = step["kernel"] == "scan"
            row[0] += step["calls"] * runs
            row[1] += step["self"] * runs
            row[2] += step["seconds"] * runs
            row[3] += 0.0 if is_scan else step["flops"] * step["calls"] * runs  # those of a scan are its steps'
            everything += step["self"] * runs
    return KeyAverages(
        [
            KeyAverage(key, shape, int(count), self_time, total, flops, self_time / everything if everything else 0.0)
            for (key, shape), (count, self_time, total, flops) in sums.items()
        ]
    )
