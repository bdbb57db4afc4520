"""Monitors see what programs of Python publish; recordings, sensors of other machines, threads."""

import json
import math
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import elegans
from elegans import _core, monitoring
from elegans.monitoring import Monitor
from elegans.profiling import Figure

SPEC = "cfc:autoncp:12:3,in=4,seed=1"


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "pages"
    made.mkdir(mode=0o700)
    return made


def only(monitor):
    (program,) = monitor.read().programs
    return program


def test_calls_and_steps_are_counted(folder):
    model, other = elegans.open(SPEC), elegans.open(SPEC)
    x = np.zeros((2, 5, 4), "f4")
    with Monitor(folder=folder) as monitor, elegans.publish(model, "test", folder=folder) as page:
        assert page.is_open and page.reason is None
        model(x)
        other(x)  # somebody else's
        with pytest.raises(elegans.Error):
            model(x, -1.0)  # not a step
        stream = model.stream()
        for _ in range(10):
            stream.step(x[0, 0])
        program = only(monitor)
        assert (program.pid, program.activity, program.model) == (os.getpid(), "test", SPEC)
        assert program["steps"] == 11 and program["steps"].provenance == "counted"
        model(x)
        program = only(monitor)
        assert program["steps"] == 12 and 0 < program["p50"] < 1 and program["flop_rate"] > 0
        assert program["p50"].provenance == "measured" and isinstance(program["p50"], Figure)
        assert program["loss"].reason == "it trains nothing" and math.isnan(program["loss"])
        assert "bound" in program.verdict and "us/step" in program.verdict or "ms/step" in program.verdict
    assert not page.is_open and not list(folder.iterdir())
    model(x)  # nobody publishes


def test_the_publisher_that_was_opened_last_and_takes_the_model(folder):
    model, other = elegans.open(SPEC), elegans.open(SPEC)
    x = np.zeros((1, 2, 4), "f4")
    with elegans.publish(None, "all", folder=folder), elegans.publish(model, "one", folder=folder):
        model(x)
        other(x)
        other(x)
        with Monitor(folder=folder) as monitor:
            steps = {p.activity: int(p["steps"]) for p in monitor.read().programs}
    assert steps == {"all": 2, "one": 1}


def test_a_training_publishes_losses_and_costs(folder):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((40, 8, 4)).astype("f4")
    seen = []

    def look(progress):
        if progress["event"] == "epoch":
            with Monitor(folder=folder) as monitor:
                seen.append(only(monitor))

    with elegans.publish(None, "train", folder=folder):
        elegans.fit("cfc:8", (x, x[:, :, :1]), epochs=3, batch=8, callbacks=look, progress=False)
    last = seen[-1]
    assert last["epoch"] == 3 and last["epochs"] == 3 and last["updates"] >= 9 and last["loss"] > 0
    assert [step for step, _, _ in last.losses] == sorted(step for step, _, _ in last.losses) and len(last.losses) > 2
    assert last["steps"] == last["updates"] and "published" not in last.verdict, last.verdict


def test_tokens_operations_and_reports_of_other_programs(folder):
    with Monitor(folder=folder) as monitor, elegans.publish("name", folder=folder, program="tester") as page:
        page.tokens(7)
        page.add(3, 0.25, flops=1e6, bytes=1e3)
        page.add()
        page.operations([("gemm_f32", 0.75), ("fused", 0.25)])
        page.train(epoch=2, epochs=4, step=9, loss=0.5, validation=0.25, learning_rate=0.01)
        with page.step():
            pass
        with pytest.raises(ZeroDivisionError):
            with page.step():
                1 / 0
        program = only(monitor)
    assert (program.program, program.model, program.activity) == ("tester", "name", "run")
    assert program["steps"] == 5 and program["tokens"] == 7
    assert program.operations == [("gemm_f32", 0.75), ("fused", 0.25)] and program.losses == [(9, 0.5, 0.25)]
    assert program["gradient_norm"].reason and program["learning_rate"] == 0.01
    page.add(1)  # after close: nothing
    for wrong in (("x",), ([1],), ([("a", "b")],), (3,)):
        with pytest.raises((TypeError, ValueError)):
            page.operations(*wrong)


def test_what_cannot_be_published_says_why_and_goes_on(tmp_path, monkeypatch):
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    with elegans.publish(folder=open_to_all) as page:
        assert not page.is_open and "open" in page.reason
        elegans.open(SPEC)(np.zeros((1, 2, 4), "f4"))
    monkeypatch.setenv("ELEGANS_PUBLISH", "0")
    assert "ELEGANS_PUBLISH" in elegans.publish().reason
    with pytest.raises(TypeError, match="model"):
        elegans.publish(3)


def test_the_program_sees_it(folder):
    """`elegans monitor`, which is another program."""
    program = os.environ.get("ELEGANS") or os.path.join(os.path.dirname(elegans.__file__), "bin", "elegans")
    env = {**os.environ, "XDG_RUNTIME_DIR": str(folder)}
    code = (
        "import elegans, numpy, subprocess, sys\n"
        "model = elegans.open(sys.argv[2])\n"
        "with elegans.publish(model, 'policy'):\n"
        "    model(numpy.zeros((1, 2, 4), 'f4'))\n"
        "    print(subprocess.run([sys.argv[1], 'monitor', '--once', '--json'], capture_output=True, text=True).stdout)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, program, SPEC], capture_output=True, text=True, env=env, timeout=60)
    found = [p for p in json.loads(done.stdout)["programs"] if p["activity"] == "policy"]
    assert len(found) == 1 and found[0]["model"] == SPEC, done.stderr


# ---- monitors
def test_a_line_is_a_recording(folder, tmp_path):
    with Monitor(folder=folder) as monitor, elegans.publish("m", folder=folder) as page:
        with pytest.raises(elegans.Error):
            monitor.line()  # before the first sample
        lines = []
        for _ in range(3):
            page.add(2)
            monitor.read()
            lines.append(monitor.line())
    assert json.loads(lines[0])["programs"][0]["model"] == "m"
    path = tmp_path / "recording.jsonl"
    path.write_text("\n".join(lines) + "\n")
    with Monitor(replay=path) as again:
        steps = [int(sample.programs[0]["steps"]) for sample in again]
        with pytest.raises(EOFError):
            again.read()
    assert steps == [2, 4, 6]
    with pytest.raises(elegans.MissingFileError):
        Monitor(replay=tmp_path / "none.jsonl")


def test_history(folder):
    with Monitor(folder=folder) as monitor, elegans.publish("m", "walk", folder=folder) as page:
        for i in range(4):
            page.add(1)
            monitor.read()
        (steps,) = monitor.history("steps")
        memory = monitor.history("memory_used", label="")[0]
        assert monitor.history(pid=os.getpid()) and not monitor.history("nothing")
    assert (steps.label, steps.pid, steps.unit) == ("walk", os.getpid(), "steps")
    assert steps.most[-1] == 4 and steps.samples.sum() == 4 and memory.mean[-1] > 0
    assert len(steps.time) == len(steps.mean) == len(steps.least)


def test_a_thread_samples_and_calls_back(folder):
    seen, monitor = [], Monitor(folder=folder)
    with monitor:
        monitor.start(0.01, seen.append)
        assert monitor.wait(3)
        with pytest.raises(RuntimeError, match="was started"):
            monitor.start(0.01)
        assert monitor.history("memory_used")  # while it runs, from this thread
        monitor.stop()
        count = len(seen)
        assert count >= 3 and monitor.latest is seen[-1]
        monitor.start(0.01, lambda sample: 1 / 0)
        assert not monitor.wait(50, timeout=20)
        with pytest.raises(ZeroDivisionError):
            monitor.stop()
        with pytest.raises(ValueError, match="interval"):
            monitor.start(0)
        assert len(seen) == count
    with pytest.raises(ValueError, match="closed"):
        monitor.read()
    assert threading.active_count() >= 1


def test_sensors_of_another_machine(tmp_path):
    zone = tmp_path / "sys/class/powercap/intel-rapl:0"
    zone.mkdir(parents=True)
    (zone / "name").write_text("package-0\n")
    (zone / "energy_uj").write_text("1000000\n")
    (zone / "max_energy_range_uj").write_text("262143328850\n")
    with Monitor(root=tmp_path) as monitor:
        (zone / "energy_uj").write_text("3500000\n")
        sample = monitor.read()
        assert sample.figure("energy", "package-0") == pytest.approx(2.5)
        assert sample["power"].unit == "W" and sample["power"] > 0
        assert sample["temperature"].reason and sample.figure("energy", "psys").reason.startswith("no energy of 'psys'")
        with pytest.raises(KeyError, match="sensors are"):
            sample["warp"]
    assert "power" in sample._repr_html_()


def test_one_thread_at_a_time_is_what_the_extension_has(folder):
    core = _core.Monitor(folder=str(folder))
    errors = []

    def work():
        for _ in range(30):
            try:
                core.read()
            except RuntimeError as error:
                errors.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all("another thread" in text for text in errors)
    assert core.read()["elapsed"] >= 0
    assert monitoring.publish is elegans.publish
