"""Tools around models, with the names that people know them by: the library does the work.

Quantizing arrays, batch sizes that fit into memory, memory that is given back or was forgotten, transformers, what
slows a model down, recorded steps, the entropy of bytes.
"""

from __future__ import annotations

import gc
import math
import os
import threading
import warnings
import weakref
from types import TracebackType
from typing import Any, Iterator, List, NamedTuple, Sequence, Union

import numpy as np

from . import _core, _html
from ._core import Tokenizer
from ._model import Array, Model, PathLike
from .profiling import profile

__all__ = [
    "AdaptiveBatchManager",
    "AppleSiliconOptimizedTransformer",
    "BlockQuantized",
    "Diagnosis",
    "DynamicQuantizer",
    "MemoryLeakDetector",
    "OptimizedDataLoader",
    "Tokenizer",
    "block_wise_quantize",
    "calculate_entropy",
    "dequantize",
    "diagnose_performance",
    "managed_tensor_context",
    "profile",
]


# ---- quantization
def _floats(x: Array) -> np.ndarray:
    """Any array as float32 of numpy, without a copy where it is such."""
    detached = x.detach() if hasattr(x, "detach") else x
    return np.asarray(detached, dtype=np.float32)


class DynamicQuantizer:
    """Quantizes arrays to int8 or int4 (one value per byte of numpy) with scales and zero points, or rounds to float16.

    `target_dtype` is a name or a type of numpy, torch or MLX. `per` "tensor" or "channel" (rows) says what shares a
    scale; `symmetric` has no zero points. TypeError for what numpy has no arrays of, such as bfloat16.

    >>> quantizer = DynamicQuantizer("int8")
    >>> quantized, scale, zero_point = quantizer.quantize_weights([[0.0, 0.5], [1.0, -1.0]])
    >>> quantized.dtype, float(abs(quantizer.dequantize_weights(quantized, scale, zero_point)[1, 0] - 1)) < 0.005
    (dtype('int8'), True)
    """

    def __init__(self, target_dtype: Any = "int8", per: str = "tensor", symmetric: bool = False) -> None:
        self.target_dtype, self.per, self.symmetric = target_dtype, per, symmetric
        _core.quantize(np.zeros((1, 1), np.float32), target_dtype, per)  # what is impossible is said here

    def quantize_weights(self, weights: Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values, scales and zero points: x = scale (value - zero point), one of each per tensor or channel."""
        given = _core.quantize(_floats(weights), self.target_dtype, self.per, symmetric=self.symmetric)
        self.difference: dict[str, Any] = given["difference"]
        """Of the array that was quantized last from what is left of it: count, most, rms, snr in dB."""
        return given["values"], given["scales"], given["zero_points"]

    def dequantize_weights(self, quantized_weights: Array, scale: Array, zero_point: Array) -> np.ndarray:
        """The array again, float32."""
        return _core.dequantize(quantized_weights, scale, zero_point, self.target_dtype, self.per)


class BlockQuantized(NamedTuple):
    """What block_wise_quantize() gives; also by name, as `given["scales"]`."""

    quantized: np.ndarray
    """int8 [blocks, block_size]; the last block is padded with zeros."""
    scales: np.ndarray
    zero_points: np.ndarray
    original_shape: tuple[int, ...]

    def __getitem__(self, key: Any) -> Any:
        return getattr(self, key) if isinstance(key, str) else tuple.__getitem__(self, key)


def block_wise_quantize(x: Array, block_size: int = 128, dtype: Any = "int8") -> BlockQuantized:
    """Quantizes all elements in blocks of consecutive ones, each with a scale and a zero point.

    >>> quantized, scales, zero_points, original_shape = block_wise_quantize(np.ones((3, 50), "float32"), 64)
    >>> quantized.shape, scales.shape, original_shape
    ((3, 64), (3,), (3, 50))
    """
    if block_size < 1:
        raise ValueError(f"block_size: at least 1, given {block_size}")
    floats = _floats(x)
    flat = floats.reshape(-1)
    rows = np.zeros((max(1, -(-flat.size // block_size)), block_size), np.float32)
    rows.reshape(-1)[: flat.size] = flat
    given = _core.quantize(rows, dtype, "channel")
    return BlockQuantized(given["values"], given["scales"], given["zero_points"], floats.shape)


def dequantize(given: BlockQuantized, dtype: Any = "int8") -> np.ndarray:
    """The array that block_wise_quantize() was given, as far as it is left.

    >>> float(abs(dequantize(block_wise_quantize([0.25, -1, 1])) - [0.25, -1, 1]).max()) < 0.005
    True
    """
    quantized, scales, zero_points, shape = given
    rows = _core.dequantize(quantized, scales, zero_points, dtype, "channel")
    return rows.reshape(-1)[: math.prod(shape)].reshape(shape)


# ---- batches
class AdaptiveBatchManager:
    """Finds the largest batch that fits: doubled after a success, halved after a failure, which is remembered.

    >>> manager = AdaptiveBatchManager(32)
    >>> manager.adjust_batch_size(True), manager.adjust_batch_size(False)
    (64, 32)
    """

    def __init__(self, initial_batch_size: int = 32, min_batch_size: int = 1, max_batch_size: int = 1 << 20) -> None:
        self._batch = _core.Batch(initial_batch_size, min_batch_size, max_batch_size)

    @property
    def batch_size(self) -> int:
        """To try next; 0 = even the smallest failed."""
        return int(self._batch.figures()["size"])

    @property
    def settled(self) -> bool:
        """Nothing larger is left to try: `largest` is the answer."""
        return bool(self._batch.figures()["settled"])

    @property
    def largest(self) -> int:
        """The largest that worked; 0 = none yet."""
        return int(self._batch.figures()["works"])

    def adjust_batch_size(self, success: bool) -> int:
        """`success`: whether a run with batch_size fitted. Returns the size to try next."""
        return self._batch.adjust(success)


class OptimizedDataLoader:
    """Batches of samples in memory that is taken once per batch size and used again: copy what is to stay.

    `dataset` is an array or a sequence of arrays of one shape. Iterating gives batches, in another order in each pass
    with `shuffle`; a last batch that is not full is given unless `drop_last`.

    >>> [batch.tolist() for batch in OptimizedDataLoader(np.arange(5, dtype="float32"), 2)]
    [[0.0, 1.0], [2.0, 3.0], [4.0]]
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int,
        device: str = "cpu",
        shuffle: bool = False,
        seed: int = 0,
        drop_last: bool = False,
        dtype: Any = None,
    ) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size: at least 1, given {batch_size}")
        self.dataset, self.batch_size, self.device = dataset, int(batch_size), device
        self.shuffle, self.drop_last = shuffle, drop_last
        self.dtype = np.dtype(dtype) if dtype is not None else np.asarray(dataset[0]).dtype
        self._random = np.random.default_rng(seed)
        self._memory: dict[int, np.ndarray] = {}

    def __len__(self) -> int:
        count = len(self.dataset)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    def get_batch(self, indices: Sequence[int] | np.ndarray) -> np.ndarray:
        """The samples of these indices, valid until the next batch of that many."""
        batch = self._memory.get(len(indices))
        if batch is None:
            batch = np.empty((len(indices), *np.shape(self.dataset[0])), self.dtype)
            self._memory[len(indices)] = batch
        if isinstance(self.dataset, np.ndarray) and self.dataset.dtype == self.dtype:
            np.take(self.dataset, np.asarray(indices, dtype=np.intp), axis=0, out=batch)
        else:
            for row, index in enumerate(indices):
                batch[row] = np.asarray(self.dataset[int(index)])
        return batch

    def __iter__(self) -> Iterator[np.ndarray]:
        order = np.arange(len(self.dataset))
        if self.shuffle:
            self._random.shuffle(order)
        for number in range(len(self)):
            yield self.get_batch(order[number * self.batch_size : (number + 1) * self.batch_size])


# ---- memory
class MemoryLeakDetector:
    """Whether the library holds more memory than at a baseline, and for what. Bytes are counted.

    >>> detector = MemoryLeakDetector(tolerance_gb=0)
    >>> detector.set_baseline()
    >>> detector.check_leak()
    False
    """

    def __init__(self, tolerance_gb: float = 0.1) -> None:
        if not tolerance_gb >= 0:
            raise ValueError(f"tolerance_gb: at least 0, given {tolerance_gb}")
        self.tolerance_gb = tolerance_gb
        self._mark: bytes | None = None

    def set_baseline(self) -> None:
        """Remembers what is held now."""
        gc.collect()
        self._mark = _core.memory_mark()

    def growth(self) -> dict[str, Any]:
        """Bytes held now minus bytes held at the baseline: `total`, `by_tag` (what grew), `leaked`."""
        if self._mark is None:
            raise ValueError("call set_baseline() first")
        gc.collect()
        return _core.memory_growth(self._mark, int(self.tolerance_gb * 1e9))

    def check_leak(self) -> bool:
        """Whether the growth is above the tolerance; warns when it is."""
        found = self.growth()
        if found["leaked"]:
            most = max(found["by_tag"], key=found["by_tag"].get, default="other")
            warnings.warn(
                f"{found['total']} bytes more than at the baseline, most of them '{most}'", ResourceWarning, 2
            )
        return bool(found["leaked"])


class _Memory:
    """Temporaries of a thread, and the scopes that are open in them, outermost first."""

    def __init__(self) -> None:
        self.temporaries = _core.Temporaries()
        self.open: list[managed_tensor_context] = []
        self.is_kept = False
        """Arrays of an ended scope are alive: no scope may give memory back before all of this goes."""


_threads = threading.local()


def _let_go(memory: _Memory) -> None:
    """Called when an array is gone. The memory goes with the last one that holds it."""


class managed_tensor_context:
    """A scope for temporaries: memory taken in it is given back at its end, all at once, and used again by the next.

    What it gives are views (memoryview), which every call of this package takes, and numpy.asarray() too. At the end of
    the scope they are released: using one afterwards is a ValueError. An array that was made of a view and still lives
    keeps the memory until it goes, and a ResourceWarning says so.

    >>> with managed_tensor_context() as tensors:
    ...     x = tensors.zeros((2, 3))
    ...     total = float(np.asarray(x).sum())
    >>> total
    0.0
    >>> x[0, 0]
    Traceback (most recent call last):
    ...
    ValueError: operation forbidden on released memoryview object
    """

    def __init__(self) -> None:
        self._memory: _Memory | None = None

    def __enter__(self) -> managed_tensor_context:
        if self._memory is not None:
            raise RuntimeError("this scope is open already")
        memory: _Memory = getattr(_threads, "memory", None) or _Memory()
        try:
            self._scope = memory.temporaries.begin()
        except RuntimeError:  # of a process that forked
            memory = _Memory()
            self._scope = memory.temporaries.begin()
        _threads.memory = self._memory = memory
        memory.open.append(self)
        self._views: list[memoryview] = []
        self._blocks: list[weakref.ref[Any]] = []
        return self

    def empty(self, shape: int | Sequence[int], dtype: Any = "float32") -> memoryview:
        """A view of so many elements, contents undefined."""
        import ctypes

        if self._memory is None:
            raise ValueError("the scope is not open")
        if self._memory.open[-1] is not self:
            raise ValueError("another scope is open in this one")
        kind = np.dtype(dtype)
        extents = [shape] if isinstance(shape, int) else [int(extent) for extent in shape]
        if any(extent < 1 for extent in extents):
            raise ValueError(f"shape: extents of at least 1, given {tuple(extents)}")
        size = math.prod(extents) * kind.itemsize
        # whoever uses the memory holds the block, so that it is known when nobody does any more
        block = (ctypes.c_ubyte * size).from_address(self._memory.temporaries.take(size))
        self._blocks.append(weakref.ref(block))
        view = memoryview(block).cast("B").cast(kind.char, extents)
        self._views.append(view)
        return view

    def zeros(self, shape: int | Sequence[int], dtype: Any = "float32") -> memoryview:
        """A view of zeros."""
        view = self.empty(shape, dtype)
        np.asarray(view)[...] = 0
        return view

    def array(self, values: Array, dtype: Any = "float32") -> memoryview:
        """A view of a copy of these values."""
        given = np.asarray(values, dtype=dtype)
        view = self.empty(given.shape, dtype)
        np.asarray(view)[...] = given
        return view

    @property
    def figures(self) -> dict[str, int]:
        """Scopes that are open in this thread, bytes taken in them, and the most ever. Counted."""
        if self._memory is None:
            raise ValueError("the scope is not open")
        return self._memory.temporaries.figures()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        memory, self._memory = self._memory, None
        if memory is None:
            raise RuntimeError("this scope is not open")
        for view in self._views:
            try:
                view.release()
            except BufferError:
                pass  # an array is made of it
        self._views.clear()
        used = [block for block in (reference() for reference in self._blocks) if block is not None]
        self._blocks.clear()
        # a scope that ends before those that began in it cannot give back what they have
        memory.is_kept = memory.is_kept or bool(used) or memory.open[-1] is not self
        memory.open.remove(self)
        if not memory.is_kept:
            memory.temporaries.end(self._scope)
            return
        for block in used:
            weakref.finalize(block, _let_go, memory).atexit = False
        if getattr(_threads, "memory", None) is memory:
            _threads.memory = None
        if used and kind is None:
            warnings.warn(f"{len(used)} arrays of a managed_tensor_context are still in use", ResourceWarning, 2)


# ---- what slows it down
class Diagnosis(List[str]):
    """The issues, a line each; `findings` and `checklist` have all items, good and unknown ones included."""

    findings: list[dict[str, str]]
    """name, health ("good", "bad", "unknown"), text, advice, provenance."""
    checklist: list[dict[str, str]]

    def _repr_html_(self) -> str:
        columns = ("name", "health", "text", "advice", "provenance")
        return _html.table([[item[key] for key in columns] for item in self.findings + self.checklist], columns)


def diagnose_performance(
    model: Union[Model, PathLike, None] = None, batch_size: int = 1, seq_length: int = 1
) -> Diagnosis:
    """What slows programs down on this machine; with a model (or its file or spec), which is profiled, also what slows
    that down.

    >>> issues = diagnose_performance()
    >>> [sorted(item) for item in issues.findings[:1]]
    [['advice', 'health', 'name', 'provenance', 'text']]
    """
    opened = model if model is None or isinstance(model, _core.Model) else Model.open(model)
    given = _core.diagnose(_core.profile_model(opened, batch=batch_size, seq=seq_length) if opened else None)
    items = given["findings"] + given["checklist"]
    bad = [item for item in items if item["health"] == "bad"]
    issues = Diagnosis(": ".join(part for part in (i["name"], i["text"], i["advice"]) if part) for i in bad)
    issues.findings, issues.checklist = given["findings"], given["checklist"]
    return issues


def calculate_entropy(data: Any, window_size: int = 256) -> np.ndarray:
    """Shannon entropy of the bytes in a window around each byte, divided by 8: 0 where all are the same, at most 1.

    >>> calculate_entropy(b"aaaa").tolist()
    [0.0, 0.0, 0.0, 0.0]
    """
    return _core.entropy(data.encode() if isinstance(data, str) else data, window_size)


# ---- transformers
_SIZES = (  # of a spec: its key, and what configurations call it
    ("heads", ("num_heads", "num_attention_heads", "n_head")),
    ("kv", ("num_kv_heads", "num_key_value_heads")),
    ("hidden", ("ffn_size", "intermediate_size")),
    ("vocab", ("vocab_size",)),
    ("context", ("max_length", "max_position_embeddings", "context")),
    ("dropout", ("dropout",)),
    ("seed", ("seed",)),
)


def _spec(config: Any, given: dict[str, Any]) -> str:
    """The spec of a configuration: an object or mapping with hidden_size, num_layers and what else it says."""

    def find(*names: str) -> Any:
        for name in names:
            value = given.pop(name, None)
            if value is None:
                value = config.get(name) if isinstance(config, dict) else getattr(config, name, None)
            if value is not None:
                return value
        return None

    family = find("family", "model_type") or "llama"
    width, layers = find("hidden_size", "n_embd"), find("num_layers", "num_hidden_layers", "n_layer") or 1
    if width is None:
        raise TypeError("config: expected a file, a spec, or sizes of which hidden_size is one")
    parts = [f"{family}:{layers}:{width}"]
    for key, names in _SIZES:
        value = find(*names)
        if value is not None:
            parts.append(f"{key}={value}")
    if given:
        raise TypeError(f"unknown sizes: {', '.join(given)}")
    return ",".join(parts)


class AppleSiliconOptimizedTransformer:
    """A transformer of the library: from a file (GGUF, a folder of Hugging Face, llama2.c), a spec, or sizes, which
    are rounded up to multiples of 64 where that suits the kernels.

    >>> model = AppleSiliconOptimizedTransformer(hidden_size=64, num_layers=2, num_heads=4, vocab_size=256, seed=1)
    >>> model([[1, 2, 3]]).shape
    (1, 3, 256)
    >>> len(model.generate([1, 2, 3], max_tokens=4))
    4
    """

    def __init__(self, config: Any = None, tokenizer: PathLike | Tokenizer | None = None, **sizes: Any) -> None:
        named = config if isinstance(config, (str, os.PathLike)) and not sizes else None
        self.model = config if isinstance(config, Model) else Model.open(named or _spec(config, sizes))
        self.config = config
        about = self.model.info()
        if about["kind"] == "liquid":
            raise ValueError(f"{self.model.name}: a liquid network; elegans.open() opens it")
        architecture = self.model.architecture["transformer"]
        self.hidden_size, self.num_heads = int(architecture["width"]), int(architecture["heads"])
        self.vocabulary = int(architecture["vocabulary"])
        found = self._vocabulary_file(named) if tokenizer is None and named is not None else tokenizer
        self.tokenizer = found if isinstance(found, Tokenizer) or found is None else Tokenizer.open(found)

    def _vocabulary_file(self, path: PathLike) -> str | None:
        """Where the vocabulary of a file is, as `elegans generate` finds it; None = nowhere."""
        if os.path.isdir(path):
            beside = [os.path.join(path, "tokenizer.json")]
        elif os.path.isfile(path):
            with open(path, "rb") as file:
                if file.read(4) == b"GGUF":
                    return os.fspath(path)
            folder = os.path.dirname(path)
            beside = [*self.model.note("tokenizer"), os.path.join(folder, "tokenizer.bin")]
            beside.append(os.path.join(folder, "tokenizer.json"))
        else:
            return None
        return next((name for name in beside if os.path.isfile(name)), None)

    def __call__(self, tokens: Any) -> np.ndarray:
        """Logits (of an encoder: features) of each token, [batch, time, ...]; tokens are integers [batch, time]."""
        ids = np.ascontiguousarray(np.atleast_2d(np.asarray(tokens)), dtype=np.int32)
        y, _ = self.model(ids)
        return np.asarray(y)

    def encode(self, text: str) -> list[int]:
        """Tokens of a text, with those that begin one. Without a tokenizer, tokens are bytes if there are 256."""
        if self.tokenizer is not None:
            return self.tokenizer.encode(text, ends=True)
        if self.vocabulary != 256:
            raise ValueError("a text needs a tokenizer: give its file as `tokenizer`")
        return list(text.encode())

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens."""
        if self.tokenizer is not None:
            return self.tokenizer.decode(tokens)
        return bytes(tokens).decode(errors="replace")

    def stream(
        self,
        prompt: str | Sequence[int],
        max_tokens: int = 128,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 0.0,
        seed: int = 0,
        context: int | None = None,
        cache: Any = "float32",
    ) -> Iterator[int]:
        """Tokens that continue a prompt, as they come: until max_tokens, an end token, or a full context."""
        generator = _core.Generator(self.model, context, cache)
        generator.sampling(temperature, top_k, top_p, seed)
        special = self.tokenizer.info()["special"] if self.tokenizer is not None else {}
        ends = {special.get("begin"), special.get("end")}
        generator.feed((self.encode(prompt) if isinstance(prompt, str) else list(prompt)) or [0])
        about = generator.info()
        for number in range(max_tokens):
            token = generator.next()
            if token in ends:
                return
            yield token
            if number + 1 == max_tokens or about["length"] + number == about["context"]:
                return
            generator.feed([token])

    def generate(self, prompt: str | Sequence[int], max_tokens: int = 128, **sampling: Any) -> Any:
        """What continues a prompt: a text for a text, a list of tokens for tokens. `sampling` as for stream()."""
        tokens = list(self.stream(prompt, max_tokens, **sampling))
        return self.decode(tokens) if isinstance(prompt, str) else tokens

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r})"
