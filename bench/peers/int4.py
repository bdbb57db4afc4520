#!/usr/bin/env python3
"""A vector times int4 weights beside onnxruntime and llama.cpp: one thread, warm, interleaved in one run.

    python3 -m venv venv && venv/bin/pip install numpy onnx onnxruntime llama-cpp-python
    make && taskset -c 1 venv/bin/python bench/peers/int4.py

onnxruntime is MatMulNBits: accuracy_level 0 multiplies floats, 4 makes the row int8. llama.cpp is what
ggml does, the library that llama-cpp-python brings: weights as a file has them, and rearranged for this
processor where ggml can (CPU_REPACK), as llama.cpp does when it loads a model. Its kernels are those it
was compiled for, which the first lines name. First, everybody must be near the exact product. What is
not installed is named and left out. Ours is `elegans bench gemm`, between the peers of each round. The
weights stay in the caches as far as they fit, for all alike; --cold N takes turns with N copies of them
(peers only), so that they come from memory, as between the layers of a large model."""
import itertools

from cells import MISSING, load, np, onnx_bound, onnx_session
from products import Race, arguments, check, race_all

SIZES = ((4096, 4096), (11008, 4096))
ROWS = 256  # that are drawn and quantized; weights repeat them: only their number matters to a clock
EXACT, ROUNDED = 1e-5, 0.02  # rms of the difference, as a part of the result's: sums of floats; rows made int8
LIMITS = {"F16": 1e-3, "Q8_0": ROUNDED, "Q4_0": 0.15, "Q4_K": 0.15}  # against the weights before rounding
# Q8_0 and Q4_0 have scales alone; Q4_K has zero points, too, and as many bits a weight (4.5) as ours with blocks of 128
RIVALS = {"F16": ("gemm_f16", 0), "Q8_0": ("gemm_i8i8 symmetric", 32), "Q4_0": ("gemm_i4i8 symmetric", 32),
          "Q4_K": ("gemm_i4i8", 128)}


def turns(calls):
    """One after the other, again and again."""
    following = itertools.cycle(calls)
    return lambda: next(following)()


def onnx_blocks(draw, n, k, block):
    """(bytes, scales, weights) of int4, two to a byte, the even one in the low half"""
    numbers = draw.integers(0, 16, (ROWS, k), np.uint8)
    scales = draw.uniform(0.01, 0.02, (ROWS, k // block)).astype(np.float32)
    weights = (numbers.astype(np.float32) - 8) * np.repeat(scales, block, axis=1)
    values = (numbers[:, ::2] | numbers[:, 1::2] << 4).reshape(ROWS, k // block, block // 2)
    return tuple(np.concatenate([part] * (n // ROWS)) for part in (values, scales, weights))


def onnx_add(race, ort, onnx_products, draw, copies):
    _, n, k = race.size
    x = draw.standard_normal((1, k), np.float32)
    for block in (32, 128):
        values, scales, weights = onnx_blocks(draw, n, k, block)
        for accuracy, rival, limit in ((0, ("gemm_i4", block), EXACT), (4, ("gemm_i4i8", block), ROUNDED)):
            model = onnx_products.blocks(values, scales, n, k, 4, block, accuracy)
            sessions = [onnx_session(ort, model) for _ in range(copies)]
            name = f"ort int4 /{block}, level {accuracy}"
            check(name, sessions[0].run(["y"], {"x": x})[0], x @ weights.T, limit)
            race.add(name, turns([onnx_bound(s, {"x": x}) for s in sessions]), 4 + 32 / block, rival)


def ggml_add(race, ggml, draw, copies):
    m, n, k = race.size
    x, few = draw.standard_normal((m, k), np.float32), draw.standard_normal((ROWS, k), np.float32)
    w = np.concatenate([few] * (n // ROWS))
    for kind, rival in RIVALS.items():
        for product in zip(*[ggml.products(kind, w, m) for _ in range(copies)]):
            name = f"ggml {kind}" + ("" if product[0].where == "CPU" else f", {product[0].where}")
            for one in product:
                check(name, one.outputs(x), x @ w.T, LIMITS[kind])
            race.add(name, turns([one.run for one in product]), 8 * product[0].bytes / w.size, rival)


def ggml_open(folder):
    try:
        import ggml_products
        folder = folder or ggml_products.folder_of_llama_cpp()
        if folder:
            return ggml_products.Ggml(folder)
        MISSING.append("llama.cpp (no module named 'llama_cpp')")
    except OSError as reason:
        MISSING.append(f"llama.cpp ({str(reason).splitlines()[0][:90]})")
    return None


def main():
    parser = arguments(__doc__)
    parser.add_argument("--ggml", help="folder of libggml, instead of llama-cpp-python's")
    parser.add_argument("--cold", type=int, default=1, metavar="N", help="copies of each peer's weights to take turns")
    args = parser.parse_args()
    onnx, ort, ggml = load("onnx"), load("onnxruntime"), ggml_open(args.ggml)
    onnx_products = load("onnx_products") if onnx else None
    if ggml:
        print(f"ggml was compiled for {', '.join(ggml.features)}")
    draw, races = np.random.default_rng(6), []
    for n, k in SIZES:
        race = Race(1, n, k)
        if ort and onnx_products:
            onnx_add(race, ort, onnx_products, draw, args.cold)
        if ggml:
            ggml_add(race, ggml, draw, args.cold)
        races.append(race)
    race_all(races, args, ["numpy"] + [name for name, m in (("onnx", onnx), ("onnxruntime", ort)) if m])


if __name__ == "__main__":
    main()
