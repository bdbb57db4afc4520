"""Writes displays.html, with everything that notebooks show of this package, and a trace: python displays.py FOLDER."""

from __future__ import annotations

import os
import sys
from typing import Any, Iterator

import numpy as np

import elegans
from elegans import profiling, tools, wirings

STYLE = """:root{color-scheme:light dark}body{font:14px system-ui,sans-serif;margin:1em;background:Canvas;color:CanvasText}
table{border-collapse:collapse}td,th{padding:2px 8px}pre{overflow-x:auto}div{overflow-x:auto}svg{max-width:none}"""


def displays() -> Iterator[tuple[str, Any]]:
    """Names, and objects that have something to show."""
    wiring = wirings.AutoNCP(20, 3)
    yield "a wiring before build()", wirings.AutoNCP(12, 2)
    wiring.build(5)
    yield "a wiring", wiring
    yield "a model", elegans.open("cfc:8,in=5,backbone=16,mixed=1/ltc:autoncp:20:3")
    yield "a layer before its first call", elegans.CfC(wirings.AutoNCP(12, 2))
    t = np.arange(600) / 10
    table = {"t": t, "wave": np.sin(t), "next": np.sin(t + 0.3)}
    yield "a training", elegans.fit("cfc:8", table, targets="next", time="t", epochs=12, rate=0.02, seed=1, progress=False)
    profile = profiling.profile_model("cfc:autoncp:28:8,in=3", batch_size=8, seq_length=16, num_runs=50)
    yield "a profile", profile
    profiler = profiling.MLXProfiler("cfc:autoncp:28:8,in=3")
    yield "compute", profiler.profile_compute(batch_size=8, num_runs=20)
    yield "all parts", profiler.profile_all(batch_size=8, num_runs=20)
    yield "a projection", profiler.profile_compute(batch_size=8, device="M4")
    yield "realtime", profiler.profile_realtime(200, deadline=0.01)
    yield "stability", profiler.profile_stability(batch_size=8, num_runs=20)
    yield "history", profiler.plot_history()
    yield "a basic report", profiling.generate_basic_report(profile)
    yield "a detailed report", profiling.generate_detailed_report(profile, chips=["M1", "M4_Max"])
    yield "a comparison", profiling.compare_reports(profile, profile)
    yield "a chip", profiling.DeviceConfig("M4")
    yield "validation", profiling.DeviceConfig("M4").validate_performance("cfc:autoncp:28:8,in=3")
    yield "connectivity", profiling.WiringProfiler(wiring).analyze_connectivity()
    drawn = profiling.WiringVisualizer(wiring)
    yield "a wiring drawn", drawn
    yield "its matrix", drawn.plot_connectivity_matrix()
    yield "its degrees", drawn.plot_degree_distribution()
    yield "its paths", drawn.plot_path_lengths()
    figures = profiling.PerformanceVisualizer()
    stats = {"here": profiling.quick_profile("cfc:8,in=2", num_runs=20), "M4": profiler.profile_compute(device="M4")}
    yield "compute performance", figures.plot_compute_performance(stats)
    yield "memory usage", figures.plot_memory_usage(stats["here"])
    yield "hardware utilization", figures.plot_hardware_utilization(stats["here"])
    model = elegans.open("cfc:8,in=2")
    with profiling.profile() as recorded:
        model(np.zeros((4, 8, 2), "float32"))
    yield "a recording", recorded
    yield "its operations", recorded.key_averages()
    yield "a diagnosis", tools.diagnose_performance("cfc:8,in=2")


def page() -> str:
    parts = []
    for name, shown in displays():
        html = shown._repr_html_()
        parts.append(f"<h2>{name}</h2><div>{html}</div>")
    return f"<!doctype html><meta charset='utf-8'><title>displays</title><style>{STYLE}</style>{''.join(parts)}"


if __name__ == "__main__":
    folder = sys.argv[1]
    with open(os.path.join(folder, "displays.html"), "w", encoding="utf-8") as file:
        file.write(page())
    recorded = profiling.profile_model("cfc:8,in=2", batch_size=2, seq_length=8, num_runs=5)
    recorded.export_chrome_trace(os.path.join(folder, "model.trace.json"))
