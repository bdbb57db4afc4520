#!/usr/bin/env python3
"""Products with weights that stay as a file has them, beside llama.cpp: one thread, interleaved in one run.

    python3 -m venv venv && venv/bin/pip install numpy llama-cpp-python
    make && taskset -c 1 venv/bin/python bench/peers/rows.py

Both get the same bytes: F16, or the blocks Q8_0 and Q4_0 that ggml makes of random numbers. Ours is a program
of one product with such an input (eg_input_infile), rows made int8 where there are blocks, as ggml does.
ggml computes with the weights as they are and, where it can, with a copy rearranged for this processor
(CPU_REPACK), which is no longer the file. First, everybody must be near the exact product. Small weights
stay in the caches, for all alike; the largest ones come from memory, or from the last cache."""
import argparse
import ctypes as c
import json
import os
import statistics
import sys
import time

from cells import MISSING, np, timed
from int4 import LIMITS, ggml_open
from ours import Library, Tensor
from products import check

SIZES = ((768, 768), (768, 2048), (2048, 768), (768, 32000))  # k, n
F32, PER_BLOCK, BLOCKS = 0, 2, 1


class Quantization(c.Structure):
    _fields_ = [("type", c.c_int), ("per", c.c_int), ("block", c.c_uint32), ("symmetric", c.c_int),
                ("integers", c.c_int), ("layout", c.c_int)]


class Node(c.Structure):
    _fields_ = [("id", c.c_uint32)]


class Output(c.Structure):
    _fields_ = [("name", c.c_char_p), ("node", Node)]


class Ours:
    """y [m, n] = x [m, k] times weights [n, k], which lie at `stored`."""

    def __init__(self, library, kind, stored, m, n, k):
        self.run_function = library.library.eg_run
        raw, half = library.library, kind == "F16"
        name = {"F16": b"f16", "Q8_0": b"i8", "Q4_0": b"i4"}[kind]
        how = Quantization(self.type_of(raw, name), 0 if half else PER_BLOCK, 0 if half else 32, not half,
                           not half, 0 if half else BLOCKS)
        graph, program, self.instance = c.c_void_p(), c.c_void_p(), c.c_void_p()
        library.call("eg_graph_create", library.context, c.byref(graph))
        for maker in ("eg_input", "eg_input_infile", "eg_matmul_transposed"):
            getattr(raw, maker).restype = Node
        shape = lambda *sizes: (c.c_uint64 * len(sizes))(*sizes)
        x = raw.eg_input(graph, b"x", F32, 2, shape(m, k))
        w = raw.eg_input_infile(graph, b"w", c.byref(how), 2, shape(n, k))
        output = Output(b"y", raw.eg_matmul_transposed(graph, x, 0, w, 1))
        library.call("eg_compile", library.context, graph, c.c_size_t(1), c.byref(output), None, c.byref(program))
        library.call("eg_instance_create", program, None, c.byref(self.instance))
        self.x, self.y, self.stored = np.empty((m, k), np.float32), np.empty((m, n), np.float32), stored
        for leaf, kind_of, sizes, data in ((b"x", F32, (m, k), self.x), (b"w", how.type, (n, k), stored),
                                           (b"y", F32, (m, n), self.y)):
            tensor = Tensor(kind_of, 2, shape(*sizes, 0, 0, 0, 0), data.ctypes.data)
            library.call("eg_instance_bind", self.instance, leaf, c.byref(tensor))

    @staticmethod
    def type_of(raw, name):
        found = c.c_int()
        if raw.eg_type_find(name, c.byref(found), None):
            sys.exit(f"rows.py: no type {name.decode()}")
        return found.value

    def outputs(self, x):
        self.x[:] = x
        self.run()
        return self.y

    def run(self):
        if self.run_function(self.instance, None, None):
            raise RuntimeError("the product could not be run")


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.1, help="of each of them in each round")
    parser.add_argument("--rows", default="1,128", help="of x")
    parser.add_argument("--kinds", default="F16,Q8_0,Q4_0")
    parser.add_argument("--cpu-time", action="store_true", help="of the process, not of the clock on the wall")
    parser.add_argument("--ggml", help="folder of libggml, instead of llama-cpp-python's")
    parser.add_argument("--library", default=os.path.join(here, "..", "..", "build", "libelegans.so"))
    parser.add_argument("--json", help="write the figures there, too")
    args = parser.parse_args()
    library, ggml = Library(args.library), ggml_open(args.ggml)
    if not ggml:
        sys.exit(f"rows.py: no peer; missing: {', '.join(MISSING)}")
    clock = time.process_time if args.cpu_time else time.perf_counter
    print(f"{library.describe()}; ggml was compiled for {', '.join(ggml.features)}")
    print(f"medians of {args.rounds} interleaved rounds, one thread, "
          f"{'time of the process' if args.cpu_time else 'wall clock'}; load {os.getloadavg()[0]:.1f}\n")
    print(f"{'m x n x k':17} {'':22} {'us':>10} {'spread':>7} {'GOPS':>7} {'GB/s':>6} {'ours is':>8}")
    draw, rows = np.random.default_rng(6), []
    for (k, n), kind in ((size, kind) for size in SIZES for kind in args.kinds.split(",")):
        w = draw.standard_normal((n, k), np.float32)
        stored = ggml.quantized(kind, w)
        for m in map(int, args.rows.split(",")):
            x = draw.standard_normal((m, k), np.float32)
            racers = [(f"ours {kind}", Ours(library, kind, stored, m, n, k))] + [
                (f"ggml {kind}" + ("" if peer.where == "CPU" else f", {peer.where}"), peer)
                for peer in ggml.products(kind, w, m)]
            exact = x @ w.T
            for name, racer in racers:
                check(name, racer.outputs(x), exact, LIMITS[kind])
            times = [[] for _ in racers]
            for _ in range(args.rounds):
                for list_of, (_, racer) in zip(times, racers):
                    list_of.append(timed(racer.run, args.seconds, clock))
            for (name, _), mine in zip(racers, times):
                median = statistics.median(mine)
                ratio = statistics.median(t / o for t, o in zip(mine, times[0])) if mine is not times[0] else None
                spread = (max(mine) - min(mine)) / median
                rows.append({"m": m, "n": n, "k": k, "who": name, "us": median * 1e6, "spread": spread,
                             "gops": 2e-9 * m * n * k / median, "gbytes": 1e-9 * stored.nbytes / median,
                             "ratio": ratio, "rounds": [t * 1e6 for t in mine]})
                print(f"{f'{m} x {n} x {k}':17} {name:22} {median * 1e6:10.1f} {100 * spread:6.1f}% "
                      f"{rows[-1]['gops']:7.1f} {rows[-1]['gbytes']:6.1f} "
                      f"{'' if ratio is None else format(ratio, '7.2f') + 'x':>8}", flush=True)
    if args.json:
        with open(args.json, "w") as file:
            json.dump({"versions": [library.describe()], "rounds": args.rounds, "results": rows}, file, indent=1)


if __name__ == "__main__":
    main()
