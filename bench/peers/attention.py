"""One thread, float32: attention of 12 heads of 64 columns in onnxruntime, as one node and as products and a softmax.
Prints the fastest of many calls, and the median."""
import sys
import time

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper

HEADS, D = 12, 64
SHAPE = [1, "t", HEADS * D]


def session(nodes, inputs, output_shape, initializers=()):
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs]
    out = [helper.make_tensor_value_info("y", TensorProto.FLOAT, output_shape)]
    graph = helper.make_graph(nodes, "attention", values, out, list(initializers))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)])
    model.ir_version = 8
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def one_node():
    node = helper.make_node("MultiHeadAttention", ["q", "k", "v"], ["y"], domain="com.microsoft", num_heads=HEADS)
    return session([node], [(n, SHAPE) for n in "qkv"], SHAPE)


def products():
    """Heads are apart already: what a transpose would cost is not counted."""
    shape = [1, HEADS, "t", D]
    scale = helper.make_tensor("scale", TensorProto.FLOAT, [], [D**-0.5])
    nodes = [
        helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 1, 3, 2]),
        helper.make_node("MatMul", ["q", "kt"], ["s"]),
        helper.make_node("Mul", ["s", "scale"], ["scaled"]),
        helper.make_node("Softmax", ["scaled"], ["p"], axis=-1),
        helper.make_node("MatMul", ["p", "v"], ["y"]),
    ]
    return session(nodes, [(n, shape) for n in "qkv"], shape, [scale])


def measure(s, feed, seconds):
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        begin = time.perf_counter()
        s.run(None, feed)
        times.append(time.perf_counter() - begin)
    return min(times) * 1e3, float(np.median(times)) * 1e3


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 3
    print(f"onnxruntime {ort.__version__}, one thread; ms of one call: fastest, median")
    rng = np.random.default_rng(1)
    for t in (32, 128, 512):
        for name, make, shape in (("MultiHeadAttention", one_node, (1, t, HEADS * D)),
                                  ("MatMul Softmax MatMul", products, (1, HEADS, t, D))):
            feed = {n: rng.uniform(-1, 1, shape).astype(np.float32) for n in "qkv"}
            print(f"{t:5d}  {name:24s} {'%8.3f %8.3f' % measure(make(), feed, seconds)}")


if __name__ == "__main__":
    main()
