"""One thread, float32: convolutions in torch and onnxruntime, and their gradients by the filters in torch.
Prints the fastest of many calls, and the median."""
import sys
import time

import numpy as np
import onnxruntime as ort
import torch
import torch.nn.functional as F
from onnx import TensorProto, helper

SHAPES = (  # x, filters, stride, padding, groups
    ("1x64x56x56 * 64x64x3x3", (1, 64, 56, 56), (64, 64, 3, 3), 1, 1, 1),
    ("the same, strided by 2", (1, 64, 56, 56), (64, 64, 3, 3), 2, 1, 1),
    ("the same, 1x1", (1, 64, 56, 56), (64, 64, 1, 1), 1, 0, 1),
    ("8x64x1000 * 128x64x5", (8, 64, 1000), (128, 64, 5), 1, 2, 1),
    ("1x64x56x56 * 64x1x3x3", (1, 64, 56, 56), (64, 1, 3, 3), 1, 1, 64),
)


def measure(run, seconds):
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return min(times), float(np.median(times))


def in_torch(x, w, stride, padding, groups):
    conv = F.conv2d if x.ndim == 4 else F.conv1d
    x, w = torch.from_numpy(x), torch.from_numpy(w)

    def run():
        with torch.no_grad():
            return conv(x, w, None, stride, padding, 1, groups)

    return run


def gradient_in_torch(x, w, stride, padding, groups):
    which = torch.nn.grad.conv2d_weight if x.ndim == 4 else torch.nn.grad.conv1d_weight
    y = in_torch(x, w, stride, padding, groups)()
    x, d = torch.from_numpy(x), torch.ones_like(y)
    return lambda: which(x, w.shape, d, stride, padding, 1, groups)


def in_onnxruntime(x, w, stride, padding, groups):
    axes = x.ndim - 2
    node = helper.make_node("Conv", ["x", "w"], ["y"], strides=[stride] * axes, pads=[padding] * 2 * axes, group=groups)
    weights = helper.make_tensor("w", TensorProto.FLOAT, w.shape, w.tobytes(), raw=True)
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * x.ndim)
    graph = helper.make_graph([node], "conv", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)], [out],
                              [weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, {"x": x})[0]


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 3
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, onnxruntime {ort.__version__}, one thread; GFLOP/s: fastest, median")
    rng = np.random.default_rng(1)
    for title, x_shape, w_shape, stride, padding, groups in SHAPES:
        x = rng.uniform(-1, 1, x_shape).astype(np.float32)
        w = rng.uniform(-1, 1, w_shape).astype(np.float32)
        work = 2 * in_torch(x, w, stride, padding, groups)().numel() * w[0].size
        for name, make in (("torch", in_torch), ("onnxruntime", in_onnxruntime), ("torch, d filters", gradient_in_torch)):
            times = measure(make(x, w, stride, padding, groups), seconds)
            print(f"{title:24s} {name:18s} {' '.join('%8.1f' % (work / t / 1e9) for t in times)}", flush=True)


if __name__ == "__main__":
    main()
