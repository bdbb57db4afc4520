"""Liquid neural networks and transformers, in C: trained, run, quantized, profiled, deployed.

>>> import elegans, numpy
>>> model = elegans.open("cfc:autoncp:64:16,in=16,seed=1")
>>> y, state = model(numpy.zeros((2, 10, 16), "float32"))
>>> y.shape, state.shape
((2, 10, 16), (2, 64))
>>> robot = model.stream()
>>> robot.step(numpy.zeros(16, "float32"), 0.05).shape
(16,)
"""

from __future__ import annotations

import os as _os

from . import _core, wirings
from ._cells import LTC, CfC, CfCCell, LTCCell, WiredCfCCell
from ._core import (
    ArgumentError,
    Error,
    MissingFileError,
    Node,
    OutOfMemoryError,
    Stream,
    configuration,
    configure,
    memory,
)
from ._from_torch import from_torch
from ._graph import Graph, Program, compile
from ._fit import Training, evaluate, fit, predict
from ._model import Model, open
from ._publish import Publisher, publish

__version__: str = _core.version
__all__ = [
    "ArgumentError",
    "CfC",
    "CfCCell",
    "Error",
    "Graph",
    "LTC",
    "LTCCell",
    "MissingFileError",
    "Model",
    "Node",
    "OutOfMemoryError",
    "Program",
    "Publisher",
    "Stream",
    "Training",
    "WiredCfCCell",
    "compile",
    "configuration",
    "configure",
    "evaluate",
    "fit",
    "from_torch",
    "memory",
    "open",
    "predict",
    "publish",
    "wirings",
]

if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(after_in_child=_core._forked)
