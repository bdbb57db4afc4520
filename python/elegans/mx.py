"""A stand-in for the calls of MLX that published samples use, over numpy: `import elegans.mx as mx`.

Arrays are numpy's, of float32 and int32 where MLX has them so; calls compute at once, so that eval() has nothing to do
and compile() returns its function. Random numbers are numpy's, not those of MLX. What MLX asks its allocator for, the
library answers: bytes that elegans holds, counted; memory of numpy is not part of them. Gradients are those of
elegans.Graph, elegans.torch and elegans.fit: there is no grad() here.
"""

from __future__ import annotations

import functools
import types
from typing import Any, Callable, Iterable, Sequence, TypeVar, Union

import numpy as np

from . import _core

_F = TypeVar("_F", bound=Callable[..., Any])

float32, float16, float64 = np.dtype(np.float32), np.dtype(np.float16), np.dtype(np.float64)
int8, int16, int32, int64 = (np.dtype(f"int{bits}") for bits in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64))
bool_ = np.dtype(np.bool_)
complex64 = np.dtype(np.complex64)
pi, e, inf, nan, newaxis = np.pi, np.e, np.inf, np.nan, None


# ---- arrays
class array(np.ndarray):
    """An array of numpy with the types of MLX: numbers of Python become float32 and int32.

    >>> array([1.0, 2.0]).dtype, array([1, 2]).dtype, array([[1, 2]]).T.shape
    (dtype('float32'), dtype('int32'), (2, 1))
    """

    def __new__(cls, value: Any = 0.0, dtype: Any = None) -> array:
        return _wrap(_plain(value), dtype, copy=True)

    @property
    def at(self) -> Any:
        """`x.at[index].add(y)` and its like, which give a new array."""
        return _At(self)

    def square(self) -> array:
        """Squares, element by element."""
        return _wrap(np.square(self))

    def abs(self) -> array:
        """Absolute values."""
        return _wrap(np.abs(self))

    def exp(self) -> array:
        """e to the power of each element."""
        return _wrap(np.exp(self))

    def log(self) -> array:
        """Natural logarithms."""
        return _wrap(np.log(self))

    def sqrt(self) -> array:
        """Square roots."""
        return _wrap(np.sqrt(self))


class _At:
    def __init__(self, of: array, index: Any = None) -> None:
        self._of, self._index = of, index

    def __getitem__(self, index: Any) -> _At:
        return _At(self._of, index)

    def _apply(self, function: Any, value: Any) -> array:
        out = self._of.copy()
        function.at(out, self._index, value)
        return _wrap(out)

    def add(self, value: Any) -> array:
        return self._apply(np.add, value)

    def subtract(self, value: Any) -> array:
        return self._apply(np.subtract, value)

    def multiply(self, value: Any) -> array:
        return self._apply(np.multiply, value)

    def maximum(self, value: Any) -> array:
        return self._apply(np.maximum, value)

    def minimum(self, value: Any) -> array:
        return self._apply(np.minimum, value)


def _plain(value: Any) -> Any:
    """Arrays of the real mlx, of torch and jax as numpy's, used where they lie if that is possible; others as they are."""
    if isinstance(value, (np.ndarray, np.generic, int, float, bool, complex, str)) or value is None:
        return value
    kind = type(value).__module__.partition(".")[0]
    if kind == "mlx" and "bfloat16" in str(getattr(value, "dtype", "")):
        value = value.astype(__import__("mlx.core").core.float32)  # numpy has no bfloat16
    if kind in ("mlx", "torch", "jax", "jaxlib"):
        return np.asarray(value.detach() if hasattr(value, "detach") else value)
    if isinstance(value, (list, tuple)):
        return type(value)(_plain(item) for item in value) if not hasattr(value, "_fields") else value
    return value


_NARROW: dict[Any, Any] = {np.dtype(np.float64): float32, np.dtype(np.int64): int32, np.dtype(np.complex128): complex64}


def _wrap(value: Any, dtype: Any = None, copy: bool = False) -> array:
    """As an `array`; what numpy made of numbers of Python is float32 and int32, as MLX has it."""
    given = np.asarray(value)
    if dtype is not None:
        wanted = _dtype(dtype)
    elif isinstance(value, np.ndarray) and not isinstance(value, array) and given.dtype != np.float64:
        wanted = given.dtype
    else:
        wanted = _NARROW.get(given.dtype, given.dtype)
    made = np.array(given, dtype=wanted) if copy else given.astype(wanted, copy=False)
    return made.view(array)


def _dtype(dtype: Any) -> np.dtype[Any]:
    if dtype is None:
        return float32
    text = str(dtype).rpartition(".")[2]
    if text == "bfloat16":
        raise TypeError("numpy has no bfloat16: use float32 or float16")
    return np.dtype(text if type(dtype).__module__.startswith("mlx") else dtype)


def _result(value: Any, dtype: Any = None) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(_result(item, dtype) for item in value)
    if not isinstance(value, (np.ndarray, np.generic)):
        return value
    return _wrap(value, dtype if dtype is not None else _NARROW.get(value.dtype, value.dtype))


def _function(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of numpy that takes arrays of others, and gives those of this module."""

    @functools.wraps(function)
    def call(*args: Any, stream: Any = None, **named: Any) -> Any:
        if "dtype" in named:
            named["dtype"] = _dtype(named["dtype"])
        result = function(*(_plain(a) for a in args), **{k: _plain(v) for k, v in named.items()})
        return _result(result, named.get("dtype"))

    return call


def _softmax(x: Any, axis: Any = -1) -> Any:
    """exp(x) over its sum along an axis."""
    x = np.asarray(x)
    powers = np.exp(x - x.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def _logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """log(sum(exp(x))) along some or all axes, without overflow."""
    x = np.asarray(x)
    most = x.max(axis=axis, keepdims=True)
    out = np.log(np.exp(x - most).sum(axis=axis, keepdims=True)) + most
    return out if keepdims else np.squeeze(out, axis=axis)


def _sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    return 0.5 * (1 + np.tanh(0.5 * np.asarray(x)))


def _take(a: Any, indices: Any, axis: Any = None) -> Any:
    """Elements by index along an axis; of all elements without one."""
    return np.take(a, np.asarray(indices), axis=axis)


def _flatten(x: Any, start_axis: int = 0, end_axis: int = -1) -> Any:
    """The axes from the first to the last of these as one."""
    x = np.asarray(x)
    first, last = start_axis % (x.ndim or 1), end_axis % (x.ndim or 1)
    return x.reshape(*x.shape[:first], -1, *x.shape[last + 1 :])


def _rsqrt(x: Any) -> Any:
    """1 / sqrt(x)."""
    return 1 / np.sqrt(np.asarray(x))


def _topk(x: Any, k: int, axis: int = -1) -> Any:
    """The k largest elements along an axis, the largest last."""
    return np.take(np.sort(x, axis=axis), np.arange(-k, 0), axis=axis)


# Names of numpy that mean the same, and others that MLX has.
_SAME = """
    abs add all any arange arccos arcsin arctan arctan2 argmax argmin argpartition argsort array_equal allclose
    atleast_1d atleast_2d atleast_3d broadcast_to ceil clip concatenate conj cos cosh cumprod cumsum diag diagonal
    divide divmod einsum equal exp expand_dims expm1 eye flatten floor floor_divide full_like greater greater_equal
    identity inner isclose isfinite isinf isnan kron less less_equal linspace log log10 log1p log2 logaddexp logical_and
    logical_not logical_or matmul max maximum mean median meshgrid min minimum moveaxis multiply negative not_equal
    ones_like outer pad partition power prod radians real imag reciprocal remainder repeat reshape roll round sign sin
    sinh sort split sqrt square squeeze stack std subtract sum swapaxes take_along_axis tan tanh tensordot tile trace
    transpose tri tril triu var where zeros_like
""".split()
_OTHER: dict[str, Callable[..., Any]] = {
    "flatten": _flatten,
    "logsumexp": _logsumexp,
    "rsqrt": _rsqrt,
    "sigmoid": _sigmoid,
    "softmax": _softmax,
    "stop_gradient": np.asarray,
    "take": _take,
    "topk": _topk,
    "ascontiguousarray": np.ascontiguousarray,
    "contiguous": np.ascontiguousarray,
}


for _name in _SAME:
    if hasattr(np, _name):
        globals()[_name] = _function(getattr(np, _name))
for _name, _made in _OTHER.items():
    globals()[_name] = _function(_made)


def __getattr__(name: str) -> Any:
    if name in ("grad", "value_and_grad", "vmap", "vjp", "jvp"):
        raise AttributeError(f"elegans.mx has no {name}(): see elegans.Graph.gradient, elegans.torch and elegans.fit")
    raise AttributeError(f"elegans.mx, a stand-in for parts of MLX, has no '{name}'")


def zeros(shape: Union[int, Sequence[int]], dtype: Any = None, stream: Any = None) -> array:
    """Zeros, of float32 unless told.

    >>> zeros((2, 2)).dtype
    dtype('float32')
    """
    return _wrap(np.zeros(shape, _dtype(dtype)))


def ones(shape: Union[int, Sequence[int]], dtype: Any = None, stream: Any = None) -> array:
    """Ones, of float32 unless told."""
    return _wrap(np.ones(shape, _dtype(dtype)))


def full(shape: Union[int, Sequence[int]], vals: Any, dtype: Any = None, stream: Any = None) -> array:
    """A value, repeated."""
    return _wrap(np.full(shape, _plain(vals), None if dtype is None else _dtype(dtype)), dtype)


def addmm(c: Any, a: Any, b: Any, alpha: float = 1.0, beta: float = 1.0) -> array:
    """beta c + alpha a b."""
    return _wrap(beta * np.asarray(_plain(c)) + alpha * (np.asarray(_plain(a)) @ np.asarray(_plain(b))))


# ---- running: everything has been computed when a call returns
def eval(*args: Any) -> None:
    """Nothing is left to compute."""


async_eval = eval


def synchronize(stream: Any = None) -> None:
    """Nothing runs in the background."""


def compile(
    fun: Any = None,
    inputs: Any = None,
    outputs: Any = None,
    shapeless: bool = False,
    static_argnums: Union[int, Iterable[int], None] = None,
) -> Any:
    """The function itself: also as a decorator, with arguments or without. elegans.compile() compiles graphs.

    >>> @compile(static_argnums=(1,))
    ... def forward(x, training=False):
    ...     return x * 2
    >>> float(forward(array(3.0), True))
    6.0
    """
    if fun is None:
        return lambda function: compile(function)
    if not callable(fun):
        raise TypeError(f"fun: expected a function, given {type(fun)}")

    def call(*args: Any, **named: Any) -> Any:
        return fun(*args, **named)

    return functools.update_wrapper(call, fun) if hasattr(fun, "__name__") else call


def disable_compile() -> None:
    """Nothing is compiled here."""


def enable_compile() -> None:
    """Nothing is compiled here."""


def checkpoint(fun: _F) -> _F:
    """The function itself."""
    return fun


# ---- devices: the processor alone
class Device:
    """A name of a device; calls run on the processor whatever it says."""

    def __init__(self, type: str = "cpu", index: int = 0) -> None:
        self.type, self.index = type, index

    def __repr__(self) -> str:
        return f"Device({self.type}, {self.index})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))


cpu, gpu = Device("cpu"), Device("gpu")


def default_device() -> Device:
    """The processor."""
    return cpu


def set_default_device(device: Any) -> None:
    """Samples ask for a GPU: calls run on the processor all the same."""


class stream:
    """`with stream(device):` has no effect."""

    def __init__(self, device: Any = None) -> None:
        self.device = device or cpu

    def __enter__(self) -> stream:
        return self

    def __exit__(self, *error: Any) -> None:
        return None


def new_stream(device: Any = None) -> stream:
    """A stream that does nothing, since calls have ended when they return."""
    return stream(device)


default_stream = new_stream


# ---- memory of the library, counted
def get_active_memory() -> int:
    """Bytes that the library holds."""
    return _core.memory()["all"]["current"]


def get_peak_memory() -> int:
    """The most bytes that the library held at once, since the start or reset_peak_memory()."""
    return _core.memory()["all"]["peak"]


def reset_peak_memory() -> None:
    """The peak is what is held now."""
    _core.memory_reset_peak()


def get_cache_memory() -> int:
    """Bytes that are kept for reuse."""
    return _core.memory_pool()["cached"]


def clear_cache() -> None:
    """Gives them back to the system."""
    _core.memory_empty_cache()


def get_memory_limit() -> int:
    """The budget of the library in bytes; 0 = none."""
    return _core.memory_pool()["budget"]


def set_memory_limit(limit: int, relaxed: bool = True) -> int:
    """Sets the budget of what is made from now on, see elegans.configure(); returns the one before."""
    before = get_memory_limit()
    _core.configure(memory_budget=limit)
    return before


def set_cache_limit(limit: int) -> int:
    """The cache is part of the budget and has no limit of its own: 0 empties it. Returns its bytes."""
    before = get_cache_memory()
    if limit == 0:
        clear_cache()
    return before


def set_wired_limit(limit: int) -> int:
    """Nothing is wired here."""
    return 0


def device_info() -> dict[str, Any]:
    """What is in use: threads and instruction set."""
    return {"device_name": "cpu", **_core.configuration()}


def _module(name: str, **contents: Any) -> types.ModuleType:
    made = types.ModuleType(f"{__name__}.{name}")
    made.__dict__.update(contents)
    return made


metal: Any = _module(
    "metal",
    is_available=lambda: False,
    get_active_memory=get_active_memory,
    get_peak_memory=get_peak_memory,
    reset_peak_memory=reset_peak_memory,
    get_cache_memory=get_cache_memory,
    clear_cache=clear_cache,
    set_memory_limit=set_memory_limit,
    set_cache_limit=set_cache_limit,
    device_info=device_info,
)


# ---- random numbers
class _Random:
    """mx.random: a generator of numpy, and keys that are seeds of others."""

    def __init__(self) -> None:
        self._generator = np.random.default_rng()

    def seed(self, seed: int) -> None:
        """The numbers that follow are those of this seed."""
        self._generator = np.random.default_rng(int(seed))

    def key(self, seed: int) -> array:
        """A key: the same numbers each time it is given."""
        return _wrap(np.array([int(seed) >> 32 & 0xFFFFFFFF, int(seed) & 0xFFFFFFFF], np.uint32))

    def split(self, key: Any, num: int = 2) -> array:
        """Keys that are made of a key."""
        return _wrap(self._of(key).integers(0, 1 << 32, (num, 2), np.uint32))

    def _of(self, key: Any) -> np.random.Generator:
        return self._generator if key is None else np.random.default_rng([int(k) for k in np.ravel(_plain(key))])

    def normal(
        self,
        shape: Sequence[int] = (),
        dtype: Any = None,
        loc: Any = 0.0,
        scale: Any = 1.0,
        key: Any = None,
        stream: Any = None,
    ) -> array:
        """Normal numbers of a mean and a deviation."""
        values = self._of(key).standard_normal(_shape(shape), np.float32)
        return _wrap(values * np.asarray(_plain(scale)) + np.asarray(_plain(loc)), _dtype(dtype))

    def uniform(
        self,
        low: Any = 0.0,
        high: Any = 1.0,
        shape: Sequence[int] = (),
        dtype: Any = None,
        key: Any = None,
        stream: Any = None,
    ) -> array:
        """Numbers from `low` to `high`."""
        low, high = np.asarray(_plain(low)), np.asarray(_plain(high))
        return _wrap(low + (high - low) * self._of(key).random(_shape(shape), np.float32), _dtype(dtype))

    def randint(
        self, low: Any, high: Any, shape: Sequence[int] = (), dtype: Any = int32, key: Any = None, stream: Any = None
    ) -> array:
        """Integers from `low`, below `high`."""
        return _wrap(self._of(key).integers(_plain(low), _plain(high), _shape(shape) or None), _dtype(dtype))

    def bernoulli(self, p: Any = 0.5, shape: Any = None, key: Any = None, stream: Any = None) -> array:
        """True with probability `p`."""
        wanted = np.shape(_plain(p)) if shape is None else _shape(shape)
        return _wrap(self._of(key).random(wanted) < np.asarray(_plain(p)))

    def categorical(self, logits: Any, axis: int = -1, shape: Any = None, key: Any = None, stream: Any = None) -> array:
        """Indices drawn by unnormalized log-probabilities along an axis."""
        values = np.asarray(_plain(logits))
        noise = self._of(key).gumbel(size=values.shape if shape is None else (*_shape(shape), values.shape[axis]))
        return _wrap(np.argmax(values + noise, axis=axis if shape is None else -1), uint32)

    def permutation(self, x: Any, axis: int = 0, key: Any = None, stream: Any = None) -> array:
        """The elements of an axis, or the integers below a number, in another order."""
        return _wrap(self._of(key).permutation(_plain(x), axis=0 if isinstance(x, int) else axis))


def _shape(shape: Any) -> tuple[int, ...]:
    return (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(int(extent) for extent in shape)


random = _Random()
