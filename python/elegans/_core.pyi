"""The extension module: what the library does, as Python sees it."""

from os import PathLike
from typing import Any, Sequence, TypeVar

import numpy as np

version: str

class Error(Exception):
    status: str

class ArgumentError(Error, ValueError): ...
class OutOfMemoryError(Error, MemoryError): ...
class MissingFileError(Error, FileNotFoundError): ...

_M = TypeVar("_M", bound="Model")

class Model:
    @classmethod
    def open(cls: type[_M], file_or_spec: str | PathLike[str]) -> _M: ...
    @classmethod
    def load(cls: type[_M], path: str | PathLike[str], config: str | None = None) -> _M: ...
    @classmethod
    def create(cls: type[_M], config: str, seed: int = 0) -> _M: ...
    @property
    def name(self) -> str | None: ...
    def run(
        self,
        x: Any,
        timespans: Any = None,
        lengths: Any = None,
        state: Any = None,
        return_sequences: bool = True,
        batch_first: bool = True,
        hidden: bool = False,
    ) -> tuple[Any, Any]: ...
    def stream(self) -> Stream: ...
    def info(self) -> dict[str, Any]: ...
    def layers(self) -> list[dict[str, Any]]: ...
    def config(self) -> str: ...
    def note(self, key: str) -> list[str]: ...
    def tensors(self) -> list[tuple[str, tuple[int, ...], bool, str, int, float]]: ...
    def read(self, index: int) -> np.ndarray[Any, Any]: ...
    def write(self, index: int, values: Any) -> None: ...
    def save(self, path: str | PathLike[str]) -> None: ...
    def export_c(self, directory: str | PathLike[str], name: str = "policy") -> dict[str, int]: ...
    def quantize(
        self,
        dtype: str,
        per: str = "channel",
        block: int | None = None,
        symmetric: bool = False,
        integers: bool = False,
        keep: Sequence[str] = (),
    ) -> None: ...

class Stream:
    state: Any
    @property
    def model(self) -> Model: ...
    def step(self, x: Any, timespan: float | None = None, out: Any = None) -> Any: ...
    def check(self, x: Any) -> None: ...
    def reset(self) -> None: ...

class Differentiable:
    @property
    def parameters(self) -> list[tuple[str, tuple[int, ...]]]: ...
    @property
    def kept(self) -> int: ...
    def forward(
        self,
        parameters: list[int],
        seed: int,
        x: int,
        timespans: int,
        h0: int,
        c0: int,
        y: int,
        hn: int,
        cn: int,
        kept: int,
        /,
    ) -> None: ...
    def backward(
        self,
        parameters: list[int],
        seed: int,
        x: int,
        timespans: int,
        h0: int,
        c0: int,
        kept: int,
        d_y: int,
        d_hn: int,
        d_cn: int,
        g_x: int,
        g_timespans: int,
        g_h0: int,
        g_c0: int,
        gradients: list[int],
        /,
    ) -> None: ...

def differentiable(
    model: Model,
    batch: int,
    time: int,
    batch_first: bool = False,
    unbatched: bool = False,
    last: bool = False,
    timespans: bool = False,
    state: bool = False,
    training: bool = False,
    wants: int = 0,
) -> Differentiable: ...
def configure(threads: int | None = None, isa: str | None = None, memory_budget: int | None = None) -> None: ...
def configuration() -> dict[str, Any]: ...
def memory() -> dict[str, dict[str, int]]: ...
def memory_reset_peak() -> None: ...
def memory_empty_cache() -> int: ...
def _forked() -> None: ...
