"""libelegans through ctypes: its weights, its outputs, its own measurement of its cells, steps of training."""
import ctypes as c

import numpy as np


class Error(c.Structure):
    _fields_ = [("status", c.c_int), ("message", c.c_char * 256)]


class Metric(c.Structure):
    _fields_ = [("value", c.c_double), ("provenance", c.c_int), ("unit", c.c_char_p), ("source", c.c_char_p)]


class ContextOptions(c.Structure):  # the fields up to the one we set; the rest is zero
    _fields_ = [("size", c.c_size_t), ("allocator", c.c_void_p * 3), ("threads", c.c_uint), ("rest", c.c_char * 256)]


class Tensor(c.Structure):
    _fields_ = [("type", c.c_int), ("rank", c.c_uint), ("shape", c.c_uint64 * 6), ("data", c.c_void_p)]


class ModelInfo(c.Structure):
    _fields_ = [("size", c.c_size_t), ("kind", c.c_int)] + [(name, c.c_uint64) for name in ("inputs", "outputs", "state", "layers", "parameters")] + [
        ("uses_time", c.c_int)]


class Cell(c.Structure):
    _fields_ = ([(name, c.c_char_p) for name in ("name", "model", "mode")] +
                [(name, Metric) for name in ("step", "best", "median", "speed", "peak", "fraction")] +
                [("flops", c.c_double), ("bytes", c.c_double), ("samples", c.c_uint64), ("steps", c.c_uint64)])


class TrainOptions(c.Structure):  # as above; the rest is Adam and the mean square error
    _fields_ = [("size", c.c_size_t), ("batch", c.c_uint64), ("time", c.c_uint64), ("rest", c.c_char * 256)]


class Batch(c.Structure):
    _fields_ = [("x", c.POINTER(c.c_float)), ("target", c.POINTER(c.c_float)), ("rest", c.c_char * 256)]


class TrainResult(c.Structure):
    _fields_ = [("loss", c.c_double), ("rest", c.c_char * 64)]


class ModelOptions(c.Structure):  # the same
    _fields_ = [("size", c.c_size_t), ("batch", c.c_uint64), ("time", c.c_uint64), ("rest", c.c_char * 256)]


class Output(c.Structure):
    _fields_ = [("name", c.c_char_p), ("node", c.c_uint32)]


class ProgramInfo(c.Structure):
    _fields_ = ([("size", c.c_size_t)] + [(name, c.c_size_t) for name in ("steps", "run_steps", "prologue_steps")] +
                [(name, c.c_size_t) for name in ("inputs", "outputs", "parameters", "states")] +
                [(name, c.c_uint64) for name in ("arena_bytes", "arena_bound_bytes", "scratch_bytes", "parameter_bytes", "derived_bytes",
                                                 "state_bytes", "constant_bytes", "held_bytes", "cache_bytes", "length")] +
                [(name, c.c_double) for name in ("flops", "bytes", "compile_seconds")])


CELL_FUNCTION = c.CFUNCTYPE(c.c_int, c.c_void_p, c.POINTER(Cell))


class Library:
    """One context."""

    def __init__(self, path, threads=1):
        self.library = c.CDLL(path)
        self.library.eg_version.restype = c.c_char_p
        self.library.eg_context_isa.restype = c.c_char_p
        self.library.eg_model_count.restype = c.c_size_t
        self.library.eg_model_tensor.restype = c.c_char_p
        self.error = Error()
        self.context = c.c_void_p()
        options = ContextOptions(threads=threads)
        self.call("eg_context_create", c.byref(options), c.byref(self.context))

    def call(self, name, *arguments):
        if getattr(self.library, name)(*arguments, c.byref(self.error)):
            raise RuntimeError(f"{name}: {self.error.message.decode()}")

    def describe(self):
        return f"elegans {self.library.eg_version().decode()} ({self.library.eg_context_isa(self.context).decode()})"

    def measure(self, case):
        """Seconds of one step of one sample, the best burst of about 0.3 s."""
        found = []
        function = CELL_FUNCTION(lambda _, cell: found.append(cell.contents.best.value) or 0)
        self.call("eg_bench_cells", self.context, case.encode(), c.c_uint64(0), function, None)
        assert len(found) == 1, f"{case} is {len(found)} cases"
        return found[0] * 1e-6

    def peak(self):
        """GFLOP/s of a core."""
        found = []
        function = CELL_FUNCTION(lambda _, cell: found.append(cell.contents.peak.value) or 0)
        self.call("eg_bench_cells", self.context, b"cfc-ncp-hot", c.c_uint64(16), function, None)
        return found[0]

    def sizes(self, model):
        info = ModelInfo()
        self.library.eg_model_info_get(model, c.byref(info))
        return info.inputs, info.outputs

    def model(self, spec):
        model = c.c_void_p()
        self.call("eg_model_open", self.context, spec.encode(), c.byref(model))
        return model

    def weights(self, model):
        """Named as torch's state-dict names them."""
        out = {}
        for i in range(self.library.eg_model_count(model)):
            tensor = Tensor()
            name = self.library.eg_model_tensor(model, c.c_size_t(i), c.byref(tensor), None)
            shape = tuple(tensor.shape[: tensor.rank])
            data = c.cast(tensor.data, c.POINTER(c.c_float))
            out[name.decode()] = np.ctypeslib.as_array(data, shape).copy()
        return out

    def outputs(self, model, x):
        """A stream over x [time, inputs], elapsed time 1: [time, outputs]."""
        info, program, stream = ModelInfo(), c.c_void_p(), c.c_void_p()
        self.library.eg_model_info_get(model, c.byref(info))
        self.call("eg_stream_compile", model, c.byref(program))
        self.call("eg_stream_create", program, c.byref(stream))
        x = np.ascontiguousarray(x, np.float32)
        y = np.empty((len(x), info.outputs), np.float32)
        for row, out in zip(x, y):
            self.call("eg_stream_step", stream, row.ctypes.data_as(c.c_void_p), c.c_float(1),
                      out.ctypes.data_as(c.c_void_p))
        self.library.eg_stream_destroy(stream)
        self.library.eg_stream_program_destroy(program)
        return y

    def trainer(self, model, x, target):
        return Trainer(self, model, x, target)

    def program(self, model, x):
        return Program(self, model, x)

    def stream(self, model, x):
        return Stream(self, model, x)


class Program:
    """All outputs of a batch of sequences: x is [time, batch, inputs]."""

    def __init__(self, library, model, x):
        self.library, self.x = library, np.ascontiguousarray(x, np.float32)
        self.pointer, self.instance, self.y = c.c_void_p(), c.c_void_p(), Tensor()
        graph, weights, nodes = c.c_void_p(), c.c_void_p(), (c.c_uint32 * 4096)()
        options = ModelOptions(time=x.shape[0], batch=x.shape[1])
        library.call("eg_graph_create", library.context, c.byref(graph))
        library.call("eg_model_build", model, graph, c.byref(options), c.byref(nodes))
        output = Output(b"y", nodes[3])
        library.call("eg_compile", library.context, graph, c.c_size_t(1), c.byref(output), None, c.byref(self.pointer))
        library.library.eg_graph_destroy(graph)
        library.call("eg_weights_create", self.pointer, c.byref(weights))
        library.call("eg_model_weights", model, weights)
        library.call("eg_instance_create", self.pointer, weights, c.byref(self.instance))
        tensor = Tensor(0, 3, x.shape, self.x.ctypes.data)
        library.call("eg_instance_bind", self.instance, b"x", c.byref(tensor))
        library.call("eg_instance_output", self.instance, b"y", c.byref(self.y))
        self.weights = weights

    def __del__(self):
        self.library.library.eg_instance_destroy(self.instance)
        self.library.library.eg_weights_destroy(self.weights)
        self.library.library.eg_program_release(self.pointer)

    def run(self):
        self.library.call("eg_run", self.instance, None)

    def outputs(self):
        """Of the last run, [time, batch, outputs]."""
        data = c.cast(self.y.data, c.POINTER(c.c_float))
        return np.ctypeslib.as_array(data, tuple(self.y.shape[: self.y.rank]))

    def flops(self):
        info = ProgramInfo(size=c.sizeof(ProgramInfo))
        self.library.library.eg_program_info_get(self.pointer, c.byref(info))
        return info.flops


class Stream:
    """Steps of one sample, each with the same input."""

    def __init__(self, library, model, x):
        self.library, self.x = library, np.ascontiguousarray(x, np.float32)
        self.program, self.pointer = c.c_void_p(), c.c_void_p()
        library.call("eg_stream_compile", model, c.byref(self.program))
        library.call("eg_stream_create", self.program, c.byref(self.pointer))
        self.y = np.empty(library.sizes(model)[1], np.float32)
        self.arguments = (self.pointer, c.c_void_p(self.x.ctypes.data), c.c_float(1), c.c_void_p(self.y.ctypes.data))

    def __del__(self):
        self.library.library.eg_stream_destroy(self.pointer)
        self.library.library.eg_stream_program_destroy(self.program)

    def step(self):
        self.library.call("eg_stream_step", *self.arguments)

    def flops(self):
        info = ProgramInfo(size=c.sizeof(ProgramInfo))
        self.library.library.eg_stream_program_info_get(self.program, c.byref(info))
        return info.flops


class Trainer:
    """Mean square error of all outputs and Adam, on one batch: x and target are [time, batch, ..]."""

    def __init__(self, library, model, x, target):
        self.library, self.result = library, TrainResult()
        self.pointer = c.c_void_p()
        options = TrainOptions(time=x.shape[0], batch=x.shape[1])
        library.call("eg_trainer_create", model, c.byref(options), c.byref(self.pointer))
        library.library.eg_trainer_batch.restype = Batch
        batch = library.library.eg_trainer_batch(self.pointer)
        np.ctypeslib.as_array(batch.x, x.shape)[:] = x
        np.ctypeslib.as_array(batch.target, target.shape)[:] = target

    def __del__(self):
        self.library.library.eg_trainer_destroy(self.pointer)

    def flops(self):
        info = ProgramInfo(size=c.sizeof(ProgramInfo))
        function = self.library.library.eg_trainer_program
        function.restype = c.c_void_p
        self.library.library.eg_program_info_get(c.c_void_p(function(self.pointer)), c.byref(info))
        return info.flops

    def step(self):
        """The loss before the step."""
        self.library.call("eg_trainer_step", self.pointer, c.c_double(0), c.byref(self.result))
        return self.result.loss
