"""What is profiled: a model of the library, or any callable."""

from __future__ import annotations

import inspect
import os
import sys
from typing import Any, Callable, Sequence

import numpy as np

from .. import _core
from .._model import Model, open as open_model

Forward = Callable[..., Any]


class Subject:
    """A model, a function, or both: then the function is timed, and FLOPs are those of the model."""

    def __init__(self, model: _core.Model | None, function: Callable[[], Any] | None, batch: int, seq: int) -> None:
        self.model = model
        self.function = function
        self.batch = batch
        self.seq = seq

    @property
    def name(self) -> str:
        return (self.model.name if self.model is not None else None) or "function"


def resolve(
    model: Any,
    forward_fn: Forward | None = None,
    batch_size: int = 1,
    seq_length: int = 1,
    input_shape: Sequence[int] | None = None,
    input_size: int | None = None,
) -> Subject:
    """What `model` means: an elegans.Model, a file, a spec, or something to call with an array of inputs."""
    shape = [int(n) for n in input_shape] if input_shape is not None else None
    if shape is not None and len(shape) not in (2, 3):
        raise ValueError(f"input_shape: expected (batch, time, features) or (batch, time), given {tuple(shape)}")
    if shape:
        batch_size, seq_length = shape[0], shape[1]
    if isinstance(model, (str, os.PathLike)):
        model = open_model(model)
    if shape and len(shape) == 3:
        input_size = shape[2]
    if isinstance(model, _core.Model):
        _build(model, input_size)
        function = _call(forward_fn, _inputs(model, batch_size, seq_length)) if forward_fn is not None else None
        return Subject(model, function, batch_size, seq_length)
    target = forward_fn if forward_fn is not None else model
    if not callable(target):
        raise TypeError(f"model: expected a Model, a file, a spec or a callable, given {type(model)}")
    size = input_size if input_size is not None else getattr(model, "input_size", None)
    if size is None:
        raise ValueError("input_shape: needed to call something that is no Model: (batch, time, features)")
    return Subject(None, _call(target, _like(model, _ramp(batch_size, seq_length, int(size)))), batch_size, seq_length)


def as_model(model: Any) -> _core.Model:
    if isinstance(model, (str, os.PathLike)):
        return open_model(model)
    if not isinstance(model, _core.Model):
        raise TypeError(f"model: expected a Model, a file or a spec, given {type(model)}")
    _build(model, None)
    return model


def _build(model: Any, input_size: int | None) -> None:
    """A model that waits for its first inputs gets them; 8 features where nobody says how many."""
    if getattr(model, "is_open", True):
        return
    wiring = getattr(model, "wiring", None)
    size = input_size or getattr(model, "input_size", None) or getattr(wiring, "input_dim", None) or 8
    model(np.zeros((1, 1, int(size)), np.float32))


def _ramp(batch: int, seq: int, features: int) -> Any:
    values = np.arange(batch * seq * features, dtype=np.float32) % 31 / 16 - 1
    return values.reshape(batch, seq, features)


def _inputs(model: _core.Model, batch: int, seq: int) -> Any:
    about = model.info()
    if about["kind"] == "liquid":
        return _ramp(batch, seq, about["inputs"])
    return (np.arange(batch * seq, dtype=np.int32) % max(about["outputs"], 1)).reshape(batch, seq)


def _like(model: Any, x: Any) -> Any:
    """A tensor of torch for a module of torch."""
    torch = sys.modules.get("torch")
    return torch.from_numpy(x) if torch is not None and isinstance(model, torch.nn.Module) else x


def _call(function: Forward, x: Any) -> Callable[[], Any]:
    """The function on these inputs; `training` is False where it must be said; lazy results of mlx are computed."""
    extra: dict[str, Any] = {}
    try:
        training = inspect.signature(function).parameters.get("training")
    except (TypeError, ValueError):
        training = None
    if training is not None and training.default is inspect.Parameter.empty:
        extra["training"] = False

    def run() -> Any:
        return function(x, **extra)

    if "mlx.core" in sys.modules and type(function(x, **extra)).__module__.startswith("mlx"):
        evaluate = sys.modules["mlx.core"].eval
        return lambda: evaluate(run())
    return run
