"""Graphs for people who build them: what is to be computed, compiled into programs that do nothing but compute."""

from __future__ import annotations

from typing import Any, Iterator, Mapping, MutableMapping, Sequence, Union

import numpy as np

from . import _core
from ._core import Node
from ._model import Array, like

Outputs = Union[Node, Sequence[Node], Mapping[str, Node]]


class Scan:
    """A loop over time inside a graph: whatever is computed from its carries and steps runs once per step."""

    def __init__(self, graph: Graph, length: int, reverse: bool = False) -> None:
        self.graph = graph
        self.node = graph.scan_begin(length, reverse)

    def carry(self, initial: Any) -> Node:
        """A value that is carried from step to step, and what it is before the first."""
        return self.graph.scan_carry(self.node, initial)

    def step(self, sequence: Any) -> Node:
        """Element t of the first axis of a sequence; from the end on in a reverse scan."""
        return self.graph.scan_step(self.node, sequence)

    def update(self, carry: Node, next: Any) -> None:
        """What a carry is after a step."""
        self.graph.scan_update(carry, next)

    def lengths(self, lengths: Any) -> None:
        """The steps of each sample, float32 [batch]: its carries stay as they are afterwards. Before any update()."""
        self.graph.scan_lengths(self.node, lengths)

    def stack(self, value: Any) -> Node:
        """The values of all steps, [length, ...]."""
        return self.graph.scan_stack(self.node, value)

    def sum(self, value: Any) -> Node:
        """The sum over all steps."""
        return self.graph.scan_sum(self.node, value)

    def last(self, carry: Node) -> Node:
        """A carry after the last step."""
        return self.graph.scan_last(carry)


class Graph(_core.Graph):
    """What is to be computed. Building computes nothing; every node knows its shape at once, and a mistake raises.

    >>> graph = Graph()
    >>> x, w = graph.input("x", (4, 3)), graph.parameter("w", (3, 2))
    >>> y = graph.tanh(x @ w) + 1
    >>> y.shape, y.dtype
    ((4, 2), 'float32')
    >>> x @ x
    Traceback (most recent call last):
    ...
    elegans.ArgumentError: matmul: ...
    """

    def scan(self, length: int, reverse: bool = False) -> Scan:
        """A loop of so many steps.

        >>> graph = Graph()
        >>> loop = graph.scan(5)
        >>> total = loop.carry(graph.scalar(0))
        >>> loop.update(total, total + loop.step(graph.input("x", 5)))
        >>> program = compile(graph, loop.last(total))
        >>> float(program(x=[1, 2, 3, 4, 5]))
        15.0
        """
        return Scan(self, length, reverse)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} nodes)"


class _Values(MutableMapping[str, np.ndarray]):
    """Parameters or states of a program by name: copies are read, and whole arrays replaced."""

    def __init__(self, program: Program, kind: str) -> None:
        self._program, self._kind = program, kind

    def __getitem__(self, name: str) -> np.ndarray:
        return self._program.parameter(name) if self._kind == "parameters" else self._program.state(name)

    def __setitem__(self, name: str, values: Array) -> None:
        (self._program.set_parameter if self._kind == "parameters" else self._program.set_state)(name, values)

    def __delitem__(self, name: str) -> None:
        raise TypeError(f"{self._kind} of a program cannot be deleted")

    def __iter__(self) -> Iterator[str]:
        return iter(self._program.leaves()[self._kind])

    def __len__(self) -> int:
        return len(self._program.leaves()[self._kind])

    def __repr__(self) -> str:
        rows = self._program.leaves()[self._kind].items()
        return "{" + ", ".join(f"{name!r}: {dtype} {shape}" for name, (shape, dtype) in rows) + "}"


class Program(_core.Program):
    """A compiled graph. Threads may run it at once, unless it has states."""

    _form: Any = dict
    _names: tuple[str, ...] = ()
    _outputs: tuple[str, ...] = ()

    def __call__(self, *inputs: Array, **named: Array) -> Any:
        """Runs once on arrays by name, or in the order of the inputs; gives what compile() was asked for."""
        if inputs:
            for name, array in zip(self._names, inputs):
                if name in named:
                    raise TypeError(f"got the input '{name}' twice")
                named[name] = array
            if len(inputs) > len(self._names):
                raise TypeError(f"takes {len(self._names)} inputs, {len(inputs)} given")
        result = self.run(named)
        for array in named.values():
            if type(array) is not np.ndarray:
                result = like(array, result)
                break
        if self._form is dict:
            return dict(zip(self._outputs, result))
        return result if self._form is tuple else result[0]

    @property
    def parameters(self) -> MutableMapping[str, np.ndarray]:
        """The parameters by name, zero at first: `program.parameters["w"] = array`, `.update(arrays)`."""
        return _Values(self, "parameters")

    @property
    def states(self) -> MutableMapping[str, np.ndarray]:
        """The states by name; reset() makes them zero."""
        return _Values(self, "states")

    def __repr__(self) -> str:
        leaves = self.leaves()
        sides = [", ".join(f"{k}: {dtype} {shape}" for k, (shape, dtype) in leaves[side].items()) for side in leaves]
        return f"Program({sides[0]} -> {sides[1]}; {self.info()['run_steps']} steps)"


def _free_name(graph: Graph, name: str, others: Mapping[str, Node]) -> str:
    """The library wants names that inputs and outputs do not share: "y" is "y_" where there is an input "y"."""
    free = name
    while (free != name and free in others) or graph.has_input(free):
        free += "_"
    return free


def compile(
    graph: Graph,
    outputs: Outputs,
    training: bool = False,
    passes: str | None = None,
    dtype: Any = None,
    share: Program | None = None,
) -> Program:
    """A program that computes nodes of a graph: a dict of them by name, a sequence, or one; its calls give the same.

    With `training`, dropout is active. `passes` such as "none" or "all,-fuse" are for debugging, see Program.passes().
    `dtype` "float16" or "bfloat16" rounds both sides of matrix products to it. `share` is a program with the same
    parameters, which both then have.

    >>> graph = Graph()
    >>> x = graph.input("x", (2, 2))
    >>> w = graph.parameter("w", (2, 2))
    >>> program = compile(graph, {"y": x @ w, "norm": graph.sum(x * x)})
    >>> program.parameters["w"] = [[0, 1], [1, 0]]
    >>> program(x=[[1, 2], [3, 4]])
    {'y': array([[2., 1.],
           [4., 3.]], dtype=float32), 'norm': array(30., dtype=float32)}
    """
    form: Any
    if isinstance(outputs, Node):
        named, form = {"y": outputs}, None
    elif isinstance(outputs, Mapping):
        named, form = dict(outputs), dict
    else:
        named, form = {f"y{i}": node for i, node in enumerate(outputs)}, tuple
    own = {_free_name(graph, name, named): node for name, node in named.items()}
    program = Program.compile(graph, own, training, passes, dtype, share)
    program._form, program._outputs = form, tuple(named)
    program._names = tuple(program.leaves()["inputs"])
    return program
