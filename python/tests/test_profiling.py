"""elegans.profiling: the names and keys that people know; figures are those of the library; what is unknown is no zero."""

from __future__ import annotations

import inspect
import json
import math
import pickle
import signal
import subprocess
import sys
import threading
import xml.dom.minidom

import numpy as np
import pytest

import elegans
from elegans import _core, _program, profiling
from elegans.profiling import DeviceConfig, Figure, MLXProfiler, profile_function, profile_model, quick_profile

SPEC = "cfc:autoncp:28:8,in=3,seed=1"
KEYS = {
    "compute": "time_mean time_std samples_per_second tflops ne_tflops ne_utilization compute_efficiency peak_memory",
    "memory": "peak_usage current_usage unified_peak total_allocated total_freed bandwidth bandwidth_utilization "
    "cache_hit_rate",
    "hardware": "ne_cycles ne_utilization tflops memory_bandwidth mc_utilization cache_hit_rate power_usage",
}
PROVENANCES = {"measured", "counted", "simulated", "modelled", "spec", "table", "unavailable"}
has_engine = "apple m" in _core.environment()["chip"][0].lower() if _core.environment()["chip"][0] else False


@pytest.fixture(scope="module")
def profile():
    return profile_model(SPEC, 8, 16, 40)


@pytest.fixture(scope="module")
def stats():
    return quick_profile(SPEC, batch_size=8, seq_length=16, num_runs=40)


# ---- names
def test_every_name_is_there():
    names = """quick_profile MLXProfiler DeviceConfig PerformanceMonitor PerformanceVisualizer RealTimeMonitor
        analyze_compute analyze_memory analyze_hardware generate_basic_report generate_detailed_report identify_bottlenecks
        find_optimizations generate_recommendations WiringProfiler WiringVisualizer compare_reports profile"""
    for name in names.split():
        assert name in profiling.__all__ and hasattr(profiling, name), name


@pytest.mark.parametrize(
    "function, arguments",
    [
        (quick_profile, "model batch_size seq_length num_runs forward_fn"),
        (MLXProfiler, "model"),
        (MLXProfiler.profile_compute, "enable_ne device input_shape forward_fn batch_size seq_length num_runs"),
        (MLXProfiler.profile_memory, "track_unified track_bandwidth"),
        (profiling.PerformanceMonitor, "model config"),
        (profiling.RealTimeMonitor, "update_interval"),
        (profiling.profile, "wait warmup active repeat"),
        (profiling.KeyAverages.table, "row_limit"),
    ],
)
def test_argument_names(function, arguments):
    assert set(arguments.split()) <= set(inspect.signature(function).parameters)


def test_keys_of_results():
    profiler = MLXProfiler(SPEC)
    found = profiler.profile_all(batch_size=4, seq_length=4, num_runs=5)
    for kind, keys in KEYS.items():
        assert set(found[kind]) == set(keys.split()), kind
    assert set(profiler.profile_compute(4, 4, 5, enable_ne=True)) == set(KEYS["compute"].split())
    assert set(profiler.profile_memory(4, 4, 5, track_unified=True, track_bandwidth=True)) == set(
        KEYS["memory"].split()
    )
    assert set(profiler.profile_hardware(4, 4, 5)) == set(KEYS["hardware"].split())
    assert {"kernel_time", "memory_time", "num_kernels", "num_transfers"} == set(profiler.profile_stream(4, 4, 5))
    realtime = profiler.profile_realtime(500, deadline=10.0)
    assert realtime["latency_min"] <= realtime["latency_p50"] <= realtime["latency_p99"] <= realtime["latency_max"]
    assert realtime["deadline_met"] is True and realtime["latency_p50"].unit == "s"
    stability = profiler.profile_stability(2, 2, 20)
    assert stability["verdict"] in ("the same", "faster", "slower") and stability["time_min"] <= stability["time_max"]
    for kind in ("compute", "memory", "hardware", "stream", "realtime", "stability"):
        assert kind in profiler.summary()
    xml.dom.minidom.parseString(profiler.plot_history().svg)
    with pytest.raises(ValueError, match="unknown kind"):
        profiler.plot_history(["nothing"])


# ---- figures
def test_an_unavailable_figure():
    gone = Figure(None, unit="W", source="no sensor")
    for spec in ("", ".2f", "5.1e", "g", ",.3f", "+.1%", "010.3f", "n"):
        assert format(gone, spec).strip() == "n/a", spec
    assert f"{gone:>8.2f}|{gone:<6}|{gone:^7}|{gone:*>5}" == "     n/a|n/a   |  n/a  |**n/a"
    for other in (0, 1.5, -math.inf, gone, Figure(1.0)):
        assert not (gone < other or gone > other or gone <= other or gone >= other or gone == other)
        assert not (other < gone or other > gone or other <= gone or other >= gone or other == gone)
    assert not gone and isinstance(gone, float) and math.isnan(gone) and str(gone) == "n/a"
    assert gone.reason == "no sensor" and gone.provenance == "unavailable" and gone.source is None
    for made in (
        gone + 1,
        2 * gone,
        gone / 3,
        1 / gone,
        gone - gone,
        Figure(2.0) * gone,
        gone**2,
        -gone,
        round(gone, 1),
    ):
        assert isinstance(made, Figure) and made.reason == "no sensor"
    with pytest.raises(ValueError, match="no sensor"):
        int(gone)
    again = pickle.loads(pickle.dumps(gone))
    assert again.reason == "no sensor" and again.unit == "W"


def test_a_figure_that_is_there():
    time = Figure(0.25, "measured", "s", "a clock")
    assert time == 0.25 and time * 4 == 1.0 and type(time * 4) is float and f"{time:.3f}" == "0.250"
    assert time.reason is None and time.source == "a clock" and bool(time) and not Figure(0.0)
    assert time.scaled(1000, "ms").unit == "ms" and hash(time) == hash(0.25) and np.float64(time) == 0.25
    assert pickle.loads(pickle.dumps(time)).provenance == "measured"


def test_figures_are_those_of_the_document(profile):
    metrics = profile.document["metrics"]
    assert set(metrics) == set(profile.figures)
    for name, figure in profile.figures.items():
        row = metrics[name]
        assert (figure.provenance, figure.unit) == (row["provenance"], row["unit"])
        if row["value"] is None:
            assert figure.reason == row["reason"] and not figure.available
        else:
            assert figure == row["value"] and figure.source == row["source"]
    compute, memory = MLXProfiler(SPEC).profile_compute(8, 16, 40), profiling.analyze_memory(profile)["figures"]
    assert compute["tflops"] == compute.profile["tflops"]
    assert compute["compute_efficiency"] == pytest.approx(100 * compute.profile["compute_efficiency"])
    assert compute["compute_efficiency"].provenance == compute.profile["compute_efficiency"].provenance
    assert memory["peak_usage"] * 2**20 == pytest.approx(metrics["peak_usage"]["value"])
    assert memory["cache_hit_rate"] == pytest.approx(100 * metrics["cache_hit_rate"]["value"])
    assert (memory["peak_usage"].unit, memory["cache_hit_rate"].unit) == ("MB", "%")
    assert np.median(profile.samples) == pytest.approx(profile["time_median"])
    assert np.mean(profile.samples) == pytest.approx(profile["time_mean"])
    assert len(profile.samples) == 40


def test_the_program_says_the_same(profile):
    command = [_program.path(), "profile", SPEC, "--batch", "8", "--seq", "16", "--runs", "40", "--json", "--no-try"]
    said = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert set(said["metrics"]) == set(profile.document["metrics"])
    for name, row in said["metrics"].items():
        mine = profile[name]
        if name not in ("bandwidth", "bandwidth_utilization", "memory_bandwidth", "mc_utilization"):  # may be too noisy
            assert row["provenance"] == mine.provenance, name
        assert row["unit"] == mine.unit
        if row["provenance"] == "counted" and name in ("flops", "bytes_moved"):
            assert row["value"] == mine


def test_nothing_is_invented(stats):
    for name, figure in stats.rows():
        assert figure.provenance in PROVENANCES
        assert figure.available == (not math.isnan(figure)), name
        assert figure.reason if not figure.available else figure.source, name
    if not has_engine:
        for key in ("ne_tflops", "ne_utilization", "ne_cycles"):
            assert stats[key].reason == "this chip has no Neural Engine"
    for device in ("gpu", "mps", "ane"):
        assert not any(f.available for f in MLXProfiler(SPEC).profile_compute(2, 2, 3, device=device).values())
    memory = MLXProfiler(SPEC).profile_memory(2, 2, 3, track_unified=False, track_bandwidth=False)
    assert "track_bandwidth" in memory["bandwidth"].reason and "track_unified" in memory["unified_peak"].reason
    alone = profile_function(lambda: None, 5)
    assert not alone["tflops"].available and not alone["bandwidth"].available and alone["time_median"].available


def test_projections_are_modelled():
    profiler = MLXProfiler(SPEC)
    here = profiler.profile_compute(32, 16, device="M1")
    assert here["time_mean"].provenance == here["tflops"].provenance == "modelled"
    assert here["ne_tflops"].provenance == "modelled" and not here["peak_memory"].available
    ultra = profiler.profile_compute(32, 16, device="M1_Ultra")
    assert ultra["time_mean"] <= here["time_mean"]
    engine = profiler.profile_compute(32, 16, device="M1", enable_ne=True)
    assert engine["tflops"] == here["ne_tflops"]
    with pytest.raises(KeyError, match="Z80"):
        profiler.profile_compute(1, 1, device="Z80")


# ---- what is profiled
def test_functions_around_models():
    model = elegans.open(SPEC)
    seen = []

    def forward(x, training):
        seen.append((x.shape, training))
        return model(x)

    stats = quick_profile(model, 4, 5, 10, forward_fn=forward)
    assert set(seen) == {((4, 5, 3), False)} and len(seen) >= 13
    flops = profile_model(model, 4, 5, 5)["flops"]
    by_time = float(flops) * 1e-12 / (4 / stats["samples_per_second"])
    assert stats["tflops"] == pytest.approx(by_time)
    with_shape = MLXProfiler(model).profile_compute(input_shape=(2, 7, 3), forward_fn=forward, num_runs=3)
    assert seen[-1] == ((2, 7, 3), False) and with_shape["tflops"].available
    with pytest.raises(ValueError, match="input_shape"):
        quick_profile(lambda x: x)
    with pytest.raises(TypeError, match="expected a Model"):
        quick_profile(3)


def test_modules_of_torch():
    torch = pytest.importorskip("torch")
    module = torch.nn.Linear(6, 2)
    stats = MLXProfiler(module).profile_compute(input_shape=(3, 4, 6), num_runs=5)
    assert stats["time_mean"].available and not stats["tflops"].available
    assert "callback" in stats["tflops"].reason


def test_exceptions_come_through():
    calls = []

    def fails():
        calls.append(1)
        if len(calls) == 5:
            raise ZeroDivisionError("fifth")

    with pytest.raises(ZeroDivisionError, match="fifth"):
        profile_function(fails, 1000)
    assert len(calls) == 5
    with pytest.raises(KeyboardInterrupt):
        profile_function(lambda: signal.raise_signal(signal.SIGINT), 100000)


def test_an_interrupt_ends_a_long_profile():
    timer = threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        profile_model(SPEC, 8, 16, 10_000_000, ceilings=False)
    timer.join()
    assert profile_model(SPEC, 1, 1, 3, ceilings=False)["time_median"].available


def test_threads_profile_at_once():
    model, found = elegans.open(SPEC), []

    def work():
        found.append(profile_model(model, 2, 2, 20, ceilings=False)["flops"])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and len(set(found)) == 1


# ---- chips
def test_devices():
    asked = {
        "M1": (2, 3, 50, 70),
        "M1_Pro": (4, 6, 150, 200),
        "M1_Max": (8, 12, 300, 400),
        "M1_Ultra": (16, 24, 600, 800),
    }
    for key, (tflops, target, bandwidth, wanted) in asked.items():
        config = profiling.device_configs[key]
        assert (config.min_tflops, config.target_tflops) == (tflops, target)
        assert (config.min_bandwidth, config.target_bandwidth) == (bandwidth, wanted)
        assert config.peak_tflops < config.target_tflops  # guides ask for more than these chips have
        missed = config.validate_performance({"tflops": tflops / 4, "bandwidth": bandwidth / 4, "memory": 100.0})
        assert not missed.passed and missed.failed == ["compute", "bandwidth"] and missed["memory"][0] == "met"
    assert [DeviceConfig(f"M1{s}").get_optimal_batch_size() for s in ("", "_Pro", "_Max", "_Ultra")] == [
        32,
        64,
        128,
        256,
    ]
    for key in profiling.device_configs:
        config = DeviceConfig(key)
        assert config.batch_range[0] <= config.get_optimal_batch_size() <= config.batch_range[1]
        assert config.memory_budget.unit == "MB" and config.memory_budget > 0
        assert config.power_budget.available or config.power_budget.reason
    here = DeviceConfig()
    assert here.min_tflops <= here.target_tflops <= here.peak_tflops and here.min_tflops.provenance
    unknown = here.validate_performance({})
    assert unknown.unknown == ["compute", "bandwidth", "memory"] and unknown.passed
    small = DeviceConfig("M1").validate_performance("cfc:8,in=2", batch_size=1)
    assert small["compute"][0] == "does not apply" and small.passed
    assert set(here.validate_performance(SPEC, 8)) == {"compute", "bandwidth", "memory"}
    with pytest.raises(KeyError):
        DeviceConfig("M99")


def test_monitors(capsys):
    monitor = profiling.PerformanceMonitor(SPEC, DeviceConfig())
    assert set(monitor.monitor_compute(4, 4, 5)) == set(KEYS["compute"].split())
    assert set(monitor.monitor_memory(4, 4, 5)) == set(KEYS["memory"].split())
    assert set(monitor.monitor_hardware(4, 4, 5)) == set(KEYS["hardware"].split())
    assert set(monitor.validate()) == {"compute", "bandwidth", "memory"}
    machine = profiling.PerformanceMonitor()
    rate, speed = machine.measure_memory_bandwidth((256, 1024), 5), machine.measure_compute_throughput(128, 5)
    assert (rate.unit, rate.provenance, speed.unit, speed.provenance) == ("GB/s", "measured", "GFLOP/s", "measured")
    with pytest.raises(ValueError, match="without one"):
        machine.monitor_compute()
    live = profiling.RealTimeMonitor(update_interval=0.01)
    with live.start_monitoring(SPEC, num_runs=3):
        assert live.wait(2)
        assert live.update_display().startswith("time_median")
        with pytest.raises(RuntimeError, match="is running"):
            live.start_monitoring(SPEC)
    assert "time_median" in capsys.readouterr().out
    page = elegans.publish("something", "search")
    with page, profiling.RealTimeMonitor(0.1).start_monitoring() as plain:
        page.add(5, 0.002)
        assert plain.wait(2) and "memory_used" in plain.update_display()
        page.add(5, 0.002)
        assert plain.wait(4) and plain.history[-1]["cpu_load"].unit == "%"
        assert plain.monitor is not None and plain.monitor.history("memory_used")[0].mean[-1] > 0
    assert any(update.get("p50", 0) > 0.001 for update in plain.history)
    with pytest.raises(ZeroDivisionError):
        failing = profiling.RealTimeMonitor(0.01).start_monitoring(SPEC, forward_fn=lambda x: 1 / 0)
        assert not failing.wait(1, timeout=20)
        failing.stop_monitoring()


# ---- analysis and reports
def test_analysis_is_that_of_the_library(profile):
    document = profile.document
    assert profiling.identify_bottlenecks(profile) == document["bottlenecks"]
    assert profiling.find_optimizations(profile) == document["opportunities"]
    assert profiling.generate_recommendations(profile) == document["recommendations"]
    compute = profiling.analyze_compute(profile)
    assert compute["verdict"] == document["verdict"] and sum(compute["bounds"].values()) == pytest.approx(1, abs=1e-3)
    engine = profiling.analyze_hardware(profile)["ratios"]["engine"]["ratio"]
    assert has_engine or engine.reason == "this chip has no Neural Engine"
    assert set(profiling.analyze_memory(profile)["ratios"]) == {"bandwidth", "memory", "controller"}
    with pytest.raises(ValueError, match="without a profile"):
        profiling.analyze_compute(MLXProfiler(SPEC).profile_compute(device="M1"))
    slow = profile_model(SPEC, 1, 16, 20, compiled=False)
    assert any(row["rule"] == "compile" for row in slow.recommendations)
    slow.try_advice(0.2)
    assert slow.document["tried"] or slow.recommendations


def test_reports_have_the_figures(profile, tmp_path):
    full = profiling.generate_detailed_report(profile, tmp_path / "page.html", chips=["M1_Pro"])
    basic = profiling.generate_basic_report(profile, tmp_path / "basic.md")
    page = (tmp_path / "page.html").read_text()
    assert (
        page.startswith("<!doctype html>")
        and "M1 Pro" in page
        and "http://" not in page.replace("http://www.w3.org", "")
    )
    assert full.document["metrics"]["flops"]["value"] == profile["flops"]
    assert full.document["devices"][0]["name"] == "M1 Pro" and full.verdict in str(full)
    assert "no Neural Engine" in basic._repr_html_() or has_engine
    assert len(basic.markdown) < len(full.markdown) and (tmp_path / "basic.md").read_text().strip()
    full.save(tmp_path / "run.json")
    again = profiling.Report.load(tmp_path / "run.json")
    assert again.document == full.document and again.figures["flops"] == profile["flops"]
    shown = profile._repr_html_()
    assert "<iframe" not in shown and profile.verdict.split(";")[0][:20] in shown
    for picture in (profile._repr_html_(), full._repr_html_(), profile.figures._repr_html_()):
        xml.dom.minidom.parseString(f"<x>{picture}</x>")
    with pytest.raises(elegans.Error):
        profiling.Report("{}")


def test_names_are_escaped():
    evil = profile_function(lambda: None, 3, name="<script>alert(1)</script>")
    assert "<script>alert" not in evil._repr_html_() and "<script>alert" not in evil.html()


def test_comparisons(profile, tmp_path):
    same = profiling.compare_reports(profile, profile)
    assert same["verdict"] == "the same" and same["ratio"][0] == 1 and same["figures"]["flops"][2] == 1
    twice = json.loads(profile.json())
    twice["time"]["samples"] = [2 * t for t in twice["time"]["samples"]]
    (tmp_path / "old.json").write_text(profile.json())
    slower = profiling.compare_reports(tmp_path / "old.json", twice)
    assert slower["verdict"] == "slower" and slower["ratio"][0] == pytest.approx(2)
    assert "slower" in slower._repr_html_()
    assert profiling.compare_reports(twice, profile)["verdict"] == "faster"
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(1)
    a, b = rng.uniform(1, 2, 15), rng.uniform(1.2, 2.2, 12)
    p = stats.mannwhitneyu(a, b, alternative="two-sided", method="exact").pvalue
    assert _core.compare(list(a), list(b))["p"] == pytest.approx(p, rel=1e-6)
    other = json.loads(profile.json())
    other["machine"]["chip"], other["batch"] = "another", 3
    with pytest.raises(ValueError, match="batch, chip"):
        profiling.compare_reports(profile, other)
    assert profiling.compare_reports(profile, other, force=True)["differ"] == ["batch", "chip"]


def test_statistics_are_those_of_numpy():
    times = np.random.default_rng(3).gamma(2.0, 1e-3, 200)
    s = _core.statistics(list(times))
    assert s["mean"][0] == pytest.approx(times.mean()) and s["p50"][0] == pytest.approx(np.median(times))
    assert s["p90"][0] == pytest.approx(np.percentile(times, 90)) and s["std"] == pytest.approx(times.std(ddof=1))


# ---- pictures
def test_pictures(stats, tmp_path):
    visualizer = profiling.PerformanceVisualizer()
    for plot in (
        visualizer.plot_compute_performance,
        visualizer.plot_memory_usage,
        visualizer.plot_hardware_utilization,
    ):
        picture = plot(stats, tmp_path / "picture.svg")
        xml.dom.minidom.parseString(picture.svg)
        assert (tmp_path / "picture.svg").read_text().strip() == picture._repr_svg_()
        xml.dom.minidom.parseString(plot([stats, stats]).svg)
        xml.dom.minidom.parseString(plot({"a": stats, "b": stats}).svg)
    assert has_engine or "n/a: this chip has no Neural Engine" in visualizer.plot_hardware_utilization(stats).svg
    visualizer.add_metrics(loss=1.0, tflops=stats["tflops"])
    assert "loss" in visualizer.plot_metrics().svg
    with pytest.raises(ValueError, match="none of"):
        visualizer.plot_memory_usage({"nothing": 1.0})


def test_wirings():
    visualizer = profiling.WiringVisualizer("autoncp:28:4,in=6")
    for plot in ("wiring", "connectivity_matrix", "degree_distribution", "path_lengths"):
        xml.dom.minidom.parseString(getattr(visualizer, f"plot_{plot}")().svg)
    profiler = profiling.WiringProfiler("autoncp:28:4,in=6")
    times = profiler.profile_forward(SPEC, 4, 4, 10), profiler.profile_backward(SPEC, 4, 4, 10)
    for found in times:
        assert found["min"] <= found["mean"] <= found["max"] and found["mean"].provenance == "measured"
    assert "backward_time" in profiler.summary() and len(profiler.get_history()["forward_time"]) == 1
    speed, connectivity = profiling.profile_wiring("full:6,in=2", "cfc:6,in=2", 2, 2, 5)
    assert set(speed) == {"forward_time", "backward_time", "memory_mb"} and connectivity["sparsity"] == 0
    with pytest.raises(TypeError, match="wiring"):
        profiling.WiringProfiler(3)


def test_wirings_of_ncps():
    wirings = pytest.importorskip("ncps.wirings")
    graphs = pytest.importorskip("scipy.sparse.csgraph")
    wiring = wirings.AutoNCP(40, 5)
    wiring.build(7)
    found = profiling.WiringProfiler(wiring).analyze_connectivity()
    adjacency = np.abs(wiring.adjacency_matrix)
    assert found["synapses"] == wiring.synapse_count and found["sensory_synapses"] == wiring.sensory_synapse_count
    assert found["max_in_degree"] == adjacency.sum(0).max() and found["max_out_degree"] == adjacency.sum(1).max()
    assert found["avg_in_degree"] == pytest.approx(adjacency.sum(0).mean())
    assert found["num_components"] == graphs.connected_components(adjacency, connection="strong")[0]
    paths = graphs.shortest_path(adjacency, unweighted=True)
    finite = paths[np.isfinite(paths) & ~np.eye(40, dtype=bool)]
    assert found["avg_path_length"] == pytest.approx(finite.mean()) and found["longest_path"] == finite.max()
    xml.dom.minidom.parseString(profiling.WiringVisualizer(wiring).plot_wiring().svg)


# ---- recordings
def test_a_schedule_records_what_it_says(tmp_path):
    model, x, elapsed = elegans.open(SPEC), np.zeros((8, 16, 3), "float32"), np.ones((8, 16), "float32")
    ready = []
    with profiling.profile(
        wait=1, warmup=1, active=2, repeat=2, on_trace_ready=lambda p: ready.append(p.step_num)
    ) as prof:
        for i in range(12):
            with profiling.record_function(f"mine {i}"):
                model(x, elapsed)
            prof.step()
    assert prof.recorded_runs == 4 and ready == [3, 7] and prof.lost_events == 0
    averages = prof.key_averages()
    assert sum(row.flops for row in averages) == 4 * profile_model(SPEC, 8, 16, 5)["flops"]
    assert {"matmul gemm", "add fused", "scan scan"} <= {row.key for row in averages}
    assert sum(row.share for row in averages) == pytest.approx(1)
    table = averages.table(row_limit=3)
    assert len(table.splitlines()) == 6 and "3 of" in table
    assert len(averages.table(sort_by="count", row_limit=-1).splitlines()) == len(averages) + 3
    with pytest.raises(ValueError, match="sort_by"):
        averages.table(sort_by="colour")
    prof.export_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    mine = {e["name"]: e for e in events if e["cat"] == "user"}
    assert {f"mine {i}" for i in (2, 3, 6, 7)} <= set(mine) and "mine 0" not in mine
    recorded = [e for e in events if e["cat"] in ("run", "scan")]
    assert recorded and all(e["dur"] >= 0 for e in recorded)
    for number, i in enumerate((2, 3, 6, 7)):  # a recording per cycle, whose runs count from 1; both clocks in us
        own = [
            e
            for e in recorded
            if e["args"]["run"] == number % 2 + 1 and (e["ts"] > mine["mine 6"]["ts"] - 1) == (i > 3)
        ]
        span = max(e["ts"] + e["dur"] for e in own) - min(e["ts"] for e in own)
        assert 0 < span <= mine[f"mine {i}"]["dur"] * 1.05 + 1


def test_models_that_go_while_they_are_recorded():
    x = np.zeros((2, 3, 3), "float32")
    with profiling.profile() as prof:
        for _ in range(3):
            model = elegans.open(SPEC)
            model(x)
            model(x[:1])
            model.load_state_dict(model.state_dict())
            model(x)
            del model
    assert prof.recorded_runs == 9 and len(prof.key_averages())
    assert _core.record_take() == []
    with profiling.profile(active=1, skip_first=5) as none:
        elegans.open(SPEC)(x)
    assert none.recorded_runs == 0 and len(none.key_averages()) == 0 and none.key_averages().table()
    with profiling.profile() as first:
        with pytest.raises(RuntimeError, match="another profile"):
            profiling.profile().start()
    assert first.recorded_runs == 0
    with pytest.raises(RuntimeError, match="not recording"):
        first.step()
    with pytest.raises(ValueError, match="at least 0"):
        profiling.profile(wait=-1)


def test_threads_that_compute_while_recordings_are_taken():
    model, x, stop = elegans.open("cfc:64,in=8"), np.zeros((64, 32, 8), "float32"), threading.Event()

    def work():
        while not stop.is_set():
            model(x)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    runs = 0
    for _ in range(30):
        with profiling.profile() as prof:
            model(x)
        runs += prof.recorded_runs
    stop.set()
    for thread in threads:
        thread.join()
    assert runs >= 30 and _core.record_take() == []


def test_files_of_a_profile(profile, tmp_path):
    profile.export_chrome_trace(tmp_path / "t.json")
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    profile.export_stacks(tmp_path / "s.txt")
    assert all(line.rsplit(" ", 1)[1].isdigit() for line in (tmp_path / "s.txt").read_text().splitlines())
    profile.save(tmp_path / "p.md")
    assert "|" in (tmp_path / "p.md").read_text()
    with pytest.raises(elegans.Error):
        profile.export_chrome_trace(tmp_path / "no" / "t.json")
    with pytest.raises(ValueError):
        profile_function(lambda: None, 3).export_chrome_trace(tmp_path / "f.json")


# ---- the machine
def test_the_machine(profile):
    ceilings = profiling.ceilings()
    assert ceilings["fma_one"].provenance == "measured" and ceilings["fma_one"] > 0
    around = profiling.environment()
    assert "chip=" in around["fingerprint"] and isinstance(around["load"], Figure)
    assert around["version"] == elegans.__version__
    found = profiling.diagnose(profile)
    assert {row["health"] for row in found["findings"] + found["checklist"]} <= {"good", "bad", "unknown"}
    assert len(profiling.diagnose()["checklist"]) == len(found["checklist"])


def test_odd_arguments_raise():
    model = elegans.open(SPEC)
    odd = (None, 3, -1, 1.5, "x", b"x", [], {}, object(), float("nan"), model, lambda: None, (1, 2), 1 << 70)
    names = """profile_model profile_function profile_training quick_profile report_of_text chip preset check project
        statistics compare bench_gemm latency diagnose times_svg wiring_figures""".split()
    for name in names:
        function = getattr(_core, name)
        for one in odd:
            for two in odd:
                if name == "latency" and one is model and (two is None or two == 0):
                    continue  # a million steps
                try:
                    function(one, two)
                except (TypeError, ValueError, KeyError, OverflowError, elegans.Error):
                    pass
    with pytest.raises(TypeError, match="comes from"):
        _core.Profile()
    with pytest.raises(ValueError, match="5 numbers"):
        _core.profile_model(model, schedule=(1, 2))
    with pytest.raises(elegans.ArgumentError, match="more than"):
        _core.profile_model(model, runs=10**9)


def test_references_are_given_back():
    model = elegans.open(SPEC)
    before = sys.getrefcount(model)
    held = _core.memory()["all"]["current"]
    for _ in range(8):
        profile_model(model, 1, 2, 2, ceilings=False).document
        _core.quick_profile(model, lambda: None, runs=1)
        _core.profile_training(model, 1, 2, 1)
        _core.project(model, "M1")
        _core.wiring_figures("full:4,in=2")
    assert sys.getrefcount(model) == before
    assert _core.memory()["all"]["current"] == held
