"""WiringProfiler and WiringVisualizer: what a wiring looks like, and what a model on it takes."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any, Sequence

import numpy as np

from .. import _core, _html
from ._figure import MB, Figure, Figures
from ._picture import Picture, bars, lines, matrix
from ._profile import Profile, profile_model
from ._subject import as_model


def figures_of(wiring: Any, title: str = "") -> dict[str, Any]:
    """What the library counts of a wiring: a spec or file, or an object with the matrices of ncps."""
    spec = getattr(wiring, "spec", wiring)
    if isinstance(spec, (str, os.PathLike)):
        return _core.wiring_figures(spec, title)
    adjacency = getattr(wiring, "adjacency_matrix", None)
    if adjacency is None:
        raise TypeError(f"wiring: expected a spec, a file or a wiring with adjacency_matrix, given {type(wiring)}")
    sensory = getattr(wiring, "sensory_adjacency_matrix", None)
    if sensory is None:
        raise ValueError("wiring: its number of inputs is not known; call wiring.build(inputs)")
    document = {
        "units": int(wiring.units),
        "inputs": int(np.shape(sensory)[0]),
        "outputs": int(wiring.output_dim),
        "synapses": _synapses(adjacency),
        "sensory": _synapses(sensory),
    }
    layers = _layers(wiring)
    if layers:
        document["layers"] = layers
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "wiring.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)
        return _core.wiring_figures(path, title)


def _synapses_text(count: int) -> str:
    return f"{count} synapse{'' if count == 1 else 's'}"


def _synapses(values: Any) -> list[list[int]]:
    array = np.asarray(values)
    return [[int(i), int(j), int(array[i, j])] for i, j in np.argwhere(array)]


def _layers(wiring: Any) -> list[list[int]] | None:
    count = getattr(wiring, "num_layers", 1)
    return [[int(n) for n in wiring.get_neurons_of_layer(i)] for i in range(count)] if 1 < count <= 3 else None


class WiringProfiler:
    """Synapses, degrees and paths of a wiring, and times of models on it.

    >>> profiler = WiringProfiler("autoncp:28:4,in=6")
    >>> found = profiler.analyze_connectivity()
    >>> found["max_in_degree"], f"{found['sparsity']:.3f}", found["avg_path_length"].provenance
    (9, '0.893', 'counted')
    """

    def __init__(self, wiring: Any) -> None:
        self.wiring = wiring
        self._found = figures_of(wiring)
        self.history: dict[str, list[Any]] = {"memory": [], "forward_time": [], "backward_time": [], "sparsity": []}
        self.history["memory"].append(self.memory)
        self.history["sparsity"].append(self.analyze_connectivity()["sparsity"])

    @property
    def memory(self) -> Figure:
        """The two matrices of synapses in float32, in MB."""
        units, inputs = self._found["units"], self._found["inputs"]
        return Figure((units + inputs) * units * 4 / MB, "counted", "MB", "matrices of float32")

    def analyze_connectivity(self) -> dict[str, Any]:
        """Synapses between units; all counted."""
        found = self._found

        def counted(value: float, unit: str | None = None) -> Figure:
            return Figure(value, "counted", unit, "synapses of the wiring")

        figures = Figures(
            {
                "sparsity": counted(1 - found["density"]),
                "avg_in_degree": counted(found["in"][2]),
                "avg_out_degree": counted(found["out"][2]),
                "max_in_degree": found["in"][1],
                "max_out_degree": found["out"][1],
                "num_components": found["components"],
                "largest_component": found["largest_component"],
                "avg_path_length": counted(found["path_mean"]),
                "longest_path": found["path_longest"],
                "unreached": found["unreached"],
                "synapses": found["synapses"],
                "sensory_synapses": found["sensory_synapses"],
            }
        )
        figures.others = "counted"
        return figures

    def profile_forward(
        self, model: Any, batch_size: int = 32, seq_length: int = 16, num_runs: int | None = 100
    ) -> Figures:
        """Seconds of a forward pass of a model on this wiring."""
        profile = profile_model(model, batch_size, seq_length, num_runs, ceilings=False, steps=False)
        return self._times("forward_time", profile)

    def profile_backward(
        self, model: Any, batch_size: int = 32, seq_length: int = 16, num_runs: int | None = 100
    ) -> Figures:
        """Seconds of a step of training: forward, backward and Adam, on a copy of the model."""
        core = _core.profile_training(as_model(model), batch_size, seq_length, num_runs)
        return self._times("backward_time", Profile(core))

    def _times(self, kind: str, profile: Profile) -> Figures:
        time = profile.time
        figures = Figures(
            {
                key: Figure(value, "measured", "s", "timed runs")
                for key, value in zip(
                    ("mean", "std", "min", "max"), (time["mean"][0], time["std"], time["min"], time["max"])
                )
            }
        )
        figures.profile = profile
        self.history[kind].append(figures["mean"])
        return figures

    def get_history(self) -> dict[str, list[Any]]:
        """What was measured so far: memory, forward_time, backward_time, sparsity."""
        return self.history

    def plot_history(self, metrics: Sequence[str] | None = None) -> Picture:
        """A line for each kind of the history; `metrics` chooses among them."""
        names = list(metrics) if metrics is not None else list(self.history)
        return lines("wiring", {name: self.history[name] for name in names})

    def summary(self) -> str:
        """Connectivity and the latest times as text."""
        found = self._found
        rows = [f"{found['kind']}: {found['inputs']} inputs, {found['units']} units, {found['outputs']} outputs"]
        for name, value in self.analyze_connectivity().items():
            rows.append(f"  {name:<18} {value:.6g}")
        for kind in ("forward_time", "backward_time"):
            latest = self.history[kind][-1:] or ["not measured"]
            rows.append(f"  {kind:<18} {latest[0]!r}" if isinstance(latest[0], Figure) else f"  {kind:<18} {latest[0]}")
        return "\n".join(rows)


def profile_wiring(
    wiring: Any, model: Any = None, batch_size: int = 32, seq_length: int = 16, num_runs: int | None = 100
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Times of a model on a wiring (an empty dict without one), and its connectivity."""
    profiler = WiringProfiler(wiring)
    times: dict[str, Any] = {}
    if model is not None:
        times = {
            "forward_time": profiler.profile_forward(model, batch_size, seq_length, num_runs)["mean"],
            "backward_time": profiler.profile_backward(model, batch_size, seq_length, num_runs)["mean"],
            "memory_mb": profiler.memory,
        }
    return times, profiler.analyze_connectivity()


class WiringVisualizer:
    """Pictures of a wiring.

    >>> WiringVisualizer("autoncp:12:3,in=4").plot_wiring().svg.startswith("<svg")
    True
    """

    def __init__(self, wiring: Any, title: str = "") -> None:
        self.wiring = wiring
        self._found = figures_of(wiring, title or (wiring if isinstance(wiring, str) else ""))

    def plot_wiring(self) -> Picture:
        """Inputs, layers and the synapses between them."""
        return Picture(self._found["svg"])

    def plot_connectivity_matrix(self) -> Picture:
        """A square for each synapse, sources as rows."""
        return matrix("synapses between units, counted", self._found["adjacency"])

    def plot_degree_distribution(self) -> Picture:
        """How many units have so many synapses, in and out."""
        adjacency = self._found["adjacency"] != 0
        degrees = {"in": adjacency.sum(axis=0), "out": adjacency.sum(axis=1)}
        present = sorted({int(d) for part in degrees.values() for d in part})
        groups = {label: {_synapses_text(d): int((part == d).sum()) for d in present} for label, part in degrees.items()}
        return bars("units by degree, counted", groups, full=len(adjacency))

    def plot_path_lengths(self) -> Picture:
        """How many pairs of units are so many synapses apart."""
        adjacency = self._found["adjacency"] != 0
        reached = np.eye(len(adjacency), dtype=bool)
        front, counts = reached, {}
        for length in range(1, len(adjacency) + 1):
            front = (front.astype(np.int32) @ adjacency.astype(np.int32) > 0) & ~reached
            if not front.any():
                break
            counts[_synapses_text(length)] = int(front.sum())
            reached = reached | front
        return bars("pairs of units by distance, counted", {"pairs": counts}, full=max(counts.values(), default=1))

    def _repr_svg_(self) -> str:
        return self._found["svg"]  # type: ignore[no-any-return]

    def _repr_html_(self) -> str:
        return _html.image(self._repr_svg_(), "a wiring")
