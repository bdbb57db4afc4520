"""Wirings with the names of ncps: which input and which neuron has a synapse to which neuron.

The library draws them, bit for bit as ncps does for the same seed.

>>> wiring = AutoNCP(28, 4)
>>> wiring.build(6)
>>> wiring
AutoNCP(6 inputs, 28 units, 4 outputs)
>>> wiring.adjacency_matrix.shape, wiring.synapse_count, wiring.sensory_synapse_count
((28, 28), 84, 42)
>>> [len(wiring.get_neurons_of_layer(layer)) for layer in range(wiring.num_layers)]
[15, 9, 4]
>>> wiring.statistics()["unreached"]
0
"""

from __future__ import annotations

import copy
import json
import operator
import os
from typing import Any, Mapping, Sequence

import numpy as np

from . import _core, _html

__all__ = ["AutoNCP", "FullyConnected", "NCP", "Random", "Wiring"]

Matrix = np.ndarray[Any, Any]


def _count(value: Any, name: str, least: int = 1) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: expected an integer, given {type(value)}") from None
    if number < least:
        raise ValueError(f"{name}: expected an integer of at least {least}, given {number}")
    return number


class Wiring:
    """A wiring whose synapses you add yourself; the other classes of this module are drawn.

    >>> wiring = Wiring(3)
    >>> wiring.set_output_dim(1)
    >>> wiring.build(2)
    >>> wiring.add_sensory_synapse(0, 2, 1)
    >>> wiring.add_synapse(2, 1, 1)
    >>> wiring.add_synapse(1, 0, -1)
    >>> wiring.get_type_of_neuron(0), wiring.statistics()["path_longest"]
    ('motor', 2)
    """

    def __init__(self, units: int) -> None:
        self.units: int = _count(units, "units")
        self.adjacency_matrix: Matrix = np.zeros([self.units, self.units], dtype=np.int32)
        """Synapses between neurons, source first: 1 excites, -1 inhibits, 0 is none."""
        self.sensory_adjacency_matrix: Matrix | None = None
        """Synapses from inputs to neurons, from build() on."""
        self.input_dim: int | None = None
        self.output_dim: int | None = None
        self._layers: list[tuple[str, list[int]]] | None = None

    # ---- layers
    @property
    def num_layers(self) -> int:
        """Layers that a signal passes: 3 in a circuit, else 1."""
        return len(self._layers) if self._layers else 1

    def get_neurons_of_layer(self, layer_id: int) -> list[int]:
        """The ids of the neurons of a layer, in the order a signal takes: inter, command, motor in a circuit."""
        if not self._layers:
            return list(range(self.units))
        if not 0 <= layer_id < len(self._layers):
            raise ValueError(f"layer_id: expected 0 to {len(self._layers) - 1}, given {layer_id}")
        return list(self._layers[layer_id][1])

    def get_type_of_neuron(self, neuron_id: int) -> str:
        """ "motor", "command" or "inter"."""
        for name, neurons in self._layers or ():
            if neuron_id in neurons and name != "units":
                return name
        if self.output_dim is None:
            raise ValueError("the number of outputs is not known: call set_output_dim()")
        return "motor" if neuron_id < self.output_dim else "inter"

    # ---- sizes
    def is_built(self) -> bool:
        """Whether the number of inputs is known."""
        return self.input_dim is not None

    def build(self, input_dim: int) -> None:
        """Sets the number of inputs. Doing so twice is harmless; another number is refused."""
        input_dim = _count(input_dim, "input_dim")
        if self.input_dim is not None and self.input_dim != input_dim:
            raise ValueError(f"input_dim: built for {self.input_dim} inputs, given {input_dim}")
        if self.input_dim is None:
            self.set_input_dim(input_dim)

    def set_input_dim(self, input_dim: int) -> None:
        """Sets the number of inputs, and removes every synapse from inputs."""
        self.input_dim = _count(input_dim, "input_dim")
        self.sensory_adjacency_matrix = np.zeros([self.input_dim, self.units], dtype=np.int32)

    def set_output_dim(self, output_dim: int) -> None:
        """Sets the number of outputs: the first neurons are motor neurons."""
        self.output_dim = _count(output_dim, "output_dim")

    # ---- synapses
    def _check_synapse(self, src: int, sources: int, dest: int, polarity: int) -> None:
        if not 0 <= src < sources:
            raise ValueError(f"src: expected 0 to {sources - 1}, given {src}")
        if not 0 <= dest < self.units:
            raise ValueError(f"dest: expected 0 to {self.units - 1}, given {dest}")
        if polarity not in (-1, 1):
            raise ValueError(f"polarity: expected -1 or 1, given {polarity}")

    def add_synapse(self, src: int, dest: int, polarity: int) -> None:
        """A synapse from a neuron to a neuron, which excites (1) or inhibits (-1)."""
        self._check_synapse(src, self.units, dest, polarity)
        self.adjacency_matrix[src, dest] = polarity

    def add_sensory_synapse(self, src: int, dest: int, polarity: int) -> None:
        """A synapse from an input to a neuron."""
        if self.input_dim is None or self.sensory_adjacency_matrix is None:
            raise ValueError("the number of inputs is not known: call build() before")
        self._check_synapse(src, self.input_dim, dest, polarity)
        self.sensory_adjacency_matrix[src, dest] = polarity

    def erev_initializer(self, shape: Any = None, dtype: Any = None) -> Matrix:
        """The polarities of synapses between neurons, copied: initial reversal potentials of an LTC."""
        return np.copy(self.adjacency_matrix)

    def sensory_erev_initializer(self, shape: Any = None, dtype: Any = None) -> Matrix:
        """The polarities of synapses from inputs, copied."""
        return np.copy(self._built())

    @property
    def synapse_count(self) -> int:
        """Synapses between neurons; counted."""
        return int(np.count_nonzero(self.adjacency_matrix))

    @property
    def sensory_synapse_count(self) -> int:
        """Synapses from inputs, 0 before build(); counted."""
        sensory = self.sensory_adjacency_matrix
        return 0 if sensory is None else int(np.count_nonzero(sensory))

    # ---- as a dictionary
    def get_config(self) -> dict[str, Any]:
        """What from_config() takes."""
        sensory = self.sensory_adjacency_matrix
        return {
            "units": self.units,
            "adjacency_matrix": self.adjacency_matrix.tolist(),
            "sensory_adjacency_matrix": None if sensory is None else sensory.tolist(),
            "input_dim": self.input_dim,
            "output_dim": self.output_dim,
        }

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Wiring:
        """The wiring that get_config() described."""
        wiring = Wiring(config["units"])
        if config["adjacency_matrix"] is not None:
            wiring.adjacency_matrix = np.array(config["adjacency_matrix"], dtype=np.int32)
        if config["sensory_adjacency_matrix"] is not None:
            wiring.sensory_adjacency_matrix = np.array(config["sensory_adjacency_matrix"], dtype=np.int32)
        wiring.input_dim = config["input_dim"]
        wiring.output_dim = config["output_dim"]
        return wiring

    # ---- as the library has it
    def _built(self) -> Matrix:
        if self.sensory_adjacency_matrix is None:
            raise ValueError("the number of inputs is not known: call build() before")
        return self.sensory_adjacency_matrix

    def _neurons(self) -> list[list[int]]:
        return [[int(i) for i in self.get_neurons_of_layer(layer)] for layer in range(self.num_layers)]

    def _edges(self) -> dict[str, Any]:
        """Every synapse, as files and architectures have them."""
        sensory = self._built()
        if self.output_dim is None:
            raise ValueError("the number of outputs is not known: call set_output_dim()")

        def synapses(matrix: Matrix) -> list[list[int]]:
            return [[int(s), int(d), int(matrix[s, d])] for s, d in np.argwhere(matrix)]

        return {
            "units": self.units,
            "inputs": sensory.shape[0],
            "outputs": self.output_dim,
            "layers": self._neurons(),
            "synapses": synapses(self.adjacency_matrix),
            "sensory": synapses(sensory),
        }

    def _drawn(self) -> _core.Wiring | None:
        """The wiring of the library, where it draws one and nobody added a synapse since."""
        return None

    def architecture(self) -> dict[str, Any]:
        """The wiring as the architecture of a model has it: its arguments, or every synapse."""
        if self._drawn():
            kind = next(kind.__name__ for kind in type(self).__mro__ if kind in _KINDS.values())
            return {"kind": kind, "args": self.get_config()}
        return {"kind": "Edges", "args": self._edges()}

    def _library(self) -> _core.Wiring:
        return self._drawn() or _core.Wiring.from_json(json.dumps(self._edges()))

    def statistics(self) -> dict[str, Any]:
        """Synapses, degrees, density, components and path lengths; all counted by the library."""
        return self._library().statistics()

    def save(self, path: Any) -> None:
        """Writes every synapse as JSON; the program and load() read it."""
        self._library().save(path)

    @classmethod
    def load(cls, path: Any) -> Wiring:
        """A wiring from a file of save()."""
        return _of_library(_core.Wiring.open(path))

    def svg(self, title: str | None = None) -> str:
        """A picture of inputs, layers and the synapses between them."""
        return self._library().svg(repr(self) if title is None else title)

    def _repr_svg_(self) -> str | None:
        return self.svg() if self.is_built() and self.output_dim is not None else None

    def _repr_html_(self) -> str:
        picture = self._repr_svg_()
        if picture is None:
            return f"<p><code>{_html.text(repr(self))}</code>, not built yet</p>"
        found = self.statistics()
        names = [name for name in ("synapses", "sensory_synapses", "density", "components") if name in found]
        rows = [(name.replace("_", " "), f"{found[name]:.4g}", "counted") for name in names]
        return _html.image(picture, repr(self)) + _html.table(rows, right=(1,))

    def __repr__(self) -> str:
        inputs = f"{self.input_dim} inputs, " if self.is_built() else ""
        outputs = "" if self.output_dim is None else f", {self.output_dim} outputs"
        return f"{type(self).__name__}({inputs}{self.units} units{outputs})"

    # ---- for networkx and matplotlib
    def get_graph(self, include_sensory_neurons: bool = True) -> Any:
        """A networkx.DiGraph with nodes "neuron_0" ... (and "sensory_0" ...), and edges of a polarity."""
        import networkx  # type: ignore[import-untyped,import-not-found,unused-ignore]

        graph = networkx.DiGraph()
        sensory = self._built()
        for i in range(self.units):
            graph.add_node(f"neuron_{i}", neuron_type=self.get_type_of_neuron(i))
        parts = [("neuron", self.adjacency_matrix)]
        if include_sensory_neurons:
            for i in range(sensory.shape[0]):
                graph.add_node(f"sensory_{i}", neuron_type="sensory")
            parts.insert(0, ("sensory", sensory))
        for kind, matrix in parts:
            for s, d in np.argwhere(matrix):
                polarity = "excitatory" if matrix[s, d] > 0 else "inhibitory"
                graph.add_edge(f"{kind}_{s}", f"neuron_{d}", polarity=polarity)
        return graph

    def draw_graph(
        self,
        layout: str = "shell",
        neuron_colors: Mapping[str, str] | None = None,
        synapse_colors: Mapping[str, str] | str | None = None,
        draw_labels: bool = False,
    ) -> list[Any]:
        """Draws the graph with networkx and matplotlib, and returns handles for a legend; svg() needs neither."""
        import matplotlib.patches  # type: ignore[import-not-found,unused-ignore]
        import networkx  # type: ignore[import-untyped,import-not-found,unused-ignore]

        layouts = {"kamada": "kamada_kawai"}
        place = getattr(networkx, f"{layouts.get(layout, layout)}_layout", None)
        if place is None:
            raise ValueError(f"layout: unknown value '{layout}'")
        neurons = {"inter": "tab:blue", "motor": "tab:orange", "sensory": "tab:olive", **(neuron_colors or {})}
        if isinstance(synapse_colors, str):
            synapse_colors = {"excitatory": synapse_colors, "inhibitory": synapse_colors}
        synapses = {"excitatory": "tab:green", "inhibitory": "tab:red", **(synapse_colors or {})}
        graph = self.get_graph()
        at = place(graph)
        kinds = [graph.nodes[node]["neuron_type"] for node in graph]
        networkx.draw_networkx_nodes(graph, at, node_color=[neurons.get(kind, "tab:blue") for kind in kinds])
        if draw_labels:
            networkx.draw_networkx_labels(graph, at)
        edges = [synapses[data["polarity"]] for _, _, data in graph.edges(data=True)]
        networkx.draw_networkx_edges(graph, at, edge_color=edges)
        return [
            matplotlib.patches.Patch(color=color, label=f"{kind.capitalize()} neurons")
            for kind, color in neurons.items()
        ]


class _Drawn(Wiring):
    """A wiring that the library draws: from a seed once the number of inputs is known."""

    def _spec(self, inputs: int) -> str:
        raise NotImplementedError

    def _open(self, inputs: int) -> _core.Wiring:
        return _core.Wiring.open(self._spec(inputs))

    def build(self, input_dim: int) -> None:
        was_built = self.is_built()
        super().build(input_dim)
        if not was_built and self.input_dim is not None:
            drawn = self._open(self.input_dim)
            self.sensory_adjacency_matrix = drawn.sensory_adjacency_matrix()
            between = drawn.adjacency_matrix()
            self.adjacency_matrix = np.where(between != 0, between, self.adjacency_matrix)

    def _drawn(self) -> _core.Wiring | None:
        drawn = self._open(self._built().shape[0])
        is_same = (
            np.array_equal(drawn.adjacency_matrix(), self.adjacency_matrix)
            and np.array_equal(drawn.sensory_adjacency_matrix(), self._built())
            and [neurons for _, neurons in drawn.layers()] == self._neurons()
        )
        return drawn if is_same else None

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Wiring:
        """A wiring drawn anew from the arguments that get_config() gave."""
        return cls(**config)


def _seed(value: Any, name: str) -> int:
    return int.from_bytes(os.urandom(4), "little") if value is None else _count(value, name, 0)


class FullyConnected(_Drawn):
    """Every synapse; a third of them inhibits.

    `output_dim` None: every neuron is an output. Seeds draw as numpy does; None draws another wiring each time.

    >>> wiring = FullyConnected(4, 2)
    >>> wiring.build(3)
    >>> wiring.synapse_count, wiring.sensory_synapse_count
    (16, 12)
    """

    def __init__(
        self,
        units: int,
        output_dim: int | None = None,
        erev_init_seed: int | None = 1111,
        self_connections: bool = True,
    ) -> None:
        super().__init__(units)
        self.self_connections = bool(self_connections)
        self.set_output_dim(self.units if output_dim is None else output_dim)
        self._erev_init_seed = _seed(erev_init_seed, "erev_init_seed")
        self.adjacency_matrix = self._open(1).adjacency_matrix()

    def _spec(self, inputs: int) -> str:
        flag = int(self.self_connections)
        return f"full:{self.units}:{self.output_dim},in={inputs},self={flag},wiring_seed={self._erev_init_seed}"

    def get_config(self) -> dict[str, Any]:
        return {
            "units": self.units,
            "output_dim": self.output_dim,
            "erev_init_seed": self._erev_init_seed,
            "self_connections": self.self_connections,
        }


class Random(_Drawn):
    """A wiring of which the share `sparsity_level` (0 to below 1) of all possible synapses is missing.

    >>> wiring = Random(10, 2, sparsity_level=0.75)
    >>> wiring.build(4)
    >>> wiring.synapse_count, wiring.sensory_synapse_count
    (25, 10)
    """

    def __init__(
        self,
        units: int,
        output_dim: int | None = None,
        sparsity_level: float = 0.0,
        random_seed: int | None = 1111,
    ) -> None:
        super().__init__(units)
        self.set_output_dim(self.units if output_dim is None else output_dim)
        self.sparsity_level = float(sparsity_level)
        self._random_seed = _seed(random_seed, "random_seed")
        self.adjacency_matrix = self._open(1).adjacency_matrix()

    def _spec(self, inputs: int) -> str:
        sparsity = repr(self.sparsity_level)
        return f"random:{self.units}:{self.output_dim},in={inputs},sparsity={sparsity},wiring_seed={self._random_seed}"

    def get_config(self) -> dict[str, Any]:
        return {
            "units": self.units,
            "output_dim": self.output_dim,
            "sparsity_level": self.sparsity_level,
            "random_seed": self._random_seed,
        }


class NCP(_Drawn):
    """A neural circuit policy: inputs to inter neurons, to command neurons, to motor neurons.

    Synapses exist from build() on. Every number is a mean over neurons: synapses from an input, from an inter neuron,
    among command neurons, and into a motor neuron. ArgumentError where a layer is too small for its synapses.

    >>> wiring = NCP(6, 4, 2, sensory_fanout=3, inter_fanout=2, recurrent_command_synapses=3, motor_fanin=2)
    >>> wiring.build(5)
    >>> wiring, wiring.get_type_of_neuron(0)
    (NCP(5 inputs, 12 units, 2 outputs), 'motor')
    """

    def __init__(
        self,
        inter_neurons: int,
        command_neurons: int,
        motor_neurons: int,
        sensory_fanout: int,
        inter_fanout: int,
        recurrent_command_synapses: int,
        motor_fanin: int,
        seed: int | None = 22222,
    ) -> None:
        self._arguments = {
            "inter_neurons": _count(inter_neurons, "inter_neurons"),
            "command_neurons": _count(command_neurons, "command_neurons"),
            "motor_neurons": _count(motor_neurons, "motor_neurons"),
            "sensory_fanout": _count(sensory_fanout, "sensory_fanout"),
            "inter_fanout": _count(inter_fanout, "inter_fanout"),
            "recurrent_command_synapses": _count(recurrent_command_synapses, "recurrent_command_synapses", 0),
            "motor_fanin": _count(motor_fanin, "motor_fanin"),
            "seed": _seed(seed, "seed"),
        }
        self._begin()

    def _begin(self) -> None:
        planned = self._open(1)  # the sizes do not depend on the inputs
        about = planned.info()
        Wiring.__init__(self, about["units"])
        self.set_output_dim(about["outputs"])
        self._layers = planned.layers()

    def _spec(self, inputs: int) -> str:
        a = self._arguments
        return (
            f"ncp:{a['inter_neurons']}:{a['command_neurons']}:{a['motor_neurons']},in={inputs},"
            f"sensory_fanout={a['sensory_fanout']},inter_fanout={a['inter_fanout']},motor_fanin={a['motor_fanin']},"
            f"recurrent={a['recurrent_command_synapses']},wiring_seed={a['seed']}"
        )

    def get_config(self) -> dict[str, Any]:
        return dict(self._arguments)


class AutoNCP(NCP):
    """A neural circuit policy whose sizes follow from its units and outputs.

    `sparsity_level` is from 0.1, dense, to 0.9, sparse.

    >>> AutoNCP(8, 7)
    Traceback (most recent call last):
    ...
    elegans.ArgumentError: ...
    """

    def __init__(self, units: int, output_size: int, sparsity_level: float = 0.5, seed: int | None = 22222) -> None:
        self._arguments = {"units": _count(units, "units"), "output_size": _count(output_size, "output_size")}
        self._sparsity_level = float(sparsity_level)
        self._arguments["seed"] = _seed(seed, "seed")
        self._begin()

    def _spec(self, inputs: int) -> str:
        a = self._arguments
        sparsity = repr(self._sparsity_level)
        return f"autoncp:{a['units']}:{a['output_size']},in={inputs},sparsity={sparsity},wiring_seed={a['seed']}"

    def get_config(self) -> dict[str, Any]:
        a = self._arguments
        return {
            "units": a["units"],
            "output_size": a["output_size"],
            "sparsity_level": self._sparsity_level,
            "seed": a["seed"],
        }


# ---- from other forms
_KINDS: dict[str, type[_Drawn]] = {kind.__name__: kind for kind in (AutoNCP, FullyConnected, NCP, Random)}


def _of_library(wiring: _core.Wiring) -> Wiring:
    about = wiring.info()
    made = Wiring(about["units"])
    made.input_dim, made.output_dim = about["inputs"], about["outputs"]
    made.adjacency_matrix = wiring.adjacency_matrix()
    made.sensory_adjacency_matrix = wiring.sensory_adjacency_matrix()
    made._layers = wiring.layers() if about["layers"] > 1 else None
    return made


def of_architecture(wiring: Mapping[str, Any], inputs: int) -> Wiring:
    """The wiring that the architecture of a model has, for its number of inputs."""
    if wiring["kind"] == "Edges":
        return _of_library(_core.Wiring.from_json(json.dumps(wiring["args"])))
    made = _KINDS[wiring["kind"]](**wiring["args"])
    made.build(inputs)
    return made


def is_wiring(given: Any) -> bool:
    """Whether it is a wiring: of ours, or of ncps, which need not be installed."""
    return isinstance(given, Wiring) or all(hasattr(given, name) for name in ("adjacency_matrix", "is_built", "build"))


def _same_arguments(given: Any) -> _Drawn | None:
    """Ours with the arguments of a wiring of ncps; None where it does not tell them."""
    kind = type(given).__name__
    try:
        if kind == "NCP":  # its get_config() gives lists of neurons, and loses the seed
            return NCP(
                given._num_inter_neurons,
                given._num_command_neurons,
                given._num_motor_neurons,
                given._sensory_fanout,
                given._inter_fanout,
                given._recurrent_command_synapses,
                given._motor_fanin,
            )
        return _KINDS[kind](**given.get_config()) if kind in _KINDS else None
    except (AttributeError, TypeError, ValueError):
        return None


def of_any(given: Any, inputs: int) -> Wiring:
    """A wiring of ours or of ncps, built for so many inputs, as one of ours; one of ncps is not changed."""
    if isinstance(given, Wiring):
        given.build(inputs)
        return given
    built = given
    if not given.is_built():
        built = copy.deepcopy(given)
        built.build(inputs)
    if built.input_dim != inputs:
        raise ValueError(f"wiring: built for {built.input_dim} inputs, given {inputs}")
    named = _same_arguments(given)
    if named is not None:
        named.build(inputs)
        if np.array_equal(named.adjacency_matrix, built.adjacency_matrix) and np.array_equal(
            named._built(), built.sensory_adjacency_matrix
        ):
            return named
    made = Wiring(built.units)
    made.build(inputs)
    made.adjacency_matrix = np.array(built.adjacency_matrix, dtype=np.int32)
    made.sensory_adjacency_matrix = np.array(built.sensory_adjacency_matrix, dtype=np.int32)
    made.set_output_dim(built.output_dim)
    layers: Sequence[Sequence[int]] = [built.get_neurons_of_layer(i) for i in range(built.num_layers)]
    if len(layers) > 1:
        made._layers = [(built.get_type_of_neuron(layer[0]), [int(i) for i in layer]) for layer in layers]
    return made
