"""Data as Python has it (frames, arrays, files), as tables of the library."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, Mapping, Sequence, Union

import numpy as np

from . import _core

Columns = Union[None, str, int, Sequence[Union[str, int]]]
Kind = Union[str, "list[str]"]


@dataclass
class Source:
    """Tables of one set of data, and how results for them are shaped."""

    frames: list[dict[str, Any]]
    """Columns of each table; none where files were read."""
    names: list[str] | None
    """Names of the columns; None: they have numbers."""
    inputs: Columns = None
    targets: Columns = None
    last: bool = False
    """There is one target for each recording."""
    samples: tuple[int, int] | None = None
    """Recordings and steps of an array of samples."""
    is_list: bool = False
    index: Any = None
    """That of a frame of pandas."""
    tables: list[_core.Table] = field(default_factory=list)

    def columns(self, value: Columns) -> str | None:
        """A list of columns as the library reads it."""
        if value is None or (isinstance(value, str) and (self.names is None or value not in self.names)):
            return value
        items: Sequence[Any] = [value] if isinstance(value, (str, int, np.integer)) else list(value)
        return ",".join(self._quoted(item) for item in items)

    def column(self, value: str | int | None) -> str | None:
        """One column, by its name or its position from 0."""
        if value is None or isinstance(value, str):
            return value
        return self._name(value)

    def _name(self, item: Any) -> str:
        if self.names is not None and str(item) in self.names:
            return str(item)
        if isinstance(item, (int, np.integer)):
            if self.names is not None and -len(self.names) <= item < len(self.names):
                return self.names[item]
            count = self.tables[0].info()["columns"]
            if -count <= item < count:
                return str(item % count + 1)
        return str(item)

    def _quoted(self, item: Any) -> str:
        name = self._name(item)
        if self.names is None or name not in self.names:
            return name
        return '"' + name.replace('"', '""') + '"'


# ---- columns
def _seconds(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Dates or timespans of numpy in seconds; whole seconds are exact."""
    unit = "datetime64[ns]" if values.dtype.kind == "M" else "timedelta64[ns]"
    whole = values.astype(unit).view("int64")
    seconds = whole // 10**9 + (whole % 10**9) / 1e9
    return np.where(np.isnat(values), np.nan, seconds)


def _labelled(values: Sequence[Any]) -> tuple[np.ndarray[Any, Any], Kind]:
    """Texts as positions among the sorted labels; what is empty is missing, as in a file."""
    texts = [None if _is_missing(value) or value == "" else str(value) for value in values]
    labels = sorted({text for text in texts if text is not None})
    position = {label: float(index) for index, label in enumerate(labels)}
    return np.array([np.nan if text is None else position[text] for text in texts], "float64"), labels


def _is_missing(value: Any) -> bool:
    return value is None or value is _pandas_na() or (isinstance(value, (float, np.floating)) and np.isnan(value))


def _pandas_na() -> Any:
    import sys

    return getattr(sys.modules.get("pandas"), "NA", None)


def _column(name: str, given: Any) -> tuple[np.ndarray[Any, Any], Kind]:
    """One column as float64 and what its numbers are: "number", "date" or labels."""
    dtype = getattr(given, "dtype", None)
    if getattr(dtype, "tz", None) is not None:
        given = given.dt.tz_convert("UTC").dt.tz_localize(None)
    elif hasattr(dtype, "categories"):
        given = given.astype(given.dtype.categories.dtype)
    elif dtype is not None and not isinstance(dtype, np.dtype) and hasattr(given, "to_numpy"):
        kind = getattr(dtype, "kind", "O")
        given = given.to_numpy(dtype="float64", na_value=np.nan) if kind in "iufb" else given.to_numpy(dtype=object)
    values = np.asarray(given)
    if values.dtype.kind in "fiub":
        return values.astype("float64"), "number"
    if values.dtype.kind in "Mm":
        return _seconds(values), "date" if values.dtype.kind == "M" else "number"
    if values.dtype.kind in "USO":
        return _objects(values)
    raise TypeError(f"column {name!r}: expected numbers, dates or texts, given {values.dtype}")


def _objects(values: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], Kind]:
    present = [value for value in values.tolist() if not _is_missing(value)]
    if present and all(isinstance(value, (int, float, np.number)) for value in present):
        return np.array([np.nan if _is_missing(value) else value for value in values.tolist()], "float64"), "number"
    if present and all(hasattr(value, "isoformat") for value in present):
        return _seconds(np.array([None if _is_missing(v) else v for v in values.tolist()], "datetime64[ns]")), "date"
    return _labelled([value.decode() if isinstance(value, bytes) else value for value in values.tolist()])


def _table(columns: Mapping[str, Any], steps: int, is_named: bool) -> _core.Table:
    made = [_column(name, values) for name, values in columns.items()]
    rows = {len(values) for values, _ in made}
    if len(rows) != 1:
        lengths = {name: len(values) for name, (values, _) in zip(columns, made)}
        raise ValueError(f"data: expected columns of one length, given {lengths}")
    values = np.ascontiguousarray(np.stack([values for values, _ in made], axis=1))
    return _core.table(values, list(columns) if is_named else None, [kind for _, kind in made], steps)


# ---- arrays: as the library reads .npy and .npz
def _array(given: Any) -> np.ndarray[Any, Any]:
    return np.asarray(given.detach().cpu() if hasattr(given, "detach") else given)


def _named(name: str, values: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """The columns of an array whose last axis they are."""
    return {f"{name}.{i + 1}": values[..., i].reshape(-1) for i in range(values.shape[-1])}


def _mapping(data: Mapping[Any, Any]) -> tuple[dict[str, Any], tuple[int, int] | None]:
    """Columns of a dict, by the rules of an .npz: one array of rank 3 makes all of them [recordings, steps, ..]."""
    arrays = {str(name): values if hasattr(values, "dtype") else _array(values) for name, values in data.items()}
    deep = [np.shape(values)[:2] for values in arrays.values() if np.ndim(values) == 3]
    columns: dict[str, Any] = {}
    if not deep:
        for name, values in arrays.items():
            columns.update({name: values} if np.ndim(values) < 2 else _named(name, _array(values)))
        return columns, None
    recordings, steps = deep[0]
    for name, given in arrays.items():
        values = _array(given)
        if values.shape[0] != recordings or (values.ndim == 3 and values.shape[1] != steps):
            raise ValueError(
                f"data: expected {recordings} recordings of {steps} steps, given {name!r} of shape {values.shape}"
            )
        if values.ndim == 3:
            columns.update(_named(name, values))
        elif values.ndim == 2 and values.shape[1] == steps:
            columns[name] = values.reshape(-1)
        elif values.ndim == 2:
            columns.update(_named(name, np.repeat(values, steps, axis=0)))
        else:
            columns[name] = np.repeat(values, steps)
    return columns, (recordings, steps)


def _is_frame(data: Any) -> bool:
    return hasattr(data, "columns") and hasattr(data, "iloc")


def _frame(data: Any) -> dict[str, Any]:
    names = [str(name) for name in data.columns]
    if len(set(names)) != len(names):
        raise ValueError(f"data: columns of a frame need different names, given {names}")
    return {name: data.iloc[:, index] for index, name in enumerate(names)}


def _targets(y: Any, name: str = "y") -> dict[str, Any]:
    """Columns of the targets of rows."""
    if _is_frame(y):
        return _frame(y)
    if getattr(y, "name", None) is not None and hasattr(y, "iloc"):
        return {str(y.name): y}
    values = y if hasattr(y, "dtype") else _array(y)
    return {name: values} if np.ndim(values) < 2 else _named(name, _array(values))


def _of_pair(x: Any, y: Any) -> Source:
    if isinstance(x, (list, tuple)) and x and np.ndim(x[0]) == 2:
        return _of_lists(x, y)
    if _is_frame(x):
        inputs, index = _frame(x), x.index
    else:
        x, index = _array(x), None
        if x.ndim == 3:
            return _of_samples(x, y)
        if x.ndim != 2:
            raise ValueError(f"x: expected [samples, time, features] or [rows, features], given shape {x.shape}")
        inputs = _named("x", x)
    targets = {} if y is None else _targets(y)
    twice = sorted(set(inputs) & set(targets))
    if twice:
        raise ValueError(f"data: columns {twice} are in both x and y")
    frame = {**inputs, **targets}
    return Source([frame], list(frame), None if _is_frame(x) else list(inputs), list(targets) or None, index=index)


def _of_samples(x: np.ndarray[Any, Any], y: Any) -> Source:
    samples, steps, _ = x.shape
    columns: dict[str, Any] = _named("x", x)
    inputs = list(columns)
    targets: dict[str, Any] = {}
    last = False
    if y is not None:
        y = _array(y)
        last = y.ndim < 3
        if y.ndim not in (1, 2, 3) or y.shape[:1] != (samples,) or (not last and y.shape[1] != steps):
            raise ValueError(
                f"y: expected [{samples}, {steps}, outputs] or [{samples}, outputs], given shape {y.shape}"
            )
        targets = _targets(np.repeat(y, steps, axis=0)) if last else _named("y", y)
    frame = {**columns, **targets}
    return Source([frame], list(frame), inputs, list(targets) or None, last=last, samples=(samples, steps))


def _of_lists(x: Sequence[Any], y: Any) -> Source:
    """Recordings of different lengths: a table for each."""
    if y is not None and len(y) != len(x):
        raise ValueError(f"y: expected {len(x)}, one for each recording, given {len(y)}")
    last = y is not None and (isinstance(y, np.ndarray) or np.ndim(y[0]) == 0)
    frames: list[dict[str, Any]] = []
    inputs: list[str] = []
    targets: list[str] = []
    for index, recording in enumerate(x):
        columns: dict[str, Any] = _named("x", _array(recording))
        more: dict[str, Any] = {}
        if y is not None:
            value = _array(y[index])
            more = _targets(np.repeat(value[None], len(recording), axis=0) if last else value)
        frames.append({**columns, **more})
        inputs, targets = list(columns), list(more)
    return Source(frames, list(frames[0]), inputs, targets or None, last=last, is_list=True)


def _of_array(data: np.ndarray[Any, Any], names: Sequence[str] | None) -> Source:
    """As an .npy: columns have numbers. Those of a model that is given just its inputs have its names."""
    samples = data.shape[:2] if data.ndim == 3 else None
    if data.ndim not in (1, 2, 3):
        raise ValueError(f"data: expected an array of 1 to 3 axes, given shape {data.shape}")
    rows = data.reshape(-1, data.shape[-1]) if data.ndim > 1 else data.reshape(-1, 1)
    if names is not None and len(names) != rows.shape[1]:
        names = None
    columns = {name: rows[:, i] for i, name in enumerate(names or [str(i + 1) for i in range(rows.shape[1])])}
    shape = (samples[0], samples[1]) if samples else None
    return Source([columns], list(names) if names is not None else None, samples=shape)


# ---- anything
def _one(data: Any, reading: Mapping[str, Any], names: Sequence[str] | None) -> Source:
    if isinstance(data, (str, os.PathLike)):
        table = _core.table_read(data, **reading)
        return Source([], table.info()["names"], tables=[table])
    if _is_frame(data):
        columns = _frame(data)
        return Source([columns], list(columns), index=data.index)
    if isinstance(data, Mapping):
        columns, samples = _mapping(data)
        return Source([columns], list(columns), samples=samples)
    values = _array(data)
    if values.dtype.names:
        return _one({name: values[name] for name in values.dtype.names}, reading, None)
    return _of_array(values, names)


def _any(data: Any, reading: Mapping[str, Any], names: Sequence[str] | None) -> Source:
    if isinstance(data, tuple) and len(data) == 2:
        return _of_pair(*data)
    if not isinstance(data, list) or not data or isinstance(data[0], (int, float)):
        return _one(data, reading, names)
    if np.ndim(data[0]) == 2 and not _is_frame(data[0]):
        return _of_lists(data, None)
    parts = [_one(item, reading, names) for item in data]
    made = Source([], parts[0].names, is_list=True)
    for part in parts:
        made.frames += part.frames
        made.tables += part.tables
    if made.frames and made.tables:
        raise TypeError("data: a list is of files or of frames, not of both")
    return made


def is_array(value: Any) -> bool:
    """A column that is given by its values, not by its name."""
    return not isinstance(value, (str, int, np.integer, type(None)))


def _add(made: Source, name: str, given: Any) -> None:
    """A column more, given as an array: [rows], [samples, time], or a list with one for each recording."""
    if not made.frames:
        raise TypeError(f"{name}: expected the name of a column of the file, given {type(given)}")
    parts = given if made.is_list and np.ndim(given) > 0 else [given]
    if len(parts) != len(made.frames):
        raise ValueError(f"{name}: expected {len(made.frames)} arrays, one for each recording, given {len(parts)}")
    for frame, part in zip(made.frames, parts):
        rows = len(next(iter(frame.values())))
        values = part if hasattr(part, "iloc") else _array(part).reshape(-1)
        if np.ndim(part) == 0:
            values = np.full(rows, float(part))
        if len(values) != rows:
            raise ValueError(f"{name}: expected {rows} values, one for each row, given {len(values)}")
        frame[name] = values
    made.names = list(made.frames[0])


def source(data: Any, reading: Mapping[str, Any], names: Sequence[str] | None = None, **extras: Any) -> Source:
    """Data of any kind as tables. `extras` are columns; those given as arrays are added under the names of their
    arguments. `names`: of the columns of an array that has just the inputs of a model."""
    made = _any(data, reading, names)
    for name, values in extras.items():
        if is_array(values):
            _add(made, name, values)
    steps = made.samples[1] if made.samples else 0
    made.tables += [_table(frame, steps, made.names is not None) for frame in made.frames]
    made.frames = []
    return made
