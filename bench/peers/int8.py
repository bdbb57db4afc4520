#!/usr/bin/env python3
"""Products with int8 weights beside onnxruntime and torch: one thread, warm, interleaved in one run.

    python3 -m venv venv && venv/bin/pip install numpy torch onnx onnxruntime
    make && taskset -c 1 venv/bin/python bench/peers/int8.py

Floats in, floats out: rows are quantized within the time of a call, weights before, with a scale per
column. onnxruntime runs what its quantize_dynamic writes as it is (MatMulInteger), and as its optimizer
rewrites it (DynamicQuantizeMatMul); torch runs quantized.linear_dynamic of each engine it has. Both run
f32, too. First, everybody must be near the exact product. What is not installed is named and left out.
Ours is `elegans bench gemm`, between the peers of each round. Peers are called from Python, as their
users call them, onnxruntime with bound inputs and outputs: some us of each of their calls are that."""
import warnings

from cells import MISSING, load, np, onnx_bound, onnx_session
from products import Race, arguments, check, race_all

ROWS, SIDES = (1, 8, 32, 128), (1024, 4096)
LIMIT = 0.03  # rms of what rounding both sides to 8 bits may change, as a part of the result's
FLOATS, INTEGERS = ("gemm_f32", 0), ("gemm_i8i8", 0)


def onnx_sessions(ort, onnx_products, w):
    """w [n, k]: (name, session, bits of a weight, our operation, limit)"""
    scales = np.abs(w).max(axis=1) / 127
    values = np.rint(w / scales[:, None]).astype(np.int8)
    integers = onnx_products.dynamic_int8(np.ascontiguousarray(values.T), scales.astype(np.float32))
    plain = onnx_session(ort, integers, ort.GraphOptimizationLevel.ORT_DISABLE_ALL)
    return (("onnxruntime f32", onnx_session(ort, onnx_products.floats(w.T)), 32, FLOATS, 1e-5),
            ("ort MatMulInteger", plain, 8, INTEGERS, LIMIT),
            ("ort DynamicQuantizeMatMul", onnx_session(ort, integers), 8, INTEGERS, LIMIT))


def onnx_add(race, sessions, x, exact):
    for name, session, bits, rival, limit in sessions:
        check(name, session.run(["y"], {"x": x})[0], exact, limit)
        race.add(name, onnx_bound(session, {"x": x}), bits, rival)


def torch_linears(torch, w):
    """w [n, k]: (name, function of x, bits of a weight, our operation, limit)"""
    weights = torch.from_numpy(w)
    found = [("torch f32", lambda x: torch.nn.functional.linear(x, weights), 32, FLOATS, 1e-5)]
    for engine in ("fbgemm", "onednn"):
        if engine not in torch.backends.quantized.supported_engines:
            MISSING.append(f"torch's engine {engine}")
            continue
        torch.backends.quantized.engine = engine
        scales = weights.abs().amax(dim=1) / 127
        zeros = torch.zeros(len(w), dtype=torch.long)
        with warnings.catch_warnings():  # torch announces that this type will go
            warnings.simplefilter("ignore")
            quantized = torch.quantize_per_channel(weights, scales, zeros, 0, torch.qint8)
        packed = torch.ops.quantized.linear_prepack(quantized, None)
        # without VNNI, fbgemm adds pairs of products in 16 bits: rows leave it the highest bit
        narrow = engine == "fbgemm"
        run = lambda x, p=packed, r=narrow: torch.ops.quantized.linear_dynamic(x, p, r)
        found.append((f"torch {engine}", run, 8, INTEGERS, LIMIT))
    return found


def torch_add(torch, race, linears, x, exact):
    data = torch.from_numpy(x)

    def bound(run):
        def call():
            with torch.inference_mode():
                return run(data)
        return call
    for name, run, bits, rival, limit in linears:
        check(name, bound(run)().numpy(), exact, limit)
        race.add(name, bound(run), bits, rival)


def main():
    args = arguments(__doc__).parse_args()
    torch, onnx, ort = load("torch"), load("onnx"), load("onnxruntime")
    onnx_products = load("onnx_products") if onnx else None
    draw, races = np.random.default_rng(5), []
    if torch:
        torch.set_num_threads(1)
    for side in SIDES:
        w = draw.standard_normal((side, side), np.float32)
        sessions = onnx_sessions(ort, onnx_products, w) if ort and onnx_products else ()
        linears = torch_linears(torch, w) if torch else ()
        for rows in ROWS:
            race = Race(rows, side, side)
            x = draw.standard_normal((rows, side), np.float32)
            exact = x @ w.T
            onnx_add(race, sessions, x, exact)
            if torch:
                torch_add(torch, race, linears, x, exact)
            races.append(race)
    race_all(races, args, ["numpy"] + [n for n, m in (("torch", torch), ("onnx", onnx), ("onnxruntime", ort)) if m])


if __name__ == "__main__":
    main()
