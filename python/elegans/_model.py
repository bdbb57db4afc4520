"""Models: what the library opens, with the names that Python has for such things."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Iterator, Mapping, Sequence, Union

import numpy as np
from numpy.typing import NDArray

from . import _core, _html, wirings

PathLike = Union[str, "os.PathLike[str]"]
Floats = NDArray[np.float32]
Array = Any
"""numpy's arrays, and whatever else has a buffer or DLPack: tensors of torch, jax, mlx."""


def like(given: Array, result: Any) -> Any:
    """`result`, arrays of numpy, as arrays of the library that `given` is of; no copy where that library allows."""
    kind = type(given).__module__.partition(".")[0]
    if kind == "numpy" or kind not in ("torch", "jax", "jaxlib", "mlx"):
        return result
    if isinstance(result, tuple):
        return tuple(like(given, part) for part in result)
    if kind == "torch":
        return sys.modules["torch"].from_numpy(result)
    if kind == "mlx":
        return sys.modules["mlx.core"].array(result)
    return sys.modules["jax"].numpy.asarray(result)


class Model(_core.Model):
    """A liquid network or a transformer.

    >>> model = open("ltc:autoncp:12:3,in=4,seed=1")
    >>> model
    Model('ltc:autoncp:12:3,in=4,seed=1': 4 inputs, 3 outputs, 818 parameters)
    """

    def __call__(
        self,
        x: Array,
        timespans: Array | float | None = None,
        lengths: Sequence[int] | Array | None = None,
        state: Any = None,
        *,
        return_sequences: bool = True,
        batch_first: bool = True,
        hidden: bool = False,
        training: bool = False,
        seed: int | None = None,
    ) -> tuple[Any, Any]:
        """Outputs and final states of x, [batch, time, features] or [time, features] of float32.

        `timespans` is the time that elapsed before each step: one number, or an array [batch, time]. Samples may have
        different `lengths`. `state` is what an earlier call gave. A transformer takes tokens [batch, time] of int32.
        With `training`, dropout is active; `seed` then is that of dropout, and every call without one has another.
        """
        result = self.run(x, timespans, lengths, state, return_sequences, batch_first, hidden, training, seed)
        return result if type(x) is np.ndarray else like(x, result)

    def __repr__(self) -> str:
        if not self.is_open:
            return f"{type(self).__name__}(inputs not known yet)"
        about = self.info()
        name = repr(self.name) if self.name else "untitled"
        return (
            f"{type(self).__name__}({name}: {about['inputs']} inputs, {about['outputs']} outputs, "
            f"{about['parameters']} parameters)"
        )

    # ---- values, named as in torch's state-dict
    def state_dict(self) -> dict[str, Floats]:
        """All tensors by name, copied."""
        return {row[0]: self.read(index) for index, row in enumerate(self.tensors())}

    def named_parameters(self) -> Iterator[tuple[str, Floats]]:
        """The trainable tensors, copied."""
        for index, row in enumerate(self.tensors()):
            if row[2]:
                yield row[0], self.read(index)

    def parameters(self) -> Iterator[Floats]:
        """The values of the trainable tensors, copied."""
        for _, values in self.named_parameters():
            yield values

    def load_state_dict(self, values: Mapping[str, Array], strict: bool = True) -> None:
        """Replaces tensors by name. With `strict`, every tensor that can be trained must be there, and no other name."""
        rows = self.tensors()
        known = {row[0]: index for index, row in enumerate(rows)}
        if strict:
            missing = [row[0] for row in rows if row[2] and row[0] not in values]
            unknown = [name for name in values if name not in known]
            if missing or unknown:
                raise KeyError(f"state_dict: missing {missing}, unknown {unknown}")
        for name, value in values.items():
            if name in known:
                self.write(known[name], value)

    # ---- for notebooks
    def _wirings(self) -> Iterator[tuple[int, _core.Wiring]]:
        """The wiring of every layer that has one, as the library has it."""
        for index, layer in enumerate(self.architecture.get("layers", ())):
            if layer.get("wiring"):
                yield index, wirings.of_architecture(layer["wiring"], layer["input_size"])._library()

    def _repr_svg_(self) -> str | None:
        """A picture of the wiring of the first layer that has one."""
        if self.is_open:
            for _, wiring in self._wirings():
                return wiring.svg(repr(self))
        return None

    def _repr_html_(self) -> str:
        """A table of the layers, and pictures of their wirings."""
        title = f"<p><code>{_html.text(repr(self))}</code></p>"
        if not self.is_open:
            return title
        rows = [_describe(layer) for layer in self.layers()]
        columns = [key for key in rows[0] if any(row[key] for row in rows)] if rows else []
        cells = [[index, *(row[key] for key in columns)] for index, row in enumerate(rows)]
        table = _html.table(cells, ["layer", *columns])
        images = "".join(
            _html.image(wiring.svg(f"layer {index}"), f"the wiring of layer {index}")
            for index, wiring in self._wirings()
            if wiring.info()["units"] <= _DRAWN_UNITS
        )
        return f"{title}{table}{images}"

    # ---- the architecture
    @property
    def architecture(self) -> dict[str, Any]:
        """The architecture, as it is saved with the model."""
        return dict(json.loads(self.config()))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.config(), self.name, self.state_dict())


_DRAWN_UNITS = 512
"""A picture of more would be megabytes in a notebook."""


def _describe(layer: Mapping[str, Any]) -> dict[str, Any]:
    """A layer in words; empty where it has no such thing."""
    return {
        "cell": " ".join(filter(None, (layer["cell"], layer["mode"]))),
        "inputs": layer["inputs"],
        "units": layer["units"],
        "outputs": layer["outputs"],
        "wiring": layer["wiring"] or "",
        "synapses": f"{layer['synapses']} of {layer['possible']}" if layer["wiring"] else "",
        "backbone": " + ".join(map(str, layer["backbone"])) + f" {layer['activation']}" if layer["backbone"] else "",
        "unfolds": layer["unfolds"] or "",
        "memory": "mixed" if layer["mixed"] else "",
        "both ways": layer["merge"] or "",
        "projection": layer["projection"] or "",
    }


def _restore(kind: type[Model], config: str, name: str | None, values: dict[str, Floats]) -> Model:
    model = kind.create(config)
    model.load_state_dict(values)
    return model


def open(file_or_spec: PathLike) -> Model:
    """A model from a file, or a freshly initialised one from a spec such as "cfc:autoncp:64:16,in=16,seed=1".

    Files are safetensors (ours and state-dicts of ncps with their architecture), .npz, GGUF, checkpoints of llama2.c and
    folders of Hugging Face.

    >>> open("cfc:8,in=2").info()["state"]
    8
    >>> open("nowhere.safetensors")
    Traceback (most recent call last):
    ...
    elegans.MissingFileError: ...
    """
    return Model.open(file_or_spec)
