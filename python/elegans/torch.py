"""Modules of torch with the constructors and state-dicts of ncps, whose forward and backward passes are compiled programs.

>>> import torch
>>> from elegans.torch import CfC
>>> rnn = CfC(20, 50)
>>> output, state = rnn(torch.zeros(2, 3, 20))
>>> output.shape, state.shape
(torch.Size([2, 3, 50]), torch.Size([2, 50]))
>>> output.sum().backward()
>>> rnn.rnn_cell.ff1.weight.grad.shape
torch.Size([50, 128])

Tensors are float32 on the CPU. The work is done by torch's own threads where they are those of GNU's OpenMP, as on Linux: they
spin for milliseconds after their work, on cores that others would wait for. State-dicts have the names and shapes of ncps, so that they load there and here.
"""

from __future__ import annotations

import json
import os
from typing import Any, Optional, Sequence, Tuple, Union

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from . import _core

__all__ = ["CfC", "LTC"]

State = Union[Tensor, Tuple[Tensor, Tensor]]

_PARAMETERS, _X, _TIMESPANS, _STATES = 1, 2, 4, 8  # whose gradients are wanted
_generation = 0  # of processes: programs of a parent have threads that a child has not


def _forked() -> None:
    global _generation
    _generation += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def _openmp() -> Optional[str]:
    """The library whose threads torch has, if it is GNU's."""
    try:
        with open("/proc/self/maps") as file:
            paths = {line.split(None, 5)[5].strip() for line in file if "libgomp" in line}
    except OSError:  # not Linux
        return None
    return min(paths, key=lambda path: ("torch" not in path, path), default=None)


_path = _openmp()
if _path:
    _core._share_threads(_path)


# ---- compiled programs
class _Programs:
    """Programs of one architecture, by shape. A thread takes one and gives it back, so no two use the same."""

    most = 16

    def __init__(self, architecture: dict[str, Any], masks: Any) -> None:
        self.model = _core.Model.create(json.dumps(architecture))
        self.masks = masks  # what it was made for
        self.generation = _generation
        self.free: dict[tuple[Any, ...], list[_core.Differentiable]] = {}

    def take(self, key: tuple[Any, ...]) -> _core.Differentiable:
        try:
            return self.free[key].pop()
        except (KeyError, IndexError):
            return _core.differentiable(self.model, *key)

    def give(self, key: tuple[Any, ...], program: _core.Differentiable) -> None:
        programs = self.free.get(key)
        if programs is None:
            while len(self.free) >= self.most:  # the shape that came first goes
                self.free.pop(next(iter(self.free)), None)
            programs = self.free.setdefault(key, [])
        programs.append(program)


_Call = Tuple[_Programs, Tuple[Any, ...], int, Tuple[Any, ...]]
"""The key of a program, the seed of dropout, and the shapes of y and of a state, and whether there are two of these."""


def _address(tensor: Tensor | None) -> int:
    return 0 if tensor is None else tensor.data_ptr()


def _compute(
    call: _Call, x: Tensor, timespans: Tensor | None, h: Tensor | None, c: Tensor | None, parameters: Sequence[Tensor]
) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
    """y, hn, cn or None, and what the backward pass needs or None."""
    programs, key, seed, shapes = call
    y = torch.empty(shapes[0])
    hn = torch.empty(shapes[1])
    cn = torch.empty(shapes[1]) if shapes[2] else None
    program = programs.take(key)
    try:
        kept = torch.empty(program.kept, dtype=torch.uint8) if program.kept else None
        program.forward(
            [p.data_ptr() for p in parameters],
            seed,
            x.data_ptr(),
            _address(timespans),
            _address(h),
            _address(c),
            y.data_ptr(),
            hn.data_ptr(),
            _address(cn),
            _address(kept),
        )
    finally:
        programs.give(key, program)
    return y, hn, cn, kept


class _Run(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, call: _Call, x: Tensor, timespans: Any, h: Any, c: Any, *parameters: Tensor) -> Any:
        y, hn, cn, kept = _compute(call, x, timespans, h, c, parameters)
        ctx.call = call
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x, timespans, h, c, kept, *parameters)
        return (y, hn) if cn is None else (y, hn, cn)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor | None) -> Any:
        programs, key, seed, _ = ctx.call
        x, timespans, h, c, kept, *parameters = ctx.saved_tensors
        wants = ctx.needs_input_grad
        given = [None if g is None else g.contiguous() for g in gradients]
        if len(given) == 2:
            given.append(None)
        inputs = [torch.empty_like(t) if is_wanted else None for t, is_wanted in zip((x, timespans, h, c), wants[1:5])]
        results = [torch.empty_like(p) if is_wanted else None for p, is_wanted in zip(parameters, wants[5:])]
        program = programs.take(key)
        try:
            program.backward(
                [p.data_ptr() for p in parameters],
                seed,
                x.data_ptr(),
                _address(timespans),
                _address(h),
                _address(c),
                _address(kept),
                *map(_address, given),
                *map(_address, inputs),
                [_address(r) for r in results],
            )
        finally:
            programs.give(key, program)
        return (None, *inputs, *results)


# ---- wirings: anything with the attributes that those of ncps have
class _Full:
    """Every synapse, with the polarities that ncps draws: the wiring of an LTC that is given a number of units."""

    def __init__(self, units: int, inputs: int) -> None:
        config = {
            "model": "LTC",
            "input_size": inputs,
            "wiring": {"kind": "FullyConnected", "args": {"units": units}},
        }
        model = _core.Model.create(json.dumps(config))
        index = {row[0]: i for i, row in enumerate(model.tensors())}
        self.units = self.output_dim = units
        self.input_dim = inputs
        self.adjacency_matrix = model.read(index["rnn_cell.erev"]).astype(np.int32)
        self.sensory_adjacency_matrix = model.read(index["rnn_cell.sensory_erev"]).astype(np.int32)


def _is_wiring(units: Any) -> bool:
    return hasattr(units, "adjacency_matrix") and hasattr(units, "units")


def _build(wiring: Any, input_size: int | None) -> None:
    if wiring.input_dim is None and input_size is not None:
        wiring.build(input_size)
    if wiring.input_dim is None:
        raise ValueError("units: this wiring has no inputs yet: pass input_size, or call its build()")
    if input_size is not None and wiring.input_dim != input_size:
        raise ValueError(f"input_size: {input_size}, but the wiring was built for {wiring.input_dim} inputs")


def _layers(wiring: Any) -> list[list[int]]:
    if not hasattr(wiring, "get_neurons_of_layer"):
        return [list(range(wiring.units))]
    return [[int(unit) for unit in wiring.get_neurons_of_layer(layer)] for layer in range(wiring.num_layers)]


def _pairs(mask: Any) -> list[list[int]]:
    return [[int(source), int(target), 1] for source, target in zip(*np.nonzero(mask))]


# ---- parameters, named and drawn as ncps does
def _check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name}: {value!r}, expected one of {', '.join(map(repr, choices))}")


_ACTIVATIONS = {"lecun_tanh": nn.Tanh, "silu": nn.SiLU, "relu": nn.ReLU, "tanh": nn.Tanh, "gelu": nn.GELU}


class _CfCCell(nn.Module):
    """Parameters of a CfC cell."""

    def __init__(
        self, inputs: int, units: int, mode: str, widths: list[int], activation: str, dropout: float, mask: Any = None
    ) -> None:
        super().__init__()
        if mask is not None:
            self.sparsity_mask = nn.Parameter(torch.from_numpy(mask), requires_grad=False)
        last = inputs + units
        if widths:
            layers: list[nn.Module] = []
            for i, width in enumerate(widths):  # indices of ncps: linear, activation, from the second on dropout
                layers += [nn.Linear(last, width), _ACTIVATIONS[activation]()]
                if i and dropout > 0:
                    layers.append(nn.Dropout(dropout))
                last = width
            self.backbone = nn.Sequential(*layers)
        self.ff1 = nn.Linear(last, units)
        if mode == "pure":
            self.w_tau = nn.Parameter(torch.zeros(1, units))
            self.A = nn.Parameter(torch.ones(1, units))
        else:
            self.ff2 = nn.Linear(last, units)
            self.time_a = nn.Linear(last, units)
            self.time_b = nn.Linear(last, units)
        for p in self.parameters():
            if p.dim() == 2 and p.requires_grad:
                nn.init.xavier_uniform_(p)


class _WiredCfCCell(nn.Module):
    """Parameters of a chain of CfC cells, one for each layer of a wiring."""

    def __init__(self, wiring: Any, mode: str) -> None:
        super().__init__()
        before: Any = None
        inputs = wiring.input_dim
        self.layer_sizes = []
        for index, units in enumerate(_layers(wiring)):
            synapses = (
                wiring.sensory_adjacency_matrix[:, units]
                if before is None
                else wiring.adjacency_matrix[before][:, units]
            )
            mask = np.concatenate([np.abs(synapses), np.ones((len(units), len(units)))]).T
            mask = np.ascontiguousarray(mask, dtype=np.float32)
            self.add_module(f"layer_{index}", _CfCCell(inputs, len(units), mode, [], "lecun_tanh", 0, mask))
            self.layer_sizes.append(len(units))
            before, inputs = units, len(units)


class _Memory(nn.Module):
    """Parameters of the memory (LSTM) beside a cell."""

    def __init__(self, inputs: int, units: int) -> None:
        super().__init__()
        self.input_map = nn.Linear(inputs, 4 * units)
        self.recurrent_map = nn.Linear(units, 4 * units, bias=False)
        nn.init.xavier_uniform_(self.input_map.weight)
        nn.init.uniform_(self.input_map.bias, -0.1, 0.1)
        nn.init.orthogonal_(self.recurrent_map.weight)


class _LTCCell(nn.Module):
    """Parameters of an LTC cell."""

    def __init__(self, wiring: Any, input_mapping: Any, output_mapping: Any, implicit: bool) -> None:
        super().__init__()
        self.implicit_param_constraints = implicit
        units, inputs = wiring.units, wiring.input_dim
        self._draw("gleak", 0.001, 1.0, units)
        self._draw("vleak", -0.2, 0.2, units)
        self._draw("cm", 0.4, 0.6, units)
        self._draw("sigma", 3, 8, units, units)
        self._draw("mu", 0.3, 0.8, units, units)
        self._draw("w", 0.001, 1.0, units, units)
        self._add("erev", wiring.adjacency_matrix)
        self._draw("sensory_sigma", 3, 8, inputs, units)
        self._draw("sensory_mu", 0.3, 0.8, inputs, units)
        self._draw("sensory_w", 0.001, 1.0, inputs, units)
        self._add("sensory_erev", wiring.sensory_adjacency_matrix)
        self._add("sparsity_mask", np.abs(wiring.adjacency_matrix), False)
        self._add("sensory_sparsity_mask", np.abs(wiring.sensory_adjacency_matrix), False)
        for name, mapping, count in (("input", input_mapping, inputs), ("output", output_mapping, wiring.output_dim)):
            if mapping in ("affine", "linear"):
                self._add(f"{name}_w", np.ones(count))
            if mapping == "affine":
                self._add(f"{name}_b", np.zeros(count))

    def _draw(self, name: str, low: float, high: float, *shape: int) -> None:
        self.register_parameter(name, nn.Parameter(torch.rand(*shape) * (high - low) + low))

    def _add(self, name: str, values: Any, is_trained: bool = True) -> None:
        tensor = torch.from_numpy(np.array(values, dtype=np.float32))
        self.register_parameter(name, nn.Parameter(tensor, requires_grad=is_trained))

    def apply_weight_constraints(self) -> None:
        """Makes w, sensory_w, cm and gleak at least 0; call it after each step of an optimizer. Does nothing where
        implicit_param_constraints is true: softplus keeps them positive then."""
        if not self.implicit_param_constraints:
            for name in ("w", "sensory_w", "cm", "gleak"):
                parameter = getattr(self, name)
                parameter.data = torch.relu(parameter.data)


# ---- what both networks have in common
class _Liquid(nn.Module):
    state_size: int
    batch_first: bool
    return_sequences: bool
    use_mixed: bool
    _programs: Optional[_Programs]

    def _finish(self, inputs: int, outputs: int, architecture: dict[str, Any], draws: bool) -> None:
        self._inputs = inputs
        self._outputs = outputs  # features of an output
        self._architecture = architecture  # without the wiring
        self._draws = draws  # random numbers are drawn in training: dropout
        self._masks = [
            (module, name)
            for module in self.modules()
            for name in ("sparsity_mask", "sensory_sparsity_mask")
            if name in module._parameters
        ]
        self._programs = None
        self._locate(self._renewed())

    def _wiring_json(self) -> Any:
        raise NotImplementedError

    def _renewed(self) -> _Programs:
        """Programs for the present masks: a state-dict may have brought others."""
        masks = [getattr(module, name) for module, name in self._masks]
        for mask in masks:
            if not bool(((mask == 0) | (mask == 1)).all()):
                raise ValueError("sparsity_mask: a mask is 0 or 1")
        versions = [(mask.data_ptr(), mask._version) for mask in masks]
        architecture = dict(self._architecture)
        if masks:
            architecture["wiring"] = self._wiring_json()
        self._programs = _Programs(architecture, versions)
        return self._programs

    def _locate(self, programs: _Programs) -> None:
        """Where the parameters of the programs are, in their order."""
        self._places = []
        for name, shape, is_trained, *_ in programs.model.tensors():
            if not is_trained:
                continue
            path, _, leaf = name.rpartition(".")
            module = self.get_submodule(path)
            if tuple(getattr(module, leaf).shape) != tuple(shape):
                raise ValueError(f"{name}: expected shape {shape}, given {tuple(getattr(module, leaf).shape)}")
            self._places.append((module, leaf))

    def _current(self) -> _Programs:
        programs = self._programs
        if programs is None or programs.generation != _generation:
            return self._renewed()
        if self._masks:
            masks = [getattr(module, name) for module, name in self._masks]
            if programs.masks != [(mask.data_ptr(), mask._version) for mask in masks]:
                return self._renewed()
        return programs

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state["_programs"] = None
        return state

    def _tensor(self, tensor: Any, name: str, shape: tuple[int, ...]) -> Tensor:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{name}: expected a tensor, given {type(tensor).__name__}")
        if tensor.dtype is not torch.float32 or tensor.device.type != "cpu":
            raise TypeError(f"{name}: expected torch.float32 on the CPU, given {tensor.dtype} on {tensor.device}")
        if tensor.shape != shape:
            raise ValueError(f"{name}: expected shape {tuple(shape)}, given {tuple(tensor.shape)}")
        return tensor.contiguous()

    def _parameters_now(self) -> list[Tensor]:
        found: list[Tensor] = []
        p: Tensor | None
        for module, name in self._places:
            p = module._parameters.get(name)
            if p is None:
                p = getattr(module, name)  # a parametrization computes it
            if p.dtype is not torch.float32 or not p.is_contiguous() or not p.is_cpu:
                p = self._tensor(p, name, tuple(p.shape))
            found.append(p)
        return found

    def _states(self, hx: Any, batch: int, is_batched: bool) -> tuple[Any, Any]:
        if hx is None:
            return None, None
        if self.use_mixed and isinstance(hx, Tensor):
            raise RuntimeError("hx: mixed_memory needs a tuple (h0, c0), given a tensor")
        if self.use_mixed and len(hx) != 2:
            raise RuntimeError(f"hx: mixed_memory needs a tuple (h0, c0), given {len(hx)} elements")
        h, c = hx if self.use_mixed else (hx, None)
        shape = (batch, self.state_size) if is_batched else (self.state_size,)
        if isinstance(h, Tensor) and h.dim() != len(shape):
            raise RuntimeError(f"hx: expected {len(shape)}-D for this input, given {h.dim()}-D")
        return self._tensor(h, "hx", shape), None if c is None else self._tensor(c, "hx[1]", shape)

    def _times(self, timespans: Any, shape: tuple[int, ...], batch_axis: int) -> Tensor:
        if not isinstance(timespans, Tensor):
            timespans = torch.as_tensor(timespans)
        timespans = timespans.to(torch.float32)
        if timespans.dim() == len(shape) + 1 and timespans.shape[-1] == 1:
            timespans = timespans.squeeze(-1)
        one = list(shape)
        if len(shape) == 2:
            one[batch_axis] = 1
        if timespans.dim() == 0 or list(timespans.shape) == one:  # the same for all samples
            timespans = timespans.expand(shape)
        return self._tensor(timespans, "timespans", shape)

    def forward(self, input: Tensor, hx: Optional[State] = None, timespans: Any = None) -> tuple[Tensor, State]:
        """Outputs and the final state.

        `input` is [batch, time, features], [time, batch, features] without batch_first, or [time, features]. `hx` is
        [batch, units], with mixed_memory a tuple of two. `timespans`, the time that elapsed before each step, is
        [batch, time], with or without a last axis of one element; a batch of one there stands for all samples.
        """
        dimensions = input.dim() if isinstance(input, Tensor) else 0
        if dimensions not in (2, 3):
            raise ValueError("input: expected a tensor [batch, time, features] or [time, features]")
        is_batched = dimensions == 3
        batch_axis = 0 if self.batch_first else 1
        shape = tuple(input.shape[:-1])
        batch = shape[batch_axis] if is_batched else 1
        time = shape[1 - batch_axis] if is_batched else shape[0]
        if not batch or not time:
            raise ValueError(f"input: an empty tensor of shape {tuple(input.shape)}")
        x = self._tensor(input, "input", (*shape, self._inputs))
        h, c = self._states(hx, batch, is_batched)
        spans = None if timespans is None else self._times(timespans, shape, batch_axis)
        programs = self._current()
        parameters = self._parameters_now()
        wants = 0
        if torch.is_grad_enabled():
            if any([p.requires_grad for p in parameters]):
                wants = _PARAMETERS
            if x.requires_grad:
                wants |= _X
            if spans is not None and spans.requires_grad:
                wants |= _TIMESPANS
            if (h is not None and h.requires_grad) or (c is not None and c.requires_grad):
                wants |= _STATES
        draws = self._draws and self.training
        seed = int(torch.randint(2**62, ())) if draws else 0
        last = not self.return_sequences
        key = (batch, time, self.batch_first, not is_batched, last, spans is not None, h is not None, draws, wants)
        width = (self._outputs,)
        if last:
            outer: tuple[int, ...] = shape[batch_axis : batch_axis + 1] if is_batched else ()
        else:
            outer = shape
        state = (batch, self.state_size) if is_batched else (self.state_size,)
        call = (programs, key, seed, ((*outer, *width), state, self.use_mixed))
        if wants:
            y, *states = _Run.apply(call, x, spans, h, c, *parameters)
        else:
            with torch.no_grad():
                y, *states = _compute(call, x, spans, h, c, parameters)
        if last and not is_batched and not self.batch_first:
            y = y.unsqueeze(0).squeeze(1)  # as ncps has it
        return y, (states[0], states[1]) if self.use_mixed else states[0]


class CfC(_Liquid):
    """A closed-form continuous-time network with the arguments of `ncps.torch.CfC`.

    `units` is a number, or a wiring of ncps or elegans. The backbone is for networks without a wiring.

    >>> rnn = CfC(20, 50, mode="pure", proj_size=3, return_sequences=False)
    >>> rnn(torch.zeros(2, 3, 20))[0].shape
    torch.Size([2, 3])
    """

    def __init__(
        self,
        input_size: int,
        units: Any,
        proj_size: Optional[int] = None,
        return_sequences: bool = True,
        batch_first: bool = True,
        mixed_memory: bool = False,
        mode: str = "default",
        activation: str = "lecun_tanh",
        backbone_units: Optional[int] = None,
        backbone_layers: Optional[int] = None,
        backbone_dropout: Optional[float] = None,
    ) -> None:
        super().__init__()
        _check_choice("mode", mode, ("default", "pure", "no_gate"))
        _check_choice("activation", activation, tuple(_ACTIVATIONS))
        self.input_size = input_size
        self.wiring_or_units = units
        self.proj_size = proj_size
        self.batch_first = batch_first
        self.return_sequences = return_sequences
        self.use_mixed = mixed_memory
        self.wired_mode = _is_wiring(units)
        config: dict[str, Any] = {"model": "CfC", "input_size": input_size, "mode": mode}
        draws = False
        if self.wired_mode:
            for name, value in (
                ("backbone_units", backbone_units),
                ("backbone_layers", backbone_layers),
                ("backbone_dropout", backbone_dropout),
            ):
                if value is not None:
                    raise ValueError(f"{name}: a network with a wiring has no backbone")
            _build(units, input_size)
            self.wiring = units
            self.state_size = units.units
            self.output_size = units.output_dim
            self.rnn_cell: nn.Module = _WiredCfCCell(units, mode)
            features = self.rnn_cell.layer_sizes[-1]
        else:
            widths = [128 if backbone_units is None else backbone_units] * (
                1 if backbone_layers is None else backbone_layers
            )
            dropout = backbone_dropout or 0.0
            features = self.state_size = self.output_size = int(units)
            self.rnn_cell = _CfCCell(input_size, self.state_size, mode, widths, activation, dropout)
            config.update(units=self.state_size, backbone=widths)
            draws = dropout > 0 and len(widths) > 1  # after every layer but the first
            if widths:
                config.update(activation=activation, backbone_dropout=dropout)
        if mixed_memory:
            self.lstm = _Memory(input_size, self.state_size)
            config["mixed_memory"] = True
        self.fc: nn.Module = nn.Identity()
        if proj_size is not None:
            self.fc = nn.Linear(features, proj_size)
            config["proj_size"] = features = proj_size
        self._finish(input_size, features, config, draws)

    def _wiring_json(self) -> Any:
        """The synapses that the masks have. Units of the last layer are the first, as in circuits."""
        sizes: list[int] = self.rnn_cell.layer_sizes  # type: ignore[assignment]
        first = [sum(sizes[i + 1 :]) for i in range(len(sizes))]
        synapses: list[list[int]] = []
        sensory: list[list[int]] = []
        for i, size in enumerate(sizes):
            mask = self.get_parameter(f"rnn_cell.layer_{i}.sparsity_mask").detach().numpy().T
            if not mask[-size:].all():
                raise ValueError("sparsity_mask: units of a layer without a synapse between them")
            for source, target, polarity in _pairs(mask[:-size]):
                if i:
                    synapses.append([first[i - 1] + source, first[i] + target, polarity])
                else:
                    sensory.append([source, first[i] + target, polarity])
        layers = [list(range(first[i], first[i] + size)) for i, size in enumerate(sizes)]
        return {
            "kind": "Edges",
            "args": {
                "units": sum(sizes),
                "inputs": self._inputs,
                "outputs": sizes[-1],
                "synapses": synapses,
                "sensory": sensory,
                "layers": layers,
            },
        }


class LTC(_Liquid):
    """A liquid time-constant network with the arguments of `ncps.torch.LTC`.

    `units` is a number (every synapse exists), or a wiring of ncps or elegans.

    >>> rnn = LTC(4, 8, return_sequences=False)
    >>> rnn(torch.zeros(2, 3, 4))[0].shape
    torch.Size([2, 8])
    """

    def __init__(
        self,
        input_size: int,
        units: Any,
        return_sequences: bool = True,
        batch_first: bool = True,
        mixed_memory: bool = False,
        input_mapping: Optional[str] = "affine",
        output_mapping: Optional[str] = "affine",
        ode_unfolds: int = 6,
        epsilon: float = 1e-8,
        implicit_param_constraints: bool = True,
    ) -> None:
        super().__init__()
        _check_choice("input_mapping", input_mapping, ("affine", "linear", "none", None))
        _check_choice("output_mapping", output_mapping, ("affine", "linear", "none", None))
        self.input_size = input_size
        self.wiring_or_units = units
        self.batch_first = batch_first
        self.return_sequences = return_sequences
        self.use_mixed = mixed_memory
        if _is_wiring(units):
            _build(units, input_size)
            wiring = units
        else:
            wiring = _Full(int(units), input_size)
        self._wiring = wiring
        self.state_size = wiring.units
        self.rnn_cell = _LTCCell(wiring, input_mapping, output_mapping, implicit_param_constraints)
        if mixed_memory:
            self.lstm = _Memory(wiring.input_dim, self.state_size)
        config = {
            "model": "LTC",
            "input_size": wiring.input_dim,
            "mixed_memory": bool(mixed_memory),
            "input_mapping": input_mapping,
            "output_mapping": output_mapping,
            "ode_unfolds": ode_unfolds,
            "epsilon": epsilon,
            "implicit_param_constraints": bool(implicit_param_constraints),
        }
        if not mixed_memory:
            del config["mixed_memory"]
        self._finish(wiring.input_dim, wiring.output_dim, config, False)

    @property
    def sensory_size(self) -> int:
        """The number of inputs."""
        return int(self._wiring.input_dim)

    @property
    def motor_size(self) -> int:
        """The number of outputs."""
        return int(self._wiring.output_dim)

    @property
    def output_size(self) -> int:
        """The number of outputs."""
        return self.motor_size

    @property
    def synapse_count(self) -> int:
        """Synapses between neurons; counted."""
        return int(np.abs(self._wiring.adjacency_matrix).sum())

    @property
    def sensory_synapse_count(self) -> int:
        """Synapses from inputs; counted."""
        return int(np.abs(self._wiring.sensory_adjacency_matrix).sum())

    def _wiring_json(self) -> Any:
        """The synapses that the masks have."""
        return {
            "kind": "Edges",
            "args": {
                "units": self.state_size,
                "inputs": self._inputs,
                "outputs": self._outputs,
                "synapses": _pairs(self.get_parameter("rnn_cell.sparsity_mask").detach().numpy()),
                "sensory": _pairs(self.get_parameter("rnn_cell.sensory_sparsity_mask").detach().numpy()),
            },
        }
