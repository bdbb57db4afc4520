"""Files of torch.save without torch and without executing anything: a pickle is a program, of which only the instructions
that build containers, numbers and tensors are followed here; classes and functions of others stay names."""

from __future__ import annotations

import io
import os
import pickletools
import struct
import warnings
import zipfile
import zlib
from math import prod
from typing import Any, BinaryIO, Callable, Mapping

import numpy as np

Values = np.ndarray[Any, Any]

_TYPES = {
    "FloatStorage": "f4",
    "DoubleStorage": "f8",
    "HalfStorage": "f2",
    "BFloat16Storage": "u2",
    "LongStorage": "i8",
    "IntStorage": "i4",
    "ShortStorage": "i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
    "BoolStorage": "?",
}
_LEGACY_MAGIC = 0x1950A86A20F9469CFC6C
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    EOFError,
    OverflowError,
    NotImplementedError,
    RuntimeError,
)


class Refusal(ValueError):
    """A file that is whole, but of a kind that is not read."""


class _Name:
    """A class or function of somebody else, or what it would have made: never called."""

    def __init__(self, name: str) -> None:
        self.name = name


class _Storage:
    def __init__(self, kind: str, key: str, count: int) -> None:
        self.kind, self.key, self.count = kind, key, count
        self.values: Values | None = None


class _Tensor:
    def __init__(self, storage: Any, offset: Any, size: Any, stride: Any) -> None:
        if not isinstance(storage, _Storage):
            raise ValueError("a tensor without a storage")
        if len(size) != len(stride) or len(size) > 8:
            raise ValueError("a tensor of many axes")
        if any(not isinstance(number, int) or not 0 <= number < 1 << 62 for number in (offset, *size, *stride)):
            raise ValueError("a tensor with a shape of something else")
        # no more elements than there are, so that a stride of 0 does not make a small file a large array
        last = offset + sum((extent - 1) * step for extent, step in zip(size, stride))
        if prod(size) > storage.count or (prod(size) and last >= storage.count):
            raise ValueError("a tensor that is larger than its storage")
        self.storage, self.offset, self.size, self.stride = storage, offset, tuple(size), tuple(stride)

    def array(self) -> Values:
        """As float32, copied."""
        values = self.storage.values
        if values is None:
            raise ValueError(f"no storage '{self.storage.key}'")
        if not prod(self.size):
            return np.zeros(self.size, np.float32)
        steps = tuple(step * values.itemsize for step in self.stride)
        view = np.lib.stride_tricks.as_strided(values[self.offset :], self.size, steps, writeable=False)
        if self.storage.kind == "BFloat16Storage":
            return (view.astype(np.uint32) << 16).view(np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.array(view, np.float32, order="C")


# ---- the instructions of a pickle
def _reduce(function: Any, arguments: Any) -> Any:
    name = function.name if isinstance(function, _Name) else ""
    if name == "collections.OrderedDict":
        made: dict[Any, Any] = {}
        for key, value in arguments[0] if arguments else ():
            _set_items(made, [key, value])
        return made
    if name in ("torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_tensor"):
        return _Tensor(*arguments[:4])
    if name in ("torch._utils._rebuild_parameter", "torch._utils._rebuild_parameter_with_state"):
        return arguments[0]
    if name == "torch.Size":
        return arguments[0]
    return _Name(name or "something that is no function")


def _set_items(target: Any, items: list[Any]) -> None:
    if isinstance(target, _Name):
        return
    for key, value in zip(items[::2], items[1::2]):
        if not isinstance(key, (str, int, float, type(None))):
            raise ValueError(f"a key of type {type(key).__name__}")
        target[key] = value


class _Machine:
    """A stack, a memo, and the instructions that torch.save uses."""

    def __init__(self, storage: Callable[[Any], _Storage | _Name]) -> None:
        self.storage = storage
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def since_mark(self) -> list[Any]:
        at = self.marks.pop()
        items = self.stack[at:]
        del self.stack[at:]
        return items

    def take(self, count: int) -> list[Any]:
        if len(self.stack) < count or (self.marks and len(self.stack) - count < self.marks[-1]):
            raise ValueError("an instruction without operands")
        items = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        return items

    def top(self) -> Any:
        return self.stack[-1]

    def run(self, stream: BinaryIO) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes in texts
            for code, argument, _ in pickletools.genops(stream):
                if code.name == "STOP":
                    return self.take(1)[0]
                self.follow(code.name, argument)
        raise ValueError("no end")

    def follow(self, name: str, argument: Any) -> None:
        push = self.stack.append
        if name in ("PROTO", "FRAME"):
            pass
        elif name == "MARK":
            self.marks.append(len(self.stack))
        elif name in _CONSTANTS:
            push(_CONSTANTS[name]())
        elif name in _VALUES:
            push(argument)
        elif name in ("BINPUT", "LONG_BINPUT", "PUT"):
            self.memo[argument] = self.top()
        elif name == "MEMOIZE":
            self.memo[len(self.memo)] = self.top()
        elif name in ("BINGET", "LONG_BINGET", "GET"):
            push(self.memo[argument])
        elif name == "TUPLE":
            push(tuple(self.since_mark()))
        elif name in ("TUPLE1", "TUPLE2", "TUPLE3"):
            push(tuple(self.take(int(name[-1]))))
        elif name in ("LIST", "DICT"):
            items = self.since_mark()
            push(items if name == "LIST" else {})
            if name == "DICT":
                _set_items(self.top(), items)
        elif name in ("SETITEM", "SETITEMS"):
            items = self.take(2) if name == "SETITEM" else self.since_mark()
            _set_items(self.top(), items)
        elif name in ("APPEND", "APPENDS"):
            items = self.take(1) if name == "APPEND" else self.since_mark()
            if isinstance(self.top(), list):
                self.top().extend(items)
        elif name == "ADDITEMS":
            self.since_mark()
        elif name == "GLOBAL":
            push(_Name(argument.replace(" ", ".", 1)))
        elif name == "STACK_GLOBAL":
            module, name = self.take(2)
            if not isinstance(module, str) or not isinstance(name, str):
                raise ValueError("a class without a name")
            push(_Name(f"{module}.{name}"))
        elif name == "REDUCE":
            push(_reduce(*self.take(2)))
        elif name in ("NEWOBJ", "NEWOBJ_EX"):
            made = self.take(2 if name == "NEWOBJ" else 3)[0]
            push(_Name(made.name))
        elif name == "BUILD":
            self.take(1)  # attributes, such as the versions of a state-dict
        elif name == "BINPERSID":
            push(self.storage(self.take(1)[0]))
        elif name == "POP":
            self.take(1)
        else:
            raise ValueError(f"the instruction {name}")


_CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_TUPLE": tuple,
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
    "EMPTY_SET": lambda: _Name("set"),
}
_VALUES = frozenset(
    "INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT BINFLOAT UNICODE BINUNICODE SHORT_BINUNICODE BINUNICODE8 "
    "BINSTRING SHORT_BINSTRING STRING BINBYTES SHORT_BINBYTES BINBYTES8".split()
)


# ---- storages
class _Storages:
    def __init__(self) -> None:
        self.known: dict[str, _Storage] = {}

    def __call__(self, identity: Any) -> _Storage | _Name:
        if identity[0] == "module" and isinstance(identity[1], _Name):  # a class, in the old format
            return _Name(identity[1].name)
        word, kind, key, _, count, *more = identity
        if word != "storage" or not isinstance(kind, _Name) or (more and more[0] is not None):
            raise ValueError("an unknown kind of storage")
        if not isinstance(key, str) or not isinstance(count, int) or count < 0:
            raise ValueError("a storage of something else")
        name = kind.name.rpartition(".")[2]
        return self.known.setdefault(key, _Storage(name, key, count))

    def fill(self, storage: _Storage, data: bytes, order: str) -> None:
        kind = _TYPES.get(storage.kind)
        if kind is None:
            return  # tensors of it are refused by name
        values = np.frombuffer(data, order + kind)
        if len(values) < storage.count:
            raise ValueError(f"storage '{storage.key}' is too short")
        storage.values = values


def _read_zip(stream: BinaryIO, size: int) -> Any:
    with zipfile.ZipFile(stream) as archive:
        entries = archive.infolist()
        names = [entry.filename for entry in entries]
        if any(name.endswith("/constants.pkl") for name in names):
            raise Refusal("a program of TorchScript: save its state_dict() instead")
        if sum(entry.file_size for entry in entries) > size or any(entry.compress_type for entry in entries):
            raise Refusal("a compressed archive: torch.save does not compress")
        inside = [name for name in names if name.rpartition("/")[2] == "data.pkl"]
        if len(inside) != 1:
            raise Refusal("an archive without data.pkl: not a file of torch.save")
        folder = inside[0][: -len("data.pkl")]
        order = "<"
        if f"{folder}byteorder" in names:
            order = ">" if archive.read(f"{folder}byteorder").strip() == b"big" else "<"
        storages = _Storages()
        document = _Machine(storages).run(io.BytesIO(archive.read(inside[0])))
        for key, storage in storages.known.items():
            storages.fill(storage, archive.read(f"{folder}data/{key}"), order)
        return document


def _refuse_storage(identity: Any) -> _Storage:
    raise ValueError("a storage where there is none")


def _read_legacy(stream: BinaryIO, size: int) -> Any:
    """Pickles of a magic number, a version, the machine, the object and the keys of storages; then these."""
    first = stream.read(2)
    stream.seek(0)
    if first[:1] != b"\x80" or _Machine(_refuse_storage).run(stream) != _LEGACY_MAGIC:
        raise Refusal("not a file of torch.save")
    version, machine = (_Machine(_refuse_storage).run(stream) for _ in range(2))
    if version != 1001:
        raise Refusal("an unknown version of torch's old format")
    order = "<" if machine["little_endian"] else ">"
    storages = _Storages()
    document = _Machine(storages).run(stream)
    for key in _Machine(_refuse_storage).run(stream):
        storage = storages.known[key]
        (count,) = struct.unpack(f"{order}Q", stream.read(8))
        if count != storage.count or storage.kind not in _TYPES:
            raise ValueError(f"storage '{key}' has another size")
        length = count * np.dtype(_TYPES[storage.kind]).itemsize
        if length > size:
            raise ValueError(f"storage '{key}' is longer than the file")
        storages.fill(storage, stream.read(length), order)
    return document


# ---- the state-dict in it
def _tensors_of(document: Any) -> dict[str, _Tensor]:
    if isinstance(document, _Name):
        raise Refusal(
            f"an object of class {document.name}, which would have to be executed: save its state_dict() instead"
        )
    if not isinstance(document, Mapping):
        raise Refusal(f"a {type(document).__name__}, not a state-dict")
    for key in ("state_dict", "model_state_dict", "model"):  # checkpoints of training loops
        if isinstance(document.get(key), Mapping):
            return _tensors_of(document[key])
        if isinstance(document.get(key), _Name):
            return _tensors_of(document[key])
    found = {name: value for name, value in document.items() if isinstance(name, str) and isinstance(value, _Tensor)}
    if not found:
        raise Refusal("no tensors: not a state-dict")
    return found


def read_state_dict(path: str | os.PathLike[str]) -> dict[str, Values]:
    """The tensors of a file of torch.save as float32, by name."""
    name = os.fspath(path)
    with open(path, "rb") as stream:
        data = stream.read()
    size = len(data)
    try:
        memory = io.BytesIO(data)  # which gives no more than there is, whatever length the file asks for
        if zipfile.is_zipfile(memory):
            document = _read_zip(memory, size)
        elif data[257:262] == b"ustar":
            raise Refusal("the first format of torch, a tar archive: load it with torch and save it again")
        else:
            memory.seek(0)
            document = _read_legacy(memory, size)
        tensors = _tensors_of(document)
        unknown = {tensor.storage.kind for tensor in tensors.values()} - set(_TYPES)
        if unknown:
            raise Refusal(f"tensors of {', '.join(sorted(unknown))}")
        if sum(prod(tensor.size) for tensor in tensors.values()) > 16 * size + (1 << 20):
            raise ValueError("many tensors of one storage")
        return {key: tensor.array() for key, tensor in tensors.items()}
    except Refusal as reason:
        raise Refusal(f"{name}: {reason}") from None
    except RecursionError:
        raise
    except _DAMAGE as reason:
        raise ValueError(f"{name}: damaged: {reason}") from None
