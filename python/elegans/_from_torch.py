"""Models of ncps.torch: modules, state-dicts and files of them."""

from __future__ import annotations

import json
import os
import re
import warnings
from typing import Any, Mapping

import numpy as np

from . import _core, wirings
from ._cells import LTC, CfC
from ._model import Model

Values = np.ndarray[Any, Any]

_MARKERS = ("gleak", "ff1.weight", "layer_0.ff1.weight")
_PARTS = ("rnn_cell.", "lstm.", "fc.")
_ACTIVATIONS = {"LeCun": "lecun_tanh", "SiLU": "silu", "ReLU": "relu", "Tanh": "tanh", "GELU": "gelu"}


def _array(value: Any) -> Values:
    if hasattr(value, "detach"):
        value = value.detach().cpu().float().numpy()
    return np.ascontiguousarray(value, dtype=np.float32)


# ---- names
def _part(values: Mapping[str, Values], prefix: str | None) -> dict[str, Values]:
    """The tensors of the liquid layer, with the names that CfC and LTC give them."""
    if prefix is not None:
        start = f"{prefix.rstrip('.')}." if prefix else ""
        values = {name[len(start) :]: value for name, value in values.items() if name.startswith(start)}
        if not values:
            raise ValueError(f"prefix: no tensor begins with '{start}'")
    found = {
        name[: -len(marker)] for name in values for marker in _MARKERS if name == marker or name.endswith(f".{marker}")
    }
    found = {name for name in found if not re.search(r"layer_\d+\.$", name)}  # of a wired cell
    if not found:
        raise ValueError(f"no CfC or LTC of ncps: a state-dict with {', '.join(list(values)[:4]) or 'no tensors'}")
    if len(found) > 1:
        raise ValueError(f"several layers, {sorted(found)}: give a prefix, or a config with all layers")
    start = found.pop()
    if start.endswith("rnn_cell."):
        start = start[: -len("rnn_cell.")]
        inner = ""
    else:
        inner = "rnn_cell."  # a cell alone
    mine = {inner + name[len(start) :]: value for name, value in values.items() if name.startswith(start)}
    others = [name for name in values if not name.startswith(start)]
    others += [name for name in mine if not name.startswith(_PARTS)]
    if others and prefix is None:
        raise ValueError(
            f"tensors of other layers: {', '.join(sorted(others)[:4])}; "
            f"prefix={start.rstrip('.')!r} takes the liquid layer alone"
        )
    return {name: value for name, value in mine.items() if name.startswith(_PARTS)}


# ---- what tensors tell
def _backbone(values: Mapping[str, Values], cell: str) -> dict[str, Any]:
    pattern = re.compile(re.escape(cell) + r"backbone\.(\d+)\.weight$")
    places = sorted(int(match.group(1)) for match in map(pattern.match, values) if match)
    if not places:
        return {"backbone": []}
    widths = [int(values[f"{cell}backbone.{place}.weight"].shape[0]) for place in places]
    told: dict[str, Any] = {"backbone": widths}
    if len(places) > 2 and places[2] - places[1] == 3:  # a dropout has a number of its own, and no values
        told["backbone_dropout"] = None
    return told


def _edges(values: Mapping[str, Values], count: int) -> dict[str, Any]:
    """The wiring of a CfC from the masks of its layers: motor neurons first, as in ncps."""
    masks = [values[f"rnn_cell.layer_{i}.sparsity_mask"] for i in range(count)]
    sizes = [int(mask.shape[0]) for mask in masks]
    inputs = int(masks[0].shape[1]) - sizes[0]
    first = [sum(sizes[i + 1 :]) for i in range(count)]
    lists: list[list[list[int]]] = [[], []]
    for i, mask in enumerate(masks):
        sources = inputs if i == 0 else sizes[i - 1]
        for unit, source in np.argwhere(mask[:, :sources]):
            lists[min(i, 1)].append([int(source) + (first[i - 1] if i else 0), int(unit) + first[i], 1])
    return {
        "units": sum(sizes),
        "inputs": inputs,
        "outputs": sizes[-1],
        "layers": [list(range(first[i], first[i] + sizes[i])) for i in range(count)],
        "synapses": lists[1],
        "sensory": lists[0],
    }


def _tell_cfc(values: Mapping[str, Values]) -> dict[str, Any]:
    wired = 0
    while f"rnn_cell.layer_{wired}.ff1.weight" in values:
        wired += 1
    cell = "rnn_cell.layer_0." if wired else "rnn_cell."
    layer: dict[str, Any] = {"model": "CfC", **_backbone(values, cell)}
    units = int(values[f"{cell}ff1.weight"].shape[0])
    if wired:
        if any(f"rnn_cell.layer_{i}.sparsity_mask" not in values for i in range(wired)):
            raise ValueError(
                "config: a wired CfC whose state-dict has no sparsity_mask needs 'wiring' and 'input_size'"
            )
        edges = _edges(values, wired)
        layer.update(input_size=edges["inputs"], wiring={"kind": "Edges", "args": edges})
    else:
        widest = values.get("rnn_cell.backbone.0.weight", values["rnn_cell.ff1.weight"])
        layer.update(input_size=int(widest.shape[1]) - units, units=units)
    if f"{cell}w_tau" in values:
        layer["mode"] = "pure"
    if "fc.weight" in values:
        layer["proj_size"] = int(values["fc.weight"].shape[0])
    return layer


def _tell_ltc(values: Mapping[str, Values]) -> dict[str, Any]:
    def mapping(name: str) -> str | None:
        given = [f"rnn_cell.{name}_{part}" in values for part in "wb"]
        return "affine" if all(given) else "linear" if given[0] else None

    layer: dict[str, Any] = {
        "model": "LTC",
        "input_size": int(values["rnn_cell.sensory_w"].shape[0]),
        "units": int(values["rnn_cell.w"].shape[0]),
        "input_mapping": mapping("input"),
        "output_mapping": mapping("output"),
    }
    if "rnn_cell.output_w" in values:
        layer["output_dim"] = int(values["rnn_cell.output_w"].shape[0])
    return layer


def _tell(values: Mapping[str, Values]) -> dict[str, Any]:
    try:
        layer = _tell_ltc(values) if "rnn_cell.gleak" in values else _tell_cfc(values)
    except (KeyError, IndexError) as reason:
        raise ValueError(f"a state-dict of ncps that lacks tensors: {reason}") from None
    if "lstm.input_map.weight" in values:
        layer["mixed_memory"] = True
    return layer


# ---- what no tensor tells: the defaults of ncps' constructors
def _complete(layer: dict[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    layer = {**layer, **given}
    if "wiring" in given:
        layer.pop("units", None)
        layer.pop("output_dim", None)
        if wirings.is_wiring(given["wiring"]):
            layer["wiring"] = wirings.of_any(given["wiring"], layer["input_size"]).architecture()
    if given.get("backbone_units") is not None or given.get("backbone_layers") is not None:
        layer.pop("backbone", None)
    assumed: dict[str, Any] = {}
    if layer["model"] == "CfC":
        if "mode" not in layer:
            assumed["mode"] = "default"
        if (layer.get("backbone") or "backbone_units" in layer) and "activation" not in layer:
            assumed["activation"] = "lecun_tanh"
        if "backbone_dropout" in layer and layer["backbone_dropout"] is None:
            assumed["backbone_dropout"] = 0.1
    else:
        if "wiring" not in layer and "output_dim" not in layer:
            raise ValueError(
                "config: needs 'output_dim', the number of outputs: no tensor of this LTC, which has no output_mapping, "
                "tells it"
            )
        for key, value in (("ode_unfolds", 6), ("epsilon", 1e-8), ("implicit_param_constraints", True)):
            if key not in layer:
                assumed[key] = value
    if assumed:
        told = ", ".join(f"{key}={value!r}" for key, value in assumed.items())
        warnings.warn(f"no tensor tells {told}: assumed as in ncps; config says otherwise", UserWarning, stacklevel=3)
    return {**layer, **assumed}


# ---- what a module tells
def _tell_module(module: Any) -> tuple[dict[str, Any], Any]:
    """The arguments that a module of ncps.torch was made with, and its wiring."""
    cell = getattr(module, "rnn_cell", module)
    told: dict[str, Any] = {}
    wiring = None
    for holder in (module, cell):
        for name in ("wiring", "_wiring"):
            if wiring is None and wirings.is_wiring(getattr(holder, name, None)):
                wiring = getattr(holder, name)
    if hasattr(cell, "_ode_unfolds"):
        told["ode_unfolds"] = int(cell._ode_unfolds)
        told["epsilon"] = float(cell._epsilon)
        told["implicit_param_constraints"] = bool(cell._implicit_param_constraints)
        if wiring is not None:
            told["output_dim"] = int(wiring.output_dim)
        return told, wiring
    inner = getattr(cell, "layer_0", cell)
    told["mode"] = getattr(inner, "mode", "default")
    for part in getattr(inner, "backbone", None) or ():
        name = type(part).__name__
        if name in _ACTIVATIONS:
            told["activation"] = _ACTIVATIONS[name]
        elif name == "Dropout":
            told["backbone_dropout"] = float(part.p)
    return told, wiring


# ---- loading
def _load(kind: type[Model], values: Mapping[str, Values], config: Mapping[str, Any], name: str) -> Model:
    import tempfile

    with tempfile.TemporaryDirectory(prefix="elegans-") as folder:
        path = os.path.join(folder, "model.safetensors")
        _core.safetensors_write(path, dict(values))
        return kind.load(path, json.dumps(config), name)


def _load_layer(values: Mapping[str, Values], layer: Mapping[str, Any], name: str) -> Model:
    kind: type[Model] = LTC if layer["model"] == "LTC" else CfC
    return _load(kind, values, {"elegans_model": 1, "layers": [layer]}, name)


def _of_module(module: Any, given: Mapping[str, Any], prefix: str | None) -> Model:
    values = _part({name: _array(value) for name, value in module.state_dict().items()}, prefix)
    if prefix:
        for part in prefix.rstrip(".").split("."):
            module = getattr(module, part)
    told, wiring = _tell_module(module)
    layer = _complete(_tell(values), {**told, **given})
    name = f"{type(module).__module__.rpartition('.')[0]}.{type(module).__name__}"
    model = None
    if wiring is not None and "wiring" not in given:
        # by its arguments, unless it was drawn again since: then the masks tell what the module has
        own = wirings.of_any(wiring, layer["input_size"]).architecture()
        named = {key: value for key, value in layer.items() if key not in ("units", "output_dim")}
        try:
            model = _load_layer(values, {**named, "wiring": own}, name)
        except _core.Error:
            pass
    if model is None:
        model = _load_layer(values, layer, name)
    for attribute in ("return_sequences", "batch_first"):
        if hasattr(module, attribute):
            setattr(model, attribute, bool(getattr(module, attribute)))
    return model


def from_torch(source: Any, config: Mapping[str, Any] | str | None = None, *, prefix: str | None = None) -> Model:
    """A model of ncps.torch as a model of this library, with the same outputs.

    `source` is a module (CfC, LTC or one of their cells), its state-dict, or the path of a file of torch.save with a
    state-dict, which is read without torch and without executing anything in it. A module tells all about itself. Of a
    state-dict, names, shapes and masks tell most; what they do not tell is assumed as ncps' constructors have it, with a
    warning, unless `config` says it: a dict (or JSON) with arguments of the constructor, as
    {"mode": "no_gate", "ode_unfolds": 12}, or a whole architecture (docs/model-format.md). `prefix` is the name of the
    liquid layer within a larger module.

    >>> import elegans
    >>> values = elegans.open("cfc:autoncp:12:3,in=4,seed=1").state_dict()
    >>> from_torch(values, {"mode": "default"})
    CfC('state_dict': 4 inputs, 3 outputs, 468 parameters)
    """
    given: Mapping[str, Any] = json.loads(config) if isinstance(config, str) else dict(config or {})
    if callable(getattr(source, "state_dict", None)):
        return _of_module(source, given, prefix)
    if isinstance(source, Mapping):
        name = "state_dict"
        values = {key: _array(value) for key, value in source.items()}
    elif isinstance(source, (str, os.PathLike)):
        from ._torch_files import read_state_dict

        name = os.fspath(source)
        values = read_state_dict(source)
    else:
        raise TypeError(f"source: expected a module, a state-dict or a path, given {type(source)}")
    if "layers" in given:
        return _load(Model, values, given, name)
    values = _part(values, prefix)
    return _load_layer(values, _complete(_tell(values), given), name)
