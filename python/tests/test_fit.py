"""Training from Python: the same bits as the program, from every kind of data; callbacks, Ctrl-C, checkpoints."""

from __future__ import annotations

import base64
import _thread
import doctest
import gc
import io
import os
import pickle
import subprocess
import sys
import threading
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import elegans
from elegans import _core, _fit, _progress

PROGRAM = Path(elegans.__file__).parent / "bin" / "elegans"
pytestmark = pytest.mark.filterwarnings("ignore:the best .* loss is:RuntimeWarning")
SPEC = "cfc:autoncp:12:3"


def waves(rows: int = 600) -> dict[str, Any]:
    random = np.random.default_rng(0)
    t = np.cumsum(random.uniform(0.1, 0.3, rows))
    return {
        "t": t,
        "a, b": np.sin(t) * 3 + 10,
        "b": np.cos(1.7 * t),
        "y": 100 * np.sin(t + 0.3),
        "kind": np.where(np.sin(t) > 0.3, "up", np.where(np.sin(t) < -0.3, "down", "Über")),
        "trip": np.repeat(["p", "q", "r"], rows // 3),
    }


def write_csv(path: Path, columns: dict[str, Any]) -> Path:
    rows = zip(*columns.values())
    quoted = (f'"{name}"' for name in columns)
    path.write_text("\n".join([",".join(quoted), *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


def train_by_program(path: Path, *options: Any, out: Path | None = None) -> bytes:
    out = out or path.with_suffix(".safetensors")
    subprocess.run(
        [PROGRAM, "train", "--data", path, "--quiet", "--output", out, *map(str, options)],
        check=True,
        capture_output=True,
    )
    return out.read_bytes()


def saved(model: elegans.Model, folder: Path) -> bytes:
    model.save(folder / "python.safetensors")
    return (folder / "python.safetensors").read_bytes()


def values(model: elegans.Model) -> dict[str, Any]:
    return model.state_dict()


def same(a: elegans.Model, b: elegans.Model) -> bool:
    first, second = values(a), values(b)
    return first.keys() == second.keys() and all(np.array_equal(first[name], second[name]) for name in first)


# ---- against the program: whole files, parameters, units, notes and all
COMMON = ("--model", SPEC, "--epochs", 3, "--seed", 5, "--validation", 0.2, "--rate", 0.01)
PYTHON = dict(epochs=3, seed=5, rate=0.01)


@pytest.mark.parametrize(
    "options, arguments",
    [
        (
            ("--target", "y", "--time", "t", "--group", "trip", "--window", 32),
            dict(targets="y", time="t", group="trip", window=32),
        ),
        (("--target", "kind", "--time", "t"), dict(targets="kind", time="t")),
        (
            ("--target", "y,b", "--whole", "--group", "trip", "--batch", 2),
            dict(targets=["y", "b"], window="whole", group="trip", batch=2),
        ),
        (
            (
                "--target",
                "y",
                "--spans",
                "b",
                "--last",
                "--ahead",
                2,
                "--stride",
                3,
                "--missing",
                "mean",
                "--standardise",
                "inputs",
            ),
            dict(targets="y", timespans="b", last=True, ahead=2, stride=3, missing="mean", standardize="inputs"),
        ),
        (
            ("--target", "y", "--optimizer", "rmsprop", "--momentum", 0.5, "--weight-decay", 0.01, "--clip", 1)
            + (
                "--schedule",
                "exponential",
                "--decay",
                0.9,
                "--warmup",
                1,
                "--average",
                0.9,
                "--accumulate",
                2,
                "--dtype",
                "bf16",
            ),
            dict(targets="y", optimizer="rmsprop", momentum=0.5, weight_decay=0.01, clip=1, schedule="exponential")
            | dict(decay=0.9, warmup=1, average=0.9, accumulate=2, dtype="bf16"),
        ),
        (
            ("--target", "y", "--loss", "huber", "--split", "windows", "--split-seed", 3),
            dict(targets="y", loss="huber", split="windows", split_seed=3),
        ),
        (
            ("--target", "y", "--time", "t", "--split-at", 60, "--time-unit", 0.5),
            dict(targets="y", time="t", split_at=60, time_unit=0.5),
        ),
    ],
)
def test_same_file_as_the_program(tmp_path: Path, options: Any, arguments: Any) -> None:
    columns = waves()
    if "--spans" in options:
        columns["b"] = np.abs(columns["b"])
    path = write_csv(tmp_path / "table.csv", columns)
    expected = train_by_program(path, *COMMON, *options)
    for data in (columns, path):
        training = elegans.fit(SPEC, data, **PYTHON, **arguments)
        assert saved(training.model, tmp_path) == expected


def test_same_as_the_program_with_dates_of_pandas(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    columns = waves()
    frame = pandas.DataFrame(
        {**columns, "t": pandas.Timestamp("2015-02-04 17:51") + pandas.to_timedelta(np.round(columns["t"], 3), "s")}
    )
    frame["kind"] = frame["kind"].astype("category")
    frame.to_csv(tmp_path / "table.csv", index=False)
    expected = train_by_program(tmp_path / "table.csv", *COMMON, "--target", "kind", "--time", "t")
    for given in (
        frame,
        frame.assign(t=frame["t"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"), kind=frame["kind"].astype(str)),
    ):
        assert saved(elegans.fit(SPEC, given, targets="kind", time="t", **PYTHON).model, tmp_path) == expected


def test_same_as_the_program_with_arrays(tmp_path: Path) -> None:
    x = np.random.default_rng(1).normal(size=(30, 20, 3))
    y = x.cumsum(1)[..., :2]
    dt = np.random.default_rng(2).uniform(0.1, 1, (30, 20))
    np.savez(tmp_path / "a.npz", x=x, y=y, timespans=dt)
    expected = train_by_program(
        tmp_path / "a.npz", *COMMON, "--target", "y", "--inputs", "x", "--spans", "timespans", "--whole"
    )
    assert saved(elegans.fit(SPEC, (x, y), timespans=dt, **PYTHON).model, tmp_path) == expected
    given = dict(x=x, y=y, timespans=dt)
    training = elegans.fit(SPEC, given, targets="y", inputs="x", timespans="timespans", **PYTHON)
    assert saved(training.model, tmp_path) == expected
    flat = np.concatenate([x, y], axis=2)
    np.save(tmp_path / "b.npy", flat)
    expected = train_by_program(tmp_path / "b.npy", *COMMON, "--target", "4-5", "--whole")
    for targets in ("4-5", [3, 4], [-2, -1]):
        assert saved(elegans.fit(SPEC, flat, targets=targets, **PYTHON).model, tmp_path) == expected


def test_another_training_of_a_model_remembers(tmp_path: Path) -> None:
    columns = waves()
    path = write_csv(tmp_path / "table.csv", columns)
    first = train_by_program(path, *COMMON, "--target", "kind", "--time", "t", "--window", 16)
    (tmp_path / "first.safetensors").write_bytes(first)
    expected = train_by_program(path, "--model", tmp_path / "first.safetensors", "--epochs", 2, "--validation", path)
    training = elegans.fit(tmp_path / "first.safetensors", columns, epochs=2, validation=columns)
    assert saved(training.model, tmp_path) == expected
    again = elegans.open(tmp_path / "first.safetensors")
    assert elegans.fit(again, path, epochs=2, validation=path).model is again
    assert same(again, training.model) and training.loss == "classes"


# ---- kinds of data
def test_kinds_of_data_agree() -> None:
    pandas = pytest.importorskip("pandas")
    columns = {name: values for name, values in waves(300).items() if name in ("a, b", "b", "y")}
    options: Any = dict(epochs=2, seed=3)
    expected = elegans.fit(SPEC, columns, targets="y", **options)
    frame = pandas.DataFrame(columns)
    records = frame.to_records(index=False)
    assert same(expected.model, elegans.fit(SPEC, frame, targets="y", **options).model)
    assert same(expected.model, elegans.fit(SPEC, records, targets="y", **options).model)
    assert same(expected.model, elegans.fit(SPEC, frame.to_numpy(), targets=-1, **options).model)
    assert same(expected.model, elegans.fit(SPEC, (frame[["a, b", "b"]], frame["y"]), **options).model)
    assert same(expected.model, elegans.fit(SPEC, (frame[["a, b", "b"]].to_numpy(), columns["y"]), **options).model)
    assert same(expected.model, elegans.fit(SPEC, frame.astype("Float64"), targets="y", **options).model)


def test_recordings_as_a_list() -> None:
    columns = waves(300)
    parts = [{name: values[i * 100 : i * 100 + 100] for name, values in columns.items()} for i in range(3)]
    options: Any = dict(targets="y", epochs=2, seed=3, inputs=["a, b", "b"])
    grouped = elegans.fit(SPEC, columns, group="trip", **options)
    assert same(grouped.model, elegans.fit(SPEC, parts, **options).model)
    x = [np.stack([part["a, b"], part["b"]], 1) for part in parts]
    y = [part["y"] for part in parts]
    assert same(grouped.model, elegans.fit(SPEC, (x, y), epochs=2, seed=3).model)
    said = elegans.predict(grouped.model, [dict(zip(("a, b", "b"), part.T)) for part in x])
    whole = elegans.predict(grouped.model, columns)
    assert [len(part) for part in said] == [100, 100, 100] and np.array_equal(np.concatenate(said), whole)


def test_one_target_for_each_sample() -> None:
    random = np.random.default_rng(1)
    x = random.normal(size=(200, 7, 2)).astype("float32")
    y = (x[:, -1, 0] > 0).astype(int)
    training = elegans.fit("cfc:8", (x, y), classes=True, epochs=20, rate=0.03, seed=1, validation=0.25)
    assert training.metrics is not None and training.metrics["accuracy"] > 0.9
    assert training.model.note("labels") == ["0", "1"] and training.model.note("last") == ["true"]
    said = elegans.predict(training.model, x)
    assert said.shape == (200, 2) and np.allclose(said.sum(1), 1, atol=1e-6)
    expected, _ = training.model(x, return_sequences=False)
    assert np.allclose(said, expected, atol=1e-6)
    texts = np.where(y == 1, "yes", "no")
    named = elegans.fit("cfc:8", (x, texts), epochs=1, seed=1)
    assert named.loss == "classes" and named.model.note("labels") == ["no", "yes"]
    ordered = elegans.fit("cfc:8", (x, texts), classes=["yes", "no"], epochs=1, seed=1)
    assert ordered.model.note("labels") == ["yes", "no"]


@pytest.mark.parametrize(
    "data, arguments, kind, part",
    [
        ({"a": [1.0] * 9, "y": [2.0] * 8}, dict(targets="y"), ValueError, "one length"),
        ({"a": [1.0] * 9, "y": [2.0] * 9}, dict(targets="z"), elegans.Error, "z"),
        ({"a": [1.0] * 9, "y": [2.0] * 9}, {}, ValueError, "targets: expected"),
        ({"a": [1j] * 9, "y": [2.0] * 9}, dict(targets="y"), TypeError, "complex128"),
        ({"a": ["x"] * 9, "y": [2.0] * 9}, dict(targets="y", inputs="a"), ValueError, "labels"),
        ({"a": [np.nan] * 9, "y": [2.0] * 9}, dict(targets="y"), elegans.Error, "no value"),
        (np.zeros((2, 3, 4, 5)), dict(targets=0), ValueError, "1 to 3 axes"),
        ((np.zeros((4, 5, 2)), np.zeros((3, 2))), {}, ValueError, "given shape (3, 2)"),
        ((np.zeros((4, 5, 2)), np.zeros((4, 6, 2))), {}, ValueError, "given shape (4, 6, 2)"),
        ("nowhere.csv", dict(targets="y"), FileNotFoundError, "nowhere.csv"),
        ({"a": [1.0] * 9, "y": [2.0] * 9}, dict(targets="y", loss="wings"), ValueError, "'mse', 'mae'"),
        ({"a": [1.0] * 9, "y": [2.0] * 9}, dict(targets="y", rate=-1), ValueError, "rate: -1.0 is not above 0"),
        ({"a": [1.0] * 9, "y": [2.0] * 9}, dict(targets="y", epochs=0), ValueError, "epochs"),
        ({"a": [1.0] * 9, "y": [2.0] * 9}, dict(targets="y", batch="x"), TypeError, "batch"),
        ({"a": [1.0] * 9, "y": [2.0] * 9}, dict(targets="y", window="x"), ValueError, "window"),
        ({"a": [1.0] * 9, "y": [2.0] * 9}, dict(targets="y", progress="x"), ValueError, "progress"),
        ({"a": [1.0] * 9, "y": [2.0] * 9}, dict(targets="y", classes=True, loss="mse"), ValueError, "classes"),
        ({"a": [1.0] * 9, "y": [2.0] * 9}, dict(targets="y", callbacks=[3]), TypeError, "not callable"),
        ({"a": [1.0] * 9, "y": [2.0] * 9}, dict(targets="y", time=[1.0]), ValueError, "time: expected 9 values"),
        ("nowhere.csv", dict(targets="y", time=[1.0]), FileNotFoundError, "nowhere.csv"),
    ],
)
def test_refusals(data: Any, arguments: Any, kind: type[Exception], part: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(kind) as caught:
            elegans.fit("cfc:4", data, **arguments)
    assert part in str(caught.value)


def test_a_training_that_fails_leaves_the_model_as_it_was() -> None:
    model = elegans.open("cfc:8,in=2,proj=1,seed=1")
    x = np.random.default_rng(0).normal(size=(20, 10, 2)).astype("float32")
    before, expected = values(model), model(x)[0]
    with pytest.raises(elegans.Error, match="learning rate|not finite|nothing was learned"):
        elegans.fit(model, (x, 1e3 * x[..., :1]), rate=1e6, optimizer="sgd", epochs=3)
    assert all(np.array_equal(before[name], value) for name, value in values(model).items())
    assert np.array_equal(model(x)[0], expected) and not model.note("inputs")


# ---- results
def test_metrics_against_numpy() -> None:
    columns = waves()
    training = elegans.fit(SPEC, columns, targets=["y", "b"], inputs="a, b", epochs=2, validation=None)
    assert training.metrics is None and all(line["validation"] is None for line in training.history)
    y = np.stack([columns["y"], columns["b"]], 1)
    said = elegans.predict(training.model, columns)
    metrics = elegans.evaluate(training.model, columns)
    assert metrics["rows"] == len(y) == len(said)
    assert np.isclose(metrics["mse"], np.mean((said - y) ** 2), rtol=1e-5)
    assert np.isclose(metrics["mae"], np.mean(abs(said - y)), rtol=1e-5)
    spread = ((y - y.mean(0)) ** 2).sum()
    assert np.isclose(metrics["r2"], 1 - ((said - y) ** 2).sum() / spread, atol=1e-5)
    assert [target["name"] for target in metrics["targets"]] == ["y", "b"]
    assert np.isclose(metrics["targets"][1]["mse"], np.mean((said[:, 1] - y[:, 1]) ** 2), rtol=1e-5)
    with pytest.raises(ValueError, match="nothing|to compare with"):
        elegans.evaluate(training.model, {**columns, "y": np.full(600, np.nan), "b": np.full(600, np.nan)})


def test_classes_against_numpy() -> None:
    columns = waves()
    training = elegans.fit(SPEC, columns, targets="kind", epochs=5, rate=0.01)
    said = elegans.predict(training.model, columns)
    labels = np.array(training.model.note("labels"))
    assert list(labels) == ["down", "up", "Über"]
    chosen = labels[said.argmax(1)]
    metrics = elegans.evaluate(training.model, columns)
    assert np.isclose(metrics["accuracy"], np.mean(chosen == columns["kind"]))
    for row in metrics["classes"]:
        truth = columns["kind"] == row["label"]
        assert row["support"] == truth.sum()
        assert row["predicted"] == [np.sum(truth & (chosen == label)) for label in labels]


def test_a_stream_says_the_same() -> None:
    columns = waves(90)
    model = elegans.fit(SPEC, columns, targets="y", time="t", epochs=2).model
    said = elegans.predict(model, columns)
    stream = model.stream()
    x = np.stack([columns["a, b"], columns["b"]], 1).astype("float32")
    spans = np.diff(columns["t"], prepend=np.nan)
    first = model.info()["timespan"]
    for row in range(90):
        y = stream.step(x[row], first if row == 0 else float(spans[row]))
        assert np.allclose(y, said[row], rtol=1e-3, atol=1e-2)


def test_frames_in_frames_out() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(waves(300), index=[f"row {i}" for i in range(300)])
    model = elegans.fit(SPEC, frame, targets="kind", time="t", epochs=1).model
    said = elegans.predict(model, frame.drop(columns=["kind", "trip"]))
    assert list(said.index) == list(frame.index) and list(said.columns) == model.note("labels")
    frame.loc["row 7", "b"] = np.nan
    with pytest.raises(elegans.Error, match="row 8, column 'b'"):
        elegans.predict(model, frame)
    dropped = elegans.predict(model, frame, missing="drop")
    assert dropped.isna().any(axis=1).tolist() == [i == 7 for i in range(300)]


def test_result_for_the_eyes() -> None:
    training = elegans.fit(SPEC, waves(300), targets="y", epochs=3)
    svg = training._repr_svg_()
    assert svg is not None and svg.startswith("<svg") and "validation" in svg
    page = training._repr_html_()
    assert base64.b64encode(svg.encode()).decode() in page and "measured" in page and "counted" in page
    assert len(training.history) == 3 and training.best == min(line["validation"] for line in training.history)
    assert repr(training).startswith("Training(loss='mse', best=")
    copy = pickle.loads(pickle.dumps(training))
    assert copy.history == training.history and same(copy.model, training.model)


def test_warns_of_yes_and_no_and_of_short_recordings() -> None:
    with pytest.warns(UserWarning, match="loss='binary'"):
        elegans.fit("cfc:4", {"a": np.arange(200.0), "y": np.arange(200.0) % 2}, targets="y", epochs=1)
    with pytest.warns(UserWarning, match="each is one window"):
        elegans.fit("cfc:4", {"a": np.arange(40.0), "y": np.arange(40.0)}, targets="y", epochs=1, validation=None)


# ---- callbacks
def test_callbacks() -> None:
    seen: list[dict[str, Any]] = []
    training = elegans.fit(SPEC, waves(), targets="y", epochs=3, batch=4, callbacks=seen.append)
    assert [now["event"] for now in seen] == ["epoch"] * 3
    assert [now["loss"] for now in seen] == [line["loss"] for line in training.history]
    assert [now["validation"] for now in seen] == [line["validation"] for line in training.history]
    seen.clear()
    again = elegans.fit(SPEC, waves(), targets="y", epochs=3, batch=4, callbacks=[seen.append], every_step=True)
    steps = [now["steps"] for now in seen if now["event"] == "step"]
    assert steps == list(range(1, again.steps + 1)) and same(training.model, again.model)


def test_a_callback_that_stops() -> None:
    training = elegans.fit(SPEC, waves(), targets="y", epochs=9, callbacks=lambda now: now["epoch"] == 4)
    assert training.stopped and training.epochs == 4 and len(training.history) == 4
    shorter = elegans.fit(
        SPEC, waves(), targets="y", epochs=9, callbacks=[lambda now: np.bool_(now["epoch"] == 1), print]
    )
    assert shorter.epochs == 1 and not shorter.early
    early = elegans.fit(SPEC, waves(), targets="y", epochs=40, patience=1, rate=0.3)
    assert early.early or early.epochs == 40


def test_an_exception_in_a_callback(tmp_path: Path) -> None:
    class Own(Exception):
        pass

    def fail(now: dict[str, Any]) -> None:
        if now["epoch"] == 2:
            raise Own("no more")

    model = elegans.open("cfc:8,in=2,proj=1")
    x = np.random.default_rng(0).normal(size=(30, 8, 2))
    with pytest.raises(Own, match="no more") as caught:
        elegans.fit(model, (x, x[..., :1]), epochs=5, callbacks=fail, checkpoint=tmp_path / "c")
    assert any(entry.name == "fail" for entry in caught.traceback)
    assert (tmp_path / "c").exists()
    assert model(x.astype("float32"))[0].shape == (30, 8, 1)  # it can be used again
    elegans.fit(model, (x, x[..., :1]), epochs=1)


def test_ctrl_c_then_resume_bit_for_bit(tmp_path: Path) -> None:
    options: Any = dict(targets="y", time="t", epochs=4, batch=4, seed=2)
    expected = elegans.fit(SPEC, waves(), **options)

    def press(now: dict[str, Any]) -> None:
        if now["epoch"] == 3 and now["batch"] == 2:
            _thread.interrupt_main()

    with pytest.raises(KeyboardInterrupt):
        elegans.fit(SPEC, waves(), checkpoint=tmp_path / "c", callbacks=press, every_step=True, **options)
    seen: list[dict[str, Any]] = []
    resumed = elegans.fit(
        SPEC, waves(), checkpoint=tmp_path / "c", resume=True, callbacks=seen.append, every_step=True, **options
    )
    assert seen[0]["resumed"] and seen[0]["epoch"] == 3 and seen[0]["batch"] > 2
    assert same(resumed.model, expected.model)
    losses = [[line["validation"] for line in training.history] for training in (resumed, expected)]
    assert losses[0] == losses[1]
    other = elegans.fit(SPEC, waves(), checkpoint=tmp_path / "absent", resume=True, **options)  # nothing to resume from
    assert same(other.model, expected.model)


def test_nobody_uses_a_model_that_is_trained(tmp_path: Path) -> None:
    model = elegans.open("cfc:8,in=2,proj=1")
    x = np.random.default_rng(0).normal(size=(30, 8, 2)).astype("float32")
    refused: list[str] = []

    def use(now: dict[str, Any]) -> None:
        uses = (
            lambda: model(x),
            model.stream,
            lambda: model.save(tmp_path / "m"),
            lambda: model.read(0),
            lambda: model.quantize("i8"),
            lambda: elegans.predict(model, x),
            lambda: elegans.fit(model, (x, x[..., :1]), epochs=1),
            lambda: model.export_c(tmp_path),
        )
        for attempt in uses:
            with pytest.raises(RuntimeError) as caught:
                attempt()
            refused.append(str(caught.value))

    elegans.fit(model, (x, x[..., :1]), epochs=1, callbacks=use)
    assert len(refused) == 8
    assert model(x)[0].shape == (30, 8, 1)


def test_trainings_in_threads() -> None:
    results: list[elegans.Training] = []
    threads = [
        threading.Thread(target=lambda: results.append(elegans.fit(SPEC, waves(300), targets="y", epochs=2, seed=4)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4 and all(same(results[0].model, result.model) for result in results)


# ---- progress
class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_in_a_terminal(monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    tty = Tty()
    monkeypatch.setattr(sys, "stderr", tty)
    elegans.fit(SPEC, waves(300), targets="y", epochs=2)
    lines = tty.getvalue().rstrip("\n").split("\r")[1:]
    assert lines and all(len(line) == 79 for line in lines)
    assert "epoch 2/2 [################] loss" in lines[-1] and "val" in lines[-1]
    quiet = Tty()
    monkeypatch.setattr(sys, "stderr", quiet)
    elegans.fit(SPEC, waves(300), targets="y", epochs=2, progress=False)
    assert quiet.getvalue() == ""
    plain = io.StringIO()
    monkeypatch.setattr(sys, "stderr", plain)
    elegans.fit(SPEC, waves(300), targets="y", epochs=2)
    assert plain.getvalue() == ""
    elegans.fit(SPEC, waves(300), targets="y", epochs=2, progress="lines")
    assert len(plain.getvalue().splitlines()) == 2


def test_progress_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    class Handle:
        def update(self, page: str) -> None:
            shown.append(page)

    def display(page: str, display_id: bool) -> Handle:
        assert display_id
        shown.append("first")
        return Handle()

    class ZMQInteractiveShell:
        pass

    module, inner = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    module.get_ipython = ZMQInteractiveShell  # type: ignore[attr-defined]
    inner.HTML, inner.display = str, display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setitem(sys.modules, "IPython.display", inner)
    elegans.fit(SPEC, waves(300), targets="y", epochs=3)
    assert shown[0] == "first" and "epoch 3/3" in shown[-1] and "<progress" in shown[-1]
    assert isinstance(_progress.progress(True), _progress.Notebook)


# ---- the extension itself
def test_nothing_leaks() -> None:
    columns = waves(120)

    def everything() -> None:
        model = elegans.fit("cfc:4", columns, targets="kind", time="t", epochs=1).model
        elegans.evaluate(model, columns)
        elegans.predict(model, columns)
        for wrong in (
            dict(targets="nothing"),
            dict(targets="y", rate=-1),
            dict(targets="y", callbacks=lambda now: 1 / 0),
        ):
            with pytest.raises((elegans.Error, ValueError, ZeroDivisionError)):
                elegans.fit("cfc:4", columns, epochs=1, **wrong)  # type: ignore[arg-type]

    everything()
    gc.collect()
    before = elegans.memory()["all"]["current"]
    for _ in range(20):
        everything()
    gc.collect()
    assert elegans.memory()["all"]["current"] == before


def test_any_argument_is_refused_without_a_crash() -> None:
    table = _core.table(np.zeros((9, 2)), ["a", "b"])
    data = _core.data([table], targets="b")
    model = elegans.open("cfc:4,in=1,proj=1")
    odd: list[Any] = [
        None,
        3,
        -1,
        2.5,
        "x",
        b"x",
        [],
        [1],
        {},
        object(),
        np.zeros(3),
        table,
        data,
        model,
        lambda: 1,
        float("nan"),
        2**70,
    ]
    for function in (_core.table, _core.data, _core.table_read, _core.fit_recall, data.split):
        for value in odd:
            try:
                function(value)
            except (TypeError, ValueError, elegans.Error, OverflowError, OSError):
                pass
    for value in odd:
        for call in (
            lambda: _core.fit(model, value),
            lambda: _core.fit(value, data),
            lambda: _core.fit(model, data, value, epochs=1),
            lambda: _core.fit_spec(value, data),
            lambda: _core.evaluate(value, data),
            lambda: _core.evaluate(model, value),
            lambda: _core.table(np.zeros((9, 2)), value, value),
            lambda: _core.table(np.zeros((9, 2)), ["a", "b"], [value, value]),
            lambda: _core.data([table], value, value, value, value, value, value, value, value),
            lambda: _core.data([table], targets="b", labels=value, classes=True),
        ):
            try:
                call()
            except (TypeError, ValueError, elegans.Error, OverflowError, OSError):
                pass
    for name in (
        "loss",
        "rate",
        "momentum",
        "epochs",
        "batch",
        "seed",
        "checkpoint",
        "progress",
        "interval",
        "dates",
        "standardize",
        "dtype",
        "memory",
    ):
        for value in odd:
            if name == "checkpoint" and isinstance(value, (str, bytes)):
                continue
            try:
                _core.fit(model, data, **{"epochs": 1, name: value})
            except (TypeError, ValueError, elegans.Error, OverflowError, OSError, RuntimeError):
                pass


@pytest.mark.parametrize(
    "values_, kinds, part",
    [
        (np.zeros((2, 2), "float32"), None, "float64"),
        (np.zeros(3), None, "axes"),
        (np.zeros((4, 6))[:, ::2], None, "contiguous"),
        (np.array([[0.5, 0]]), [["a", "b"], "number"], "not the index of a label"),
        (np.array([[2.0, 0]]), [["a", "b"], "number"], "not the index of a label"),
        (np.array([[0.0, 0]]), [["b", "a"], "number"], "not sorted"),
        (np.array([[0.0, 0]]), ["day", "number"], "'date'"),
        (np.array([[0.0, 0]]), ["number"], "one for each column"),
    ],
)
def test_tables_are_checked(values_: Any, kinds: Any, part: str) -> None:
    with pytest.raises((TypeError, ValueError), match=part):
        _core.table(values_, None, kinds)


def test_examples() -> None:
    assert doctest.testmod(_fit, optionflags=doctest.ELLIPSIS).failed == 0


# ---- real data
@pytest.mark.skipif("ELEGANS_DATA" not in os.environ, reason="ELEGANS_DATA names no folder of data sets")
def test_occupancy_of_a_room(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    folder = Path(os.environ["ELEGANS_DATA"]) / "occupancy"
    if not (folder / "datatraining.txt").exists():
        pytest.skip("no occupancy data")
    frame = pandas.read_csv(folder / "datatraining.txt", parse_dates=["date"])
    inputs = ["Temperature", "Humidity", "Light", "CO2"]
    options: Any = dict(
        targets="Occupancy", time="date", inputs=inputs, loss="binary", epochs=6, rate=0.01, validation=0.1
    )
    training = elegans.fit("cfc:autoncp:16:1", frame, **options)
    expected = train_by_program(
        folder / "datatraining.txt",
        *(
            "--short-header",
            "--target",
            "Occupancy",
            "--time",
            "date",
            "--inputs",
            ",".join(inputs),
            "--loss",
            "binary",
        ),
        *("--model", "cfc:autoncp:16:1", "--epochs", 6, "--rate", 0.01),
        out=tmp_path / "program.safetensors",
    )
    assert saved(training.model, tmp_path) == expected
    assert training.model.info()["gives"] == "probability"
    test = pandas.read_csv(folder / "datatest.txt", parse_dates=["date"], index_col="id")
    metrics = elegans.evaluate(training.model, test)
    said = elegans.predict(training.model, test.drop(columns="Occupancy"))
    accuracy = ((said["Occupancy"] > 0.5) == test["Occupancy"]).mean()
    assert accuracy > 0.95 and np.isclose(metrics["accuracy"], accuracy)
