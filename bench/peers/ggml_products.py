"""ggml, the tensors of llama.cpp, through ctypes: one product with weights of a type, on its CPU device."""
import ctypes as c
import glob
import importlib.util
import os

import numpy as np

TYPES = {"F16": 1, "Q4_0": 2, "Q8_0": 8, "Q4_K": 12}
F32, CPU = 0, 0


class InitParams(c.Structure):
    _fields_ = [("mem_size", c.c_size_t), ("mem_buffer", c.c_void_p), ("no_alloc", c.c_bool)]


class Feature(c.Structure):
    _fields_ = [("name", c.c_char_p), ("value", c.c_char_p)]


P, SIZE, I64, INT, TEXT = c.c_void_p, c.c_size_t, c.c_int64, c.c_int, c.c_char_p
CALLS = {
    "ggml_init": (P, InitParams),
    "ggml_new_tensor_2d": (P, P, INT, I64, I64),
    "ggml_mul_mat": (P, P, P, P),
    "ggml_new_graph": (P, P),
    "ggml_build_forward_expand": (None, P, P),
    "ggml_quantize_chunk": (SIZE, INT, P, P, I64, I64, I64, P),
    "ggml_backend_load_all_from_path": (None, TEXT),
    "ggml_backend_dev_by_type": (P, INT),
    "ggml_backend_dev_init": (P, P, TEXT),
    "ggml_backend_dev_backend_reg": (P, P),
    "ggml_backend_dev_supports_op": (c.c_bool, P, P),
    "ggml_backend_reg_get_proc_address": (P, P, TEXT),
    "ggml_backend_cpu_buffer_type": (P,),
    "ggml_backend_buft_name": (TEXT, P),
    "ggml_backend_alloc_ctx_tensors_from_buft": (P, P, P),
    "ggml_backend_tensor_set": (None, P, P, SIZE, SIZE),
    "ggml_backend_tensor_get": (None, P, P, SIZE, SIZE),
    "ggml_backend_graph_compute": (INT, P, P),
    "ggml_backend_buffer_free": (None, P),
}
PROCEDURES = {  # which a CPU device has under these names
    "ggml_backend_set_n_threads": (None, P, INT),
    "ggml_backend_get_features": (c.POINTER(Feature), P),
    "ggml_backend_dev_get_extra_bufts": (c.POINTER(P), P),
}


def folder_of_llama_cpp():
    """Where llama-cpp-python keeps its libraries, without importing it; None where it is not installed."""
    found = importlib.util.find_spec("llama_cpp")
    return os.path.join(found.submodule_search_locations[0], "lib") if found else None


class Ggml:
    """One device with one thread."""

    def __init__(self, folder):
        """OSError where there is no ggml in that folder, or none that fits."""
        self.open(folder)
        self.ggml_backend_load_all_from_path(folder.encode())
        self.device = self.ggml_backend_dev_by_type(CPU)
        if not self.device:
            raise OSError("ggml has no CPU backend here")
        registry = self.ggml_backend_dev_backend_reg(self.device)
        for name, (result, *takes) in PROCEDURES.items():
            address = self.ggml_backend_reg_get_proc_address(registry, name.encode())
            if not address:
                raise OSError(f"this ggml has no {name}")
            setattr(self, name, c.CFUNCTYPE(result, *takes)(address))
        self.features = self.list_features(registry)
        self.backend = self.ggml_backend_dev_init(self.device, None)
        self.ggml_backend_set_n_threads(self.backend, 1)

    def open(self, folder):
        libraries = []
        for name in ("libggml-base", "libggml-cpu", "libggml"):
            files = glob.glob(os.path.join(folder, f"{name}.so")) + glob.glob(os.path.join(folder, f"{name}.dylib"))
            if files:
                libraries.append(c.CDLL(files[0], mode=c.RTLD_GLOBAL))
            elif name != "libggml-cpu":  # of which there may be several, for ggml to choose from
                raise OSError(f"no {name} in '{folder}'")
        for name, (result, *takes) in CALLS.items():
            owner = next((one for one in libraries if hasattr(one, name)), None)
            if not owner:
                raise OSError(f"this ggml has no {name}")
            function = getattr(owner, name)
            function.restype, function.argtypes = result, takes
            setattr(self, name, function)

    def list_features(self, registry):
        """What its kernels were compiled for: AVX512_VNNI, REPACK, ..."""
        listed, names = self.ggml_backend_get_features(registry), []
        while listed[len(names)].name:
            names.append(listed[len(names)].name.decode())
        return names

    def buffer_types(self):
        """The one that leaves weights as they are, and those that rearrange them for this processor."""
        extra, found = self.ggml_backend_dev_get_extra_bufts(self.device), []
        while extra and extra[len(found)]:
            found.append(extra[len(found)])
        return [self.ggml_backend_cpu_buffer_type()] + found

    def products(self, kind, w, m):
        """One for each buffer type that can hold these weights."""
        stored = self.quantized(kind, w)
        found = [Product(self, kind, stored, (m, *w.shape), buffer_type) for buffer_type in self.buffer_types()]
        return [product for product in found if product.works]

    def quantized(self, kind, w):
        """The bytes of w [n, k]"""
        out = np.empty(w.nbytes, np.uint8)
        size = self.ggml_quantize_chunk(TYPES[kind], w.ctypes.data, out.ctypes.data, 0, *w.shape, None)
        return out[:size].copy()


class Product:
    """y [m, n] = x [m, k] times weights [n, k]."""

    def __init__(self, ggml, kind, stored, size, buffer_type):
        m, n, k = self.size = size
        self.ggml, self.bytes = ggml, stored.nbytes
        self.where = ggml.ggml_backend_buft_name(buffer_type).decode()
        # weights have a context of their own: all tensors of one are allocated in one buffer type
        weights, rest = (ggml.ggml_init(InitParams(1 << 20, None, True)) for _ in range(2))
        w = ggml.ggml_new_tensor_2d(weights, TYPES[kind], k, n)
        self.x = ggml.ggml_new_tensor_2d(rest, F32, k, m)
        self.y = ggml.ggml_mul_mat(rest, w, self.x)
        self.graph = ggml.ggml_new_graph(rest)
        ggml.ggml_build_forward_expand(self.graph, self.y)
        buffer = ggml.ggml_backend_alloc_ctx_tensors_from_buft(weights, buffer_type)
        ggml.ggml_backend_alloc_ctx_tensors_from_buft(rest, ggml.ggml_backend_cpu_buffer_type())
        self.works = bool(buffer) and ggml.ggml_backend_dev_supports_op(ggml.device, self.y)
        if self.works:
            ggml.ggml_backend_tensor_set(w, stored.ctypes.data, 0, stored.nbytes)
        elif buffer:
            ggml.ggml_backend_buffer_free(buffer)

    def outputs(self, x):
        x, y = np.ascontiguousarray(x, np.float32), np.empty(self.size[:2], np.float32)
        self.ggml.ggml_backend_tensor_set(self.x, x.ctypes.data, 0, x.nbytes)
        self.run()
        self.ggml.ggml_backend_tensor_get(self.y, y.ctypes.data, 0, y.nbytes)
        return y

    def run(self):
        if self.ggml.ggml_backend_graph_compute(self.ggml.backend, self.graph):
            raise RuntimeError(f"ggml could not compute with weights in {self.where}")
