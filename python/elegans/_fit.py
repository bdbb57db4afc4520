"""Training, evaluation and prediction over frames, arrays and files."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Callable, Iterable, Sequence, Union

import numpy as np

from . import _core, _data, _html
from ._data import Columns
from ._model import Array, Model, PathLike
from ._model import open as open_model
from ._progress import Silent
from ._progress import progress as progress_of

Callback = Callable[["dict[str, Any]"], Any]
ColumnOrValues = Union[str, int, None, Array]
DEFAULT_MODEL = "cfc:autoncp:32:16"
DEFAULT_WINDOW = 64


@dataclass
class Training:
    """What a training came to. Losses are in standardized units, metrics in those of the data."""

    model: Model = field(repr=False)
    loss: str
    history: list[dict[str, Any]] = field(repr=False)
    """Of each epoch: loss, validation (None without such data), rate, gradient_norm, seconds."""
    best: float | None
    """The least validation loss, or training loss without validation data; its parameters are kept."""
    best_epoch: int
    epochs: int
    steps: int
    initial: float | None = field(repr=False)
    """The loss of the model before the training."""
    constant: float | None = field(repr=False)
    """The loss of predicting the mean of the targets, or the frequencies of the classes."""
    metrics: dict[str, Any] | None = field(repr=False)
    """Of the validation data, as evaluate() has them."""
    stopped: bool = field(repr=False)
    """By a callback."""
    early: bool = field(repr=False)
    """Because `patience` epochs were no better."""
    batch_size: int = field(repr=False)
    seconds: float = field(repr=False)
    """Measured."""
    memory: int = field(repr=False)
    """Bytes that the training took; counted."""
    skipped: int = field(repr=False)
    """Updates skipped because a gradient overflowed f16."""
    scale: float = field(repr=False)
    checkpoints_failed: int = field(repr=False)
    svg: str | None = field(repr=False)

    def _repr_svg_(self) -> str | None:
        return self.svg

    def _repr_html_(self) -> str:
        trivial = "predicting the frequencies" if self.loss == "classes" else "predicting the mean"
        figures: list[tuple[str, Any, str]] = [
            ("loss", self.loss, "chosen"),
            ("epochs", f"{self.epochs}, best {_text(self.best)} at epoch {self.best_epoch}", "measured"),
            ("before training", _text(self.initial), "measured"),
            (trivial, _text(self.constant), "measured"),
            ("time", f"{self.seconds:.3g} s, {self.steps} steps of {self.batch_size} windows", "measured"),
            ("memory", f"{self.memory / 1e6:.4g} MB", "counted"),
        ]
        for name, value in (self.metrics or {}).items():
            if not isinstance(value, list):
                figures.append((f"validation {name}", _text(value), "counted" if name == "rows" else "measured"))
        return _html.table(figures, right=(1,)) + (_html.image(self.svg, "losses by epoch") if self.svg else "")


def _text(value: Any) -> str:
    return "n/a" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


# ---- options
def _time_of(value: Any) -> float:
    """A moment as the library counts it: a number, or seconds since 1970 of a date."""
    if isinstance(value, (datetime, date, np.datetime64, str)) or hasattr(value, "to_datetime64"):
        if isinstance(value, datetime) and value.tzinfo is not None:
            return value.timestamp()
        return float(_data._seconds(np.array([value], "datetime64[ns]"))[0])
    return float(value)


@dataclass
class _Cut:
    """How tables are cut into windows; None where nothing was asked for."""

    window: int | str | None
    stride: int | None
    partial: bool
    last: bool | None

    def options(self, made: _data.Source, recalled_last: bool = False) -> dict[str, Any]:
        last = self.last if self.last is not None else made.last or recalled_last
        whole = self.window in (0, "whole") or (self.window is None and (made.samples or made.last))
        if isinstance(self.window, str) and self.window != "whole":
            raise ValueError(f"window: expected a number of rows or 'whole', given {self.window!r}")
        window = 0 if whole else DEFAULT_WINDOW if self.window is None else self.window
        stride = (int(window) + 1) // 2 if self.stride is None else self.stride
        return {"window": window, "stride": stride, "partial": self.partial, "last": last}


def _create(made: _data.Source, cut: _Cut, options: dict[str, Any]) -> _core.Data:
    """A data set; recordings that are shorter than the default window are windows themselves."""
    try:
        return _core.data(made.tables, **options)
    except _core.ArgumentError:
        if cut.window is not None or options["partial"] or not options["window"]:
            raise
        try:
            data = _core.data(made.tables, **{**options, "partial": True})
        except _core.Error:
            data = None
        if data is None:
            raise
    warnings.warn(f"no recording has {options['window']} rows, the default window: each is one window", stacklevel=4)
    return data


def _roles(made: _data.Source, names: dict[str, Any]) -> dict[str, str | None]:
    """Columns by what they are: those given as arrays have the names of their arguments."""
    roles = {
        key: key if _data.is_array(names[key]) else made.column(names[key]) for key in ("time", "timespans", "group")
    }
    for key in ("inputs", "targets"):
        roles[key] = made.columns(names[key] if names[key] is not None else getattr(made, key))
    return roles


def _has(made: _data.Source, name: str | None) -> bool:
    return name is None or made.names is None or name in made.names


# ---- training
def _is_spec(model: Any) -> bool:
    return isinstance(model, str) and model.startswith(("cfc:", "ltc:"))


def _is_fresh(model: Model, recalled: dict[str, Any]) -> bool:
    """It has learned nothing that units would spoil: no notes of a training, and no file that it came from."""
    return recalled["loss"] is None and (model.name is None or _is_spec(model.name))


def _choose_loss(loss: str | None, classes: Any, recalled: dict[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """The loss where it is known, and what that says of the targets."""
    options: dict[str, Any] = {}
    if classes is not None and not isinstance(classes, (bool, np.bool_)):
        options["labels"] = [str(label) for label in classes]
        classes = True
    elif recalled["labels"]:
        options["labels"] = recalled["labels"]
    if loss is None:
        loss = "classes" if classes else recalled["loss"]
    if loss is not None:
        if classes is not None and bool(classes) != (loss == "classes"):
            raise ValueError(f"classes: {classes} does not go with the loss {loss!r}")
        options["classes"] = loss == "classes"
    elif classes is not None:
        options["classes"] = bool(classes)
    if not options.get("classes"):
        options.pop("labels", None)
    return loss, options


def _call(callbacks: Iterable[Callback], show: Callable[[dict[str, Any]], None], steps: bool) -> Callback:
    each = list(callbacks)

    def tell(now: dict[str, Any]) -> bool:
        show(now)
        if now["event"] == "step" and not steps:
            return False
        said = [callback(dict(now)) for callback in each]
        return any(isinstance(value, (bool, np.bool_)) and bool(value) for value in said)

    return tell


def _validation(whole: _core.Data, validation: Any, split: dict[str, Any], other: Callable[[Any], _core.Data]) -> Any:
    """(to learn from, to validate on): a fraction, other data, or nothing."""
    if validation is None or validation is False:
        if split["at"] is None:
            return whole, None
        return whole.split(**split)
    if isinstance(validation, (int, float, np.number)):
        if validation == 0 and split["at"] is None:
            return whole, None
        return whole.split(float(validation), **split)
    return whole, other(validation)


def fit(
    model: Model | PathLike | None,
    data: Any,
    targets: Columns = None,
    inputs: Columns = None,
    time: ColumnOrValues = None,
    timespans: ColumnOrValues = None,
    group: ColumnOrValues = None,
    classes: bool | Sequence[Any] | None = None,
    *,
    window: int | str | None = None,
    stride: int | None = None,
    partial: bool = False,
    last: bool | None = None,
    ahead: int = 0,
    missing: str | None = None,
    validation: Any = 0.2,
    split: str = "auto",
    split_at: Any = None,
    split_seed: int = 0,
    loss: str | None = None,
    standardize: str | None = None,
    time_unit: float | None = None,
    epochs: int = 50,
    patience: int | None = None,
    batch: int | str | None = None,
    accumulate: int = 1,
    rate: float = 0.001,
    optimizer: str = "adam",
    momentum: float | None = None,
    weight_decay: float = 0.0,
    clip: float | None = None,
    schedule: str = "cosine",
    decay: float | None = None,
    floor: float | None = None,
    warmup: float | None = None,
    average: float | None = None,
    memory: int | None = None,
    dtype: str | None = None,
    seed: int = 0,
    checkpoint: PathLike | None = None,
    checkpoint_steps: int | None = None,
    resume: bool = False,
    keep_last: bool = False,
    callbacks: Callback | Sequence[Callback] = (),
    every_step: bool = False,
    progress: bool | str = True,
    reading: dict[str, Any] | None = None,
) -> Training:
    """Trains a model on the rows of tables, as the program `elegans train` does: same data and options, same bits.

    `model` is a Model, a file, or a spec such as "cfc:autoncp:32:16", which the data complete (None: that one).

    `data` is a frame of pandas (columns of datetimes are dates, those of texts and categories are labels), a dict of
    columns or a structured array, an array [rows, columns], the path of a .csv, .npy or .npz (`reading`: no_header,
    short_header, decimal, dates, encoding), a list of these, which are recordings then, or a pair (x, y): x [samples,
    time, features] with y [samples, time, outputs] or [samples, outputs], a list of [time, features], or rows x with y.

    `targets` and `inputs` are columns (None: all numbers that mean nothing else). `time` is a column of times or dates,
    `timespans` one of the times between rows, `group` one whose value changes where a recording begins; these three
    may be arrays, too. The target is a class when it has labels, or with `classes` (True, or the labels in order).

    Recordings are cut into windows of `window` rows ("whole": not at all; None: 64, and samples of arrays as they
    are), each `stride` rows after the one before (None: half a window), with one target for each if `last`.
    `validation` is a fraction, other data, or None; `split` ("auto", "recordings", "time", "windows") or `split_at` (a
    time) says how a fraction is taken.

    A model that has learned nothing yet gets the units of the data (`standardize`: "both", "inputs", "targets",
    "none"); one that has keeps its own, and remembers columns, labels and loss. `loss` is "mse", "mae", "huber",
    "binary" or "classes". `batch` counts windows ("auto": as many as fit into `memory` bytes; None: 32). `dtype` "bf16"
    or "f16" is mixed precision.

    `callbacks` are called with a dict after each epoch, each checkpoint and, with `every_step`, each update: event,
    epoch, epochs, batch, batches, steps, loss, validation, best, rate, ... One that returns True ends the training; its
    exceptions end it, too, and are raised. Ctrl-C raises KeyboardInterrupt. In all three cases a `checkpoint` was
    written, from which `resume` continues bit for bit, and the model has the best parameters so far. `progress`: True,
    False, "lines", "terminal" or "notebook".

    >>> import numpy
    >>> t = numpy.arange(400) / 10
    >>> table = {"t": t, "wave": numpy.sin(t), "next": numpy.sin(t + 0.1)}
    >>> training = fit("cfc:8", table, targets="next", time="t", epochs=3, rate=0.01, seed=1)
    >>> [line["epoch"] for line in training.history], training.model.note("inputs")
    ([1, 2, 3], ['wave'])
    >>> predict(training.model, table).shape
    (400, 1)
    """
    reading = dict(reading or {})
    given = None if model is None or _is_spec(model) else model if isinstance(model, Model) else open_model(model)
    recalled = _core.fit_recall(given) if given is not None else dict.fromkeys(_RECALLED)
    reading.setdefault("dates", recalled["dates"])
    names = _fill(dict(inputs=inputs, targets=targets, time=time, timespans=timespans, group=group), recalled)
    made = _data.source(data, reading, _inputs_of(given), **_extras(names))
    names["targets"] = names["targets"] if names["targets"] is not None else made.targets
    if names["targets"] is None:
        raise ValueError("targets: expected the columns to learn, given None")
    loss, chosen = _choose_loss(loss, classes, recalled)
    is_known = loss is not None
    cut = _Cut(recalled["window"] if window is None and recalled["inputs"] else window, stride, partial, last)
    options = {
        **_roles(made, names),
        **chosen,
        **cut.options(made, bool(recalled["last"])),
        "ahead": ahead or recalled["ahead"] or 0,
        "missing": missing or recalled["missing"] or "error",
        "first_timespan": recalled["first_timespan"] if given is not None and recalled["loss"] else 0.0,
    }
    whole = _create(made, cut, options)
    info = whole.info()
    if not is_known:
        loss = "classes" if info["classes"] else "mse"
        if whole.is_binary():
            warnings.warn(
                f"target {info['targets'][0]!r} is 0 or 1 in all rows: loss='binary' predicts how likely 1 is "
                "(loss='mse' is what happens now)",
                stacklevel=2,
            )
    options["classes"] = bool(info["classes"])

    def other(more: Any) -> _core.Data:
        source = _data.source(more, reading, _inputs_of(given), **_extras(names))
        labels = {"labels": info["classes"]} if info["classes"] else {}
        return _create(source, cut, {**options, **_roles(source, names), **labels, "first_timespan": info["span"]})

    splitting = {"kind": split, "at": None if split_at is None else _time_of(split_at), "seed": split_seed}
    training, second = _validation(whole, validation, splitting, other)
    if given is None:
        given = open_model(_core.fit_spec(str(model or DEFAULT_MODEL), training, seed))
    if standardize is None and _is_fresh(given, recalled):
        standardize = "both"
    shown = progress_of(progress)
    each = [callbacks] if callable(callbacks) else list(callbacks)
    try:
        result = _core.fit(
            given,
            training,
            second,
            loss=loss,
            standardize=standardize,
            time_unit=time_unit,
            dates=reading["dates"],
            optimizer=optimizer,
            rate=rate,
            momentum=momentum,
            weight_decay=weight_decay,
            clip=clip,
            schedule=schedule,
            decay=decay,
            floor=floor,
            warmup=warmup,
            epochs=epochs,
            patience=patience,
            batch=32 if batch is None else 0 if batch == "auto" else batch,
            accumulate=accumulate,
            memory=memory,
            dtype=_dtype(dtype),
            seed=seed,
            average=average,
            checkpoint=None if checkpoint is None else os.fspath(checkpoint),
            checkpoint_steps=checkpoint_steps,
            resume=resume,
            keep_last=keep_last,
            progress=None if not each and type(shown) is Silent else _call(each, shown.show, every_step),
            interval=0.0 if every_step else shown.interval,
        )
    finally:
        shown.close()
    if result["best"] is not None and result["constant"] is not None and result["best"] >= result["constant"]:
        what = "the frequencies of the classes" if loss == "classes" else "the mean"
        warnings.warn(
            f"the best {'training' if second is None else 'validation'} loss is {result['best']:.4g}, but predicting "
            f"{what} has {result['constant']:.4g}: train longer (epochs), or with another rate",
            RuntimeWarning,
            stacklevel=2,
        )
    metrics = None if second is None else _core.evaluate(given, second, loss)[0]
    return Training(model=given, metrics=metrics, **result)


_RECALLED = "inputs targets time timespans group first_timespan labels missing ahead window last loss dates".split()


def _dtype(dtype: Any) -> str | None:
    """A data type by its name here, in numpy or in torch."""
    if dtype is None:
        return None
    name = str(dtype).rpartition(".")[2].strip("'>")
    return {"float32": "f32", "bfloat16": "bf16", "float16": "f16"}.get(name, name)


def _fill(names: dict[str, Any], recalled: dict[str, Any]) -> dict[str, Any]:
    """What was not given is what the model remembers."""
    filled = dict(names)
    for key in ("inputs", "targets", "group"):
        if filled[key] is None:
            filled[key] = recalled[key]
    if filled["time"] is None and filled["timespans"] is None:
        filled["time"], filled["timespans"] = recalled["time"], recalled["timespans"]
    return filled


def _inputs_of(model: Model | None) -> list[str] | None:
    return model.note("inputs") or None if model is not None else None


def _extras(names: dict[str, Any]) -> dict[str, Any]:
    return {key: names[key] for key in ("time", "timespans", "group")}


# ---- evaluation
def _rows_once(
    model: Model, data: Any, names: dict[str, Any], cut: _Cut, missing: str | None, reading: Any, learns: dict[str, Any]
) -> tuple[_core.Data, _data.Source]:
    """Each row once, or windows where these were asked for, with what the model remembers."""
    recalled = _core.fit_recall(model)
    reading = dict(reading or {})
    reading.setdefault("dates", recalled["dates"])
    filled = _fill(names, recalled)
    made = _data.source(data, reading, _inputs_of(model), **_extras(filled))
    if not learns:
        filled["targets"] = None
    elif names["targets"] is None and made.targets is not None:
        filled["targets"] = made.targets
    if names["group"] is None and not _has(made, filled["group"]):
        filled["group"] = None  # a table of one recording needs none
    roles = _roles(made, filled)
    if not learns:
        roles["targets"] = None
    last = bool(recalled["last"]) if cut.last is None else cut.last
    is_cut = cut.window is not None or cut.stride is not None
    window = recalled["window"] if cut.window is None and recalled["inputs"] else cut.window
    stride = cut.stride
    if is_cut and stride is None:
        stride = cut.window if isinstance(cut.window, int) else None
    if not is_cut:
        window, stride = (window, 1) if last else (0, None)
    options = {
        **roles,
        **_Cut(window, stride, cut.partial or not is_cut, last).options(made),
        **learns,
        "ahead": (recalled["ahead"] or 0) if learns else 0,
        "missing": missing or recalled["missing"] or "error",
        "first_timespan": recalled["first_timespan"],
    }
    return _core.data(made.tables, **options), made


def evaluate(
    model: Model,
    data: Any,
    targets: Columns = None,
    inputs: Columns = None,
    time: ColumnOrValues = None,
    timespans: ColumnOrValues = None,
    group: ColumnOrValues = None,
    *,
    window: int | str | None = None,
    stride: int | None = None,
    partial: bool = False,
    last: bool | None = None,
    missing: str | None = None,
    loss: str | None = None,
    batch: int = 0,
    reading: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """How good a model is on data of the kinds that fit() takes: each row once or, with `window` or `stride`, windows.

    Columns, labels and loss are those of the training unless given. The loss is in standardized units, as in training;
    rows, mse, rmse, mae and r2 (or accuracy, f1 and macro_f1) are in those of the data, and None where they are
    undefined; "targets" or "classes" has those of each one.

    >>> import numpy
    >>> x = numpy.random.default_rng(1).normal(size=(40, 12, 2)).astype("float32")
    >>> training = fit("cfc:8", (x, x.sum(2, keepdims=True)), epochs=2, seed=1)
    >>> sorted(evaluate(training.model, (x, x.sum(2, keepdims=True))))
    ['loss', 'mae', 'mse', 'r2', 'rmse', 'rows', 'targets']
    """
    recalled = _core.fit_recall(model)
    loss = loss or recalled["loss"] or "mse"
    learns: dict[str, Any] = {"classes": loss == "classes"}
    if learns["classes"] and recalled["labels"]:
        learns["labels"] = recalled["labels"]
    names = dict(inputs=inputs, targets=targets, time=time, timespans=timespans, group=group)
    whole, _ = _rows_once(model, data, names, _Cut(window, stride, partial, last), missing, reading, learns)
    info = whole.info()
    rows = info["windows"] if info["last"] else info["covered"]
    if not info["targets"] or info["without_target"] >= rows:
        raise ValueError(f"targets: none of the {rows} rows has a value to compare with; predict() needs none")
    metrics, _outputs = _core.evaluate(model, whole, loss, batch)
    assert metrics is not None
    return metrics


def predict(
    model: Model,
    data: Any,
    inputs: Columns = None,
    time: ColumnOrValues = None,
    timespans: ColumnOrValues = None,
    group: ColumnOrValues = None,
    *,
    window: int | str | None = None,
    stride: int | None = None,
    last: bool | None = None,
    missing: str | None = None,
    batch: int = 0,
    reading: dict[str, Any] | None = None,
) -> Any:
    """What a model says of each row of data, in their units; of classes, the probabilities.

    An array [rows, outputs] of float32, [samples, time, outputs] for samples ([samples, outputs] of a model with one
    target for each), a list of arrays for a list, a frame for a frame. Rows without a prediction are NaN: those that
    `missing="drop"` leaves out. Error where a column of the training is not there.

    >>> import numpy
    >>> t = numpy.arange(300) / 10
    >>> training = fit("cfc:8", {"x": numpy.sin(t), "y": numpy.cos(t)}, targets="y", epochs=2, progress=False)
    >>> predict(training.model, {"x": numpy.sin(t)}).shape
    (300, 1)
    """
    names = dict(inputs=inputs, targets=None, time=time, timespans=timespans, group=group)
    cut = _Cut(window, stride, False, last)
    whole, made = _rows_once(model, data, names, cut, missing, reading, {})
    _metrics, arrays = _core.evaluate(model, whole, "mse", batch, False, True)
    assert arrays is not None
    if made.is_list:
        return [array[-1] for array in arrays] if _is_one_each(whole, made) else arrays
    values = arrays[0]
    if made.samples is not None:
        values = values.reshape(*made.samples, values.shape[1])
        return values[:, -1] if whole.info()["last"] else values
    if made.index is None:
        return values
    import pandas

    return pandas.DataFrame(values, index=made.index, columns=output_names(model, values.shape[1]))


def _is_one_each(whole: _core.Data, made: _data.Source) -> bool:
    info = whole.info()
    return bool(info["last"]) and info["windows"] == len(made.tables)


def output_names(model: Model, count: int) -> list[str]:
    """The classes or targets of the outputs, or "y0", .. where the model was not told."""
    names = model.note("labels" if model.info()["link"] == "softmax" else "targets")
    return names if len(names) == count else [f"y{index}" for index in range(count)]
