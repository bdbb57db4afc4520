"""Layers and cells with the names and arguments of ncps: CfC, LTC, CfCCell, WiredCfCCell, LTCCell."""

from __future__ import annotations

import json
import operator
from typing import Any, Mapping, Sequence

import numpy as np

from . import wirings
from ._model import Array, Model, like

Units = Any
"""A number of units, or a wiring: of ours, or of ncps."""


def _number_of_inputs(given: Any) -> int:
    """Of a number, or of a shape whose last axis are the features."""
    try:
        return operator.index(given)
    except TypeError:
        return operator.index(given[-1])


class _Cell:
    """One step of a layer. Its model is made when the number of inputs is known."""

    _layer: type[_Layer]

    def __init__(self, units: Units, input_size: int | None, arguments: dict[str, Any], seed: int) -> None:
        if not wirings.is_wiring(units):
            try:
                units = operator.index(units)
            except TypeError:
                raise TypeError(f"units: expected an integer or a wiring, given {type(units)}") from None
        elif input_size is None and units.is_built():
            input_size = units.input_dim
        self.wiring = units if wirings.is_wiring(units) else None
        self._units = units
        self._arguments = arguments
        self._seed = seed
        self._model: Model | None = None
        self.input_size = input_size

    def _architecture(self, input_size: int, **more: Any) -> str:
        layer: dict[str, Any] = {"model": self._layer.__name__, "input_size": input_size, **self._arguments, **more}
        if self.wiring is None:
            layer["units"] = self._units
        else:
            self.wiring = wirings.of_any(self.wiring, input_size)
            layer["wiring"] = self.wiring.architecture()
        return json.dumps({"elegans_model": 1, "layers": [layer]})

    def build(self, input_size: int | Sequence[int]) -> None:
        """Makes the values of the cell for a number of inputs, or for a shape that ends in it."""
        count = _number_of_inputs(input_size)
        if self._model is None:
            self._model = self._layer.create(self._architecture(count), self._seed)
            self.input_size = count
        elif self.input_size != count:
            raise ValueError(f"input_size: the cell has {self.input_size} inputs, given {count}")

    @property
    def model(self) -> Model:
        """The model that computes the steps: of the layer this cell belongs to, or of the cell alone."""
        if self._model is None:
            if self.input_size is None:
                raise ValueError("the number of inputs is not known yet: call the cell, or build(input_size)")
            self.build(self.input_size)
        assert self._model is not None
        return self._model

    @property
    def state_size(self) -> int:
        """The number of units."""
        return int(self._units if self.wiring is None else self.wiring.units)

    @property
    def output_size(self) -> int:
        """The number of outputs: units, or motor neurons of a wiring. ValueError before the number of inputs is known."""
        return int(self.model.layers()[0]["outputs"])

    def state_dict(self) -> dict[str, np.ndarray[Any, Any]]:
        """All tensors by name, copied; the names are those of the cell in ncps."""
        whole = self.model.state_dict()
        return {name[len("rnn_cell.") :]: value for name, value in whole.items() if name.startswith("rnn_cell.")}

    def load_state_dict(self, values: Mapping[str, Array], strict: bool = True) -> None:
        """Replaces tensors by name."""
        if strict:
            known = {row[0]: row[2] for row in self.model.tensors() if row[0].startswith("rnn_cell.")}
            missing = [name for name, trained in known.items() if trained and name[len("rnn_cell.") :] not in values]
            unknown = [name for name in values if f"rnn_cell.{name}" not in known]
            if missing or unknown:
                raise KeyError(f"state_dict: missing {missing}, unknown {unknown}")
        self.model.load_state_dict({f"rnn_cell.{name}": value for name, value in values.items()}, strict=False)

    def __call__(self, input: Array, hx: Array | None = None, ts: Array | float = 1.0) -> tuple[Any, Any]:
        """One step of input [batch, features] from the states hx [batch, units]: outputs and next states.

        `ts` is the elapsed time: one number, or one for each sample.
        """
        x = input if hasattr(input, "shape") else np.asarray(input, np.float32)
        if len(x.shape) != 2:
            raise ValueError(f"input: expected an array [batch, features], given shape {tuple(x.shape)}")
        if self._model is None:
            self.build(x.shape[1])
        shape = getattr(ts, "shape", None)
        spans: Any = ts
        if shape is not None:  # [batch, 1], or one number for all
            spans = spans.reshape(-1, 1) if max((*shape, 0)) > 1 else float(spans.reshape(-1)[0])
        result = self.model.run(x[:, None], spans, None, hx, False, True)
        return result if type(x) is np.ndarray else tuple(like(x, result))

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        if isinstance(self._model, _Layer) and self._model._cell is self:
            state["_model"] = self._layer.create(self._model.config())
            state["_model"].load_state_dict(self._model.state_dict())
        return state

    def __repr__(self) -> str:
        inputs = "" if self.input_size is None else f"{self.input_size} inputs, "
        return f"{type(self).__name__}({inputs}{self.wiring if self.wiring else f'{self.state_size} units'})"


class _Layer(Model):
    """What CfC and LTC share: a model of one layer, made when the number of inputs is known."""

    return_sequences: bool = True
    batch_first: bool = True
    _cell: _Cell | None = None
    _seed: int = 0
    _more: dict[str, Any] = {}
    _kind: type[_Cell]

    def __new__(cls, *arguments: Any, **keywords: Any) -> Any:
        return cls._unopened()

    def _begin(
        self, cell: _Cell, input_size: int | None, return_sequences: bool, batch_first: bool, more: dict[str, Any]
    ) -> None:
        if not isinstance(cell, self._kind):
            raise TypeError(f"cell: expected a {self._kind.__name__}, given {type(cell)}")
        self.return_sequences = bool(return_sequences)
        self.batch_first = bool(batch_first)
        self._more = {key: value for key, value in more.items() if value}
        self._cell = cell
        self._seed = cell._seed
        if input_size is None:
            input_size = cell.input_size
        if input_size is not None:
            self.build(input_size)

    def build(self, input_size: int | Sequence[int]) -> None:
        """Makes the values of the model for a number of inputs, or for a shape that ends in it: the first call does."""
        count = _number_of_inputs(input_size)
        if self.is_open:
            if count != self.info()["inputs"]:
                raise ValueError(f"input_size: the model has {self.info()['inputs']} inputs, given {count}")
            return
        cell = self._cell
        assert cell is not None
        if cell.input_size is not None and cell.input_size != count:
            raise ValueError(f"input_size: the cell has {cell.input_size} inputs, given {count}")
        self._fill(cell._architecture(count, **self._more), self._seed)
        if cell._model is not None:  # it was used before: these are its values
            self.load_state_dict(cell._model.state_dict(), strict=False)
        cell.input_size = count
        if not self._more:
            cell._model = self

    # ---- computing
    def __call__(  # type: ignore[override]
        self,
        x: Array,
        hx: Any = None,
        timespans: Array | float | None = None,
        lengths: Sequence[int] | Array | None = None,
        *,
        state: Any = None,
        time_delta: Array | float | None = None,
        training: bool = False,
        seed: int | None = None,
        return_sequences: bool | None = None,
        batch_first: bool | None = None,
    ) -> tuple[Any, Any]:
        """Outputs and final states of x, [batch, time, features] or [time, features].

        `hx` (or `state`) are the initial states: one array [batch, units], or with mixed memory a pair of them.
        `timespans` (or `time_delta`) is the time that elapsed before each step. With `training`, dropout is active;
        `seed` then is that of dropout, and every call without one has another.
        """
        if not self.is_open:
            self.build((x if hasattr(x, "shape") else np.asarray(x)).shape)
        result = self.run(
            x,
            time_delta if timespans is None else timespans,
            lengths,
            state if hx is None else hx,
            self.return_sequences if return_sequences is None else return_sequences,
            self.batch_first if batch_first is None else batch_first,
            training=training,
            seed=seed,
        )
        return result if type(x) is np.ndarray else tuple(like(x, result))

    # ---- what it is
    @property
    def rnn_cell(self) -> _Cell:
        """The cell: one step of this layer."""
        if self._cell is None:
            layer = self.architecture["layers"][0]
            wiring = layer.get("wiring")
            units = wirings.of_architecture(wiring, layer["input_size"]) if wiring else layer["units"]
            known = {key: value for key, value in layer.items() if key not in ("model", "units", "wiring")}
            self._more = {key: known.pop(key) for key in ("mixed_memory", "proj_size", "bidirectional") if key in known}
            cell: _Cell = self._kind.__new__(self._kind)
            _Cell.__init__(cell, units, known.pop("input_size"), known, 0)
            self._cell = cell
            if not self._more:
                cell._model = self
        return self._cell

    @property
    def cell(self) -> _Cell:
        """The same, as in MLX."""
        return self.rnn_cell

    @property
    def wiring(self) -> wirings.Wiring | None:
        """The wiring; None where every unit has a synapse to every other."""
        return self.rnn_cell.wiring

    @property
    def input_size(self) -> int | None:
        """The number of inputs; None before it is known."""
        return int(self.info()["inputs"]) if self.is_open else self.rnn_cell.input_size

    @property
    def state_size(self) -> int:
        """The number of units."""
        return self.rnn_cell.state_size

    @property
    def output_size(self) -> int:
        """Features of an output, before a projection as in ncps."""
        return int(self.layers()[0]["outputs"])

    @property
    def sensory_size(self) -> int | None:
        """The number of inputs, as ncps calls it."""
        return self.input_size

    @property
    def motor_size(self) -> int:
        """The number of outputs, as ncps calls it."""
        return self.output_size

    @property
    def use_mixed(self) -> bool:
        """Whether a memory (LSTM) runs beside the cell."""
        return bool(self.layers()[0]["mixed"]) if self.is_open else bool(self._more.get("mixed_memory"))

    def __repr__(self) -> str:
        if self.is_open:
            return super().__repr__()
        return f"{type(self).__name__}({self.rnn_cell}, inputs not known yet)"

    def __reduce__(self) -> tuple[Any, ...]:
        state = {key: value for key, value in self.__dict__.items() if key != "_cell" or not self.is_open}
        if self.is_open:
            return _restore, (type(self), self.config(), self.state_dict()), state
        return _restore, (type(self), None, {}), state


def _restore(kind: type[_Layer], config: str | None, values: dict[str, Any]) -> _Layer:
    if config is None:
        return kind._unopened()
    model = kind.create(config)
    model.load_state_dict(values)
    return model


def _merge(bidirectional: bool | str | None, merge_mode: str | None) -> str | None:
    return bidirectional if isinstance(bidirectional, str) else (merge_mode or "concat") if bidirectional else None


# ---- CfC
class CfCCell(_Cell):
    """A step of a closed-form continuous-time network.

    The arguments are those of ncps: `CfCCell(input_size, hidden_size, ...)`; or, as the versions for Keras and MLX have
    them, units or a wiring alone, and the number of inputs follows from the first call. A wiring may have backbones,
    which ncps refuses: each of its layers then has one (see "A backbone along a wiring" in docs/liquid-networks.md).
    `flavour` "keras" computes as those two versions do: no tanh on the heads, the time term negated.

    >>> cell = CfCCell(wirings.AutoNCP(16, 4), backbone_units=[32, 32], backbone_layers=2)
    >>> y, h = cell(np.zeros((2, 3), "float32"), np.zeros((2, 16), "float32"), 0.1)
    >>> y.shape, h.shape
    ((2, 4), (2, 16))
    """

    def __init__(
        self,
        input_size: Units | None = None,
        hidden_size: Units | None = None,
        mode: str = "default",
        backbone_activation: str = "lecun_tanh",
        backbone_units: Any = None,
        backbone_layers: int | None = None,
        backbone_dropout: float | None = None,
        sparsity_mask: Any = None,
        *,
        wiring: Units | None = None,
        units: Units | None = None,
        activation: str | None = None,
        flavour: str = "torch",
        seed: int = 0,
    ) -> None:
        if sparsity_mask is not None:
            raise ValueError("sparsity_mask: expected None; a wiring says which synapses exist")
        if isinstance(hidden_size, str):  # CfCCell(units, mode) of Keras
            mode, hidden_size = hidden_size, None
        if input_size is not None and hidden_size is None and wiring is None and units is None:
            input_size, hidden_size = None, input_size
        for other in (wiring, units):
            hidden_size = other if hidden_size is None else hidden_size
        if hidden_size is None:
            raise TypeError("CfCCell() needs units or a wiring")
        arguments: dict[str, Any] = {"mode": mode, "flavour": flavour}
        is_wired = wirings.is_wiring(hidden_size)
        if not is_wired or backbone_units or backbone_layers:
            is_list = isinstance(backbone_units, (list, tuple))
            arguments["backbone_units"] = list(map(int, backbone_units)) if is_list else backbone_units
            arguments["backbone_layers"] = backbone_layers
            arguments["activation"] = activation or backbone_activation
            arguments["backbone_dropout"] = backbone_dropout
        super().__init__(hidden_size, input_size, arguments, seed)

    @property
    def mode(self) -> str:
        """"default", "pure" or "no_gate"."""
        return str(self._arguments["mode"])


class WiredCfCCell(CfCCell):
    """A step of a CfC along a wiring, with the arguments of ncps.

    >>> WiredCfCCell(3, wirings.AutoNCP(16, 4)).output_size
    4
    """

    def __init__(
        self, input_size: int | None, wiring: Any, mode: str = "default", *, flavour: str = "torch", seed: int = 0
    ) -> None:
        super().__init__(input_size, wiring, mode, flavour=flavour, seed=seed)


class CfC(_Layer):
    """A closed-form continuous-time network, with the arguments of ncps; or `CfC(cell=CfCCell(...))`.

    Without the number of inputs, the first call says it. `seed` is what torch.manual_seed would be for the same values
    in ncps. `bidirectional` (with `merge_mode` "concat", "sum", "mul" or "average") runs both ways through time.

    >>> model = CfC(20, wirings.AutoNCP(28, 4), seed=1)
    >>> y, hx = model(np.zeros((2, 3, 20), "float32"))
    >>> y.shape, hx.shape
    ((2, 3, 4), (2, 28))
    >>> cell = CfCCell(wirings.AutoNCP(16, 4), backbone_units=[64, 64], backbone_layers=2, backbone_dropout=0.1)
    >>> late = CfC(cell=cell, return_sequences=True)
    >>> late
    CfC(CfCCell(AutoNCP(16 units, 4 outputs)), inputs not known yet)
    >>> late(np.zeros((2, 3, 5), "float32"), training=True)[0].shape
    (2, 3, 4)
    """

    _kind = CfCCell

    def __init__(
        self,
        input_size: Units | None = None,
        units: Units | None = None,
        proj_size: int | None = None,
        return_sequences: bool = True,
        batch_first: bool = True,
        mixed_memory: bool = False,
        mode: str = "default",
        activation: str = "lecun_tanh",
        backbone_units: int | Sequence[int] | None = None,
        backbone_layers: int | None = None,
        backbone_dropout: float | None = None,
        *,
        cell: CfCCell | None = None,
        hidden_size: Units | None = None,
        bidirectional: bool | str | None = None,
        merge_mode: str | None = None,
        flavour: str = "torch",
        seed: int = 0,
    ) -> None:
        units = hidden_size if units is None else units
        if cell is None:
            if units is None:
                input_size, units = None, input_size
            cell = CfCCell(
                input_size,
                units,
                mode,
                activation,
                backbone_units,
                backbone_layers,
                backbone_dropout,
                flavour=flavour,
                seed=seed,
            )
        elif units is not None:
            raise TypeError("CfC() takes units or a cell, not both")
        merge = _merge(bidirectional, merge_mode)
        more = {"proj_size": proj_size, "mixed_memory": bool(mixed_memory), "bidirectional": merge}
        self._begin(cell, input_size, return_sequences, batch_first, more)


# ---- LTC
class LTCCell(_Cell):
    """A step of a liquid time-constant network, with the arguments of ncps.

    >>> cell = LTCCell(wirings.AutoNCP(16, 4), 3)
    >>> y, v = cell(np.zeros((2, 3), "float32"), np.zeros((2, 16), "float32"))
    >>> y.shape, v.shape
    ((2, 4), (2, 16))
    """

    def __init__(
        self,
        wiring: Units,
        in_features: int | None = None,
        input_mapping: str | None = "affine",
        output_mapping: str | None = "affine",
        ode_unfolds: int = 6,
        epsilon: float = 1e-8,
        implicit_param_constraints: bool = False,
        *,
        seed: int = 0,
    ) -> None:
        arguments = {
            "input_mapping": input_mapping,
            "output_mapping": output_mapping,
            "ode_unfolds": ode_unfolds,
            "epsilon": epsilon,
            "implicit_param_constraints": bool(implicit_param_constraints),
        }
        super().__init__(wiring, in_features, arguments, seed)


class LTC(_Layer):
    """A liquid time-constant network, with the arguments of ncps; or `LTC(cell=LTCCell(...))`.

    >>> model = LTC(20, 50, seed=1)
    >>> y, hx = model(np.zeros((2, 3, 20), "float32"), timespans=0.1)
    >>> y.shape, hx.shape
    ((2, 3, 50), (2, 50))
    """

    _kind = LTCCell

    def __init__(
        self,
        input_size: Units | None = None,
        units: Units | None = None,
        return_sequences: bool = True,
        batch_first: bool = True,
        mixed_memory: bool = False,
        input_mapping: str | None = "affine",
        output_mapping: str | None = "affine",
        ode_unfolds: int = 6,
        epsilon: float = 1e-8,
        implicit_param_constraints: bool = True,
        *,
        cell: LTCCell | None = None,
        hidden_size: Units | None = None,
        bidirectional: bool | str | None = None,
        merge_mode: str | None = None,
        seed: int = 0,
    ) -> None:
        units = hidden_size if units is None else units
        if cell is None:
            if units is None:
                input_size, units = None, input_size
            if units is None:
                raise TypeError("LTC() needs units, a wiring or a cell")
            cell = LTCCell(
                units,
                input_size,
                input_mapping,
                output_mapping,
                ode_unfolds,
                epsilon,
                implicit_param_constraints,
                seed=seed,
            )
        elif units is not None:
            raise TypeError("LTC() takes units or a cell, not both")
        more = {"mixed_memory": bool(mixed_memory), "bidirectional": _merge(bidirectional, merge_mode)}
        self._begin(cell, input_size, return_sequences, batch_first, more)


CfCCell._layer = CfC
LTCCell._layer = LTC
