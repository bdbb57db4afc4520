"""One thread, float32: attention of 12 heads of 64 columns, ours (by the program `bench`) beside onnxruntime's, as one
node and as products and a softmax. They take turns; a figure is the median of the rounds, of each the fastest call."""
import argparse
import json
import os
import subprocess
import tempfile
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


def fastest(s, feed, seconds):
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        begin = time.perf_counter()
        s.run(None, feed)
        times.append(time.perf_counter() - begin)
    return min(times) * 1e3


def ours(bench):
    """ms for every length, and the FMA peak of the core while it was measured"""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "bench.json")
        subprocess.run([bench, "--group", "attention", "--no-peers", "--json", path], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(path) as file:
            told = json.load(file)
    operations = lambda t: 4 * t * t * D * HEADS
    return {int(r["case"]): operations(int(r["case"])) / r["ours"] / 1e6 for r in told["results"]}, told["peak_gflops"]


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--bench", default="build/bench", help="our program (build/bench)")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--seconds", type=float, default=1, help="of one peer, in a round")
    options = arguments.parse_args()
    rng = np.random.default_rng(1)
    lengths, peers = (32, 128, 512), (("MultiHeadAttention", one_node), ("MatMul Softmax MatMul", products))
    sessions = {name: make() for name, make in peers}
    shapes = {"MultiHeadAttention": lambda t: (1, t, HEADS * D), "MatMul Softmax MatMul": lambda t: (1, HEADS, t, D)}
    taken, peaks = {}, []
    for _ in range(options.rounds):
        mine, peak = ours(options.bench)
        peaks.append(peak)
        for t in lengths:
            taken.setdefault((t, "ours"), []).append(mine[t])
            for name in sessions:
                feed = {n: rng.uniform(-1, 1, shapes[name](t)).astype(np.float32) for n in "qkv"}
                taken.setdefault((t, name), []).append(fastest(sessions[name], feed, options.seconds))
    print(f"onnxruntime {ort.__version__}, one thread, ms of a call, medians of {options.rounds} rounds; "
          f"FMA peak {np.median(peaks):.1f} GFLOP/s, load {os.getloadavg()[0]:.1f}")
    for t in lengths:
        print(f"{t:5d}  {'ours':24s} {np.median(taken[t, 'ours']):8.3f}")
        for name in sessions:
            ratios = np.array(taken[t, name]) / np.array(taken[t, "ours"])
            print(f"{'':5s}  {name:24s} {np.median(taken[t, name]):8.3f}   ours is {np.median(ratios):.2f}x")


if __name__ == "__main__":
    main()
