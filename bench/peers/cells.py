#!/usr/bin/env python3
"""Our liquid cells beside torch + ncps and onnxruntime: one thread, warm, interleaved in one run.

    python3 -m venv venv && venv/bin/pip install numpy torch ncps onnx onnxruntime
    make && make build/bench && taskset -c 1 venv/bin/python bench/peers/cells.py

What is not installed is named and left out. Ours is timed inside the library, as a C program calls
it; torch and onnxruntime are called from Python, as their users call them (onnxruntime with bound
inputs and outputs); "empty call" is what such a call costs that computes nothing. A figure is the
median over the rounds of the best burst of each round, for all of them."""
import argparse
import gc
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

os.environ.update({"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})
MISSING = []


def load(name):
    try:
        return __import__(name, fromlist=["_"])
    except (ImportError, OSError, ValueError) as reason:
        MISSING.append(f"{name} ({str(reason).splitlines()[0][:90]})")
        return None


np = load("numpy")
if np is None:
    sys.exit("cells.py: numpy is needed")
import ours  # noqa: E402

BATCH, TIME = 32, 64
TORCH_CASES = (("cfc-ncp", "cfc:autoncp:64:16,in=16", 16),
               ("cfc-deep", "cfc:64,in=16,backbone=64x2,activation=silu", 16),
               ("ltc-ncp", "ltc:autoncp:64:16,in=16", 16))
ONNX_SPEC, ONNX_INPUTS = "cfc:64,in=32,backbone=128", 32
GRU_INPUTS, GRU_HIDDEN, GRU_BATCHES = 32, (64, 256), (1, 32)


def timed(function, seconds, clock=time.perf_counter):
    """Seconds of one call: the best of bursts of some 40 us, as bench and the library take them."""
    function()
    start = clock()
    function()
    calls = max(1, int(40e-6 / (clock() - start)))
    bursts, end = [], time.perf_counter() + seconds
    gc.disable()
    while not bursts or time.perf_counter() < end:
        start = clock()
        for _ in range(calls):
            function()
        bursts.append((clock() - start) / calls)
    gc.enable()
    return min(bursts)


def check(what, got, expected, limit=2e-4):
    difference = float(np.max(np.abs(np.asarray(got).reshape(np.shape(expected)) - expected)))
    if not difference < limit:
        sys.exit(f"cells.py: {what} differs from ours by {difference:g}")


class Race:
    """Contenders of one line of the table; the first is ours."""

    def __init__(self, title):
        self.title, self.entries = title, []

    def add(self, name, measure):
        self.entries.append((name, measure, []))

    def run(self):
        for _, measure, times in self.entries:
            times.append(measure())


# ---- torch


def torch_module(torch, name):
    from ncps.torch import LTC, CfC
    from ncps.wirings import AutoNCP
    if name == "cfc-ncp":
        return CfC(16, AutoNCP(64, 16), batch_first=False)
    if name == "ltc-ncp":
        return LTC(16, AutoNCP(64, 16), batch_first=False)
    if name == "cfc-walker":
        return CfC(17, 64, proj_size=17, backbone_units=256, backbone_layers=1, activation="silu", batch_first=False)
    return CfC(16, 64, backbone_units=64, backbone_layers=2, activation="silu", batch_first=False)


def torch_traced(torch, module, x, h):
    """The same as TorchScript, frozen; None where this torch cannot."""
    try:
        with warnings.catch_warnings(), torch.inference_mode():
            warnings.simplefilter("ignore")
            traced = torch.jit.freeze(torch.jit.trace(module, (x, h), check_trace=False).eval())
            for _ in range(3):
                traced(x, h)
        return traced
    except Exception as reason:  # whatever it is, the eager module is still there
        MISSING.append(f"torch.jit ({str(reason).splitlines()[0][:90]})")
        return None


def torch_call(torch, module, x, h):
    def call():
        with torch.inference_mode():
            module(x, h)
    return call


def torch_races(torch, library, seconds):
    torch.set_num_threads(1)
    draw = np.random.default_rng(2)
    for name, spec, inputs in TORCH_CASES:
        model, module = library.model(spec), torch_module(torch, name).eval()
        weights = {key: torch.from_numpy(value) for key, value in library.weights(model).items()}
        module.load_state_dict(weights, strict=True)
        x = draw.standard_normal((8, inputs)).astype(np.float32)
        with torch.inference_mode():
            y = module(torch.from_numpy(x).unsqueeze(1))[0].numpy()[:, 0]
        check(f"torch {name}", y, library.outputs(model, x))
        for batch, steps, mode in ((1, 1, "hot"), (BATCH, TIME, "batch")):
            race = Race(f"{name}, {'one step' if steps == 1 else f'{batch} x {steps} steps'}")
            race.add("ours", lambda n=f"{name}-{mode}", k=batch * steps: library.measure(n) * k)
            data = torch.from_numpy(draw.standard_normal((steps, batch, inputs)).astype(np.float32))
            h = torch.zeros(batch, 64)
            contenders = {"torch": module, "torch jit": torch_traced(torch, module, data, h)}
            for who, callee in contenders.items():
                if callee is None:
                    continue
                with torch.inference_mode():
                    check(f"{who} {race.title}", callee(data, h)[0].numpy(), module(data, h)[0].numpy())
                race.add(who, lambda f=torch_call(torch, callee, data, h): timed(f, seconds))
            if steps == 1:
                idle = torch_call(torch, lambda x, h: torch.add(x, 1), data, h)
                race.add("empty call", lambda f=idle: timed(f, seconds))
            yield race


# ---- onnxruntime


def onnx_session(ort, model, level=None):
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL if level is None else level
    options.log_severity_level = 3
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def onnx_bound(session, feeds):
    """Inputs and outputs stay where they are: the least a call can cost."""
    binding = session.io_binding()
    for name, value in feeds.items():
        binding.bind_cpu_input(name, value)
    for output in session.get_outputs():
        binding.bind_output(output.name)
    return lambda: session.run_with_iobinding(binding)


def onnx_races(ort, onnx_cells, library, seconds):
    draw, model = np.random.default_rng(3), library.model(ONNX_SPEC)
    weights, kinds = library.weights(model), (("onnxruntime", False), ("ort merged", True))
    x = draw.standard_normal((8, 1, ONNX_INPUTS)).astype(np.float32)
    for name, merged in kinds:
        session = onnx_session(ort, onnx_cells.cfc(weights, 1, 8, merged))
        y = session.run(["y"], {"x": x, "h0": np.zeros((1, 64), np.float32)})[0]
        check(name, y, library.outputs(model, x[:, 0]))
    for batch, steps, mode in ((1, 1, "hot"), (BATCH, TIME, "batch")):
        race = Race(f"cfc-wide, {'one step' if steps == 1 else f'{batch} x {steps} steps'}")
        race.add("ours", lambda n=f"cfc-wide-{mode}", k=batch * steps: library.measure(n) * k)
        feeds = {"x": draw.standard_normal((steps, batch, ONNX_INPUTS)).astype(np.float32),
                 "h0": np.zeros((batch, 64), np.float32)}
        for name, merged in kinds:
            call = onnx_bound(onnx_session(ort, onnx_cells.cfc(weights, batch, steps, merged)), feeds)
            race.add(name, lambda f=call: timed(f, seconds))
        if steps == 1:
            idle = onnx_bound(onnx_session(ort, onnx_cells.empty()), {"x": np.zeros((1, 1), np.float32)})
            race.add("empty call", lambda f=idle: timed(f, seconds))
        yield race


class OurGru:
    """bench --group gru measures all four at once: once a round, asked for one by one."""

    def __init__(self, program):
        self.program, self.left = program, {}

    def measure(self, batch, hidden):
        key = f"hidden {hidden}, batch {batch}"
        if key not in self.left:
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "gru.json")
                subprocess.run([self.program, "--group", "gru", "--no-peers", "--quick", "--json", path],
                               check=True, stdout=subprocess.DEVNULL)
                with open(path) as file:
                    self.left = {r["case"]: r["ours"] for r in json.load(file)["results"]}
        flops = 2.0 * TIME * batch * 3 * hidden * (hidden + GRU_INPUTS)
        return flops / (self.left.pop(key) * 1e9)


def gru_races(ort, onnx_cells, program, seconds):
    mine, draw = OurGru(program), np.random.default_rng(4)
    for hidden in GRU_HIDDEN:
        for batch in GRU_BATCHES:
            race = Race(f"gru {hidden}, {batch} x {TIME} steps")
            race.add("ours", lambda b=batch, h=hidden: mine.measure(b, h))
            feeds = {"x": draw.standard_normal((TIME, batch, GRU_INPUTS)).astype(np.float32),
                     "h0": np.zeros((1, batch, hidden), np.float32)}
            call = onnx_bound(onnx_session(ort, onnx_cells.gru(batch, TIME, GRU_INPUTS, hidden)), feeds)
            race.add("onnxruntime", lambda f=call: timed(f, seconds))
            yield race


# ---- the table


def report(races):
    rows = []
    print(f"{'':24} {'':12} {'us':>11} {'spread':>8} {'ours is':>9}")
    for race in races:
        base = statistics.median(race.entries[0][2])
        for i, (name, _, times) in enumerate(race.entries):
            middle = statistics.median(times)
            spread = (max(times) - min(times)) / middle
            ratio = "" if i == 0 else f"{middle / base:8.2f}x"
            print(f"{race.title if i == 0 else '':24} {name:12} {middle * 1e6:11.2f} {100 * spread:7.1f}% {ratio:>9}")
            rows.append({"case": race.title, "who": name, "us": middle * 1e6, "spread": spread,
                         "ratio": middle / base, "rounds": [t * 1e6 for t in times]})
    return rows


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    build = os.path.join(here, "..", "..", "build")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.3, help="of each peer in each round")
    parser.add_argument("--library", default=os.path.join(build, "libelegans.so"))
    parser.add_argument("--bench", default=os.path.join(build, "bench"))
    parser.add_argument("--json", help="write the figures there, too")
    args = parser.parse_args()
    library = ours.Library(args.library)
    torch, ncps, onnx, ort = load("torch"), load("ncps"), load("onnx"), load("onnxruntime")
    onnx_cells = load("onnx_cells") if onnx else None
    races = []
    if torch and ncps:
        races += torch_races(torch, library, args.seconds)
    if onnx_cells and ort:
        races += onnx_races(ort, onnx_cells, library, args.seconds)
        if os.path.exists(args.bench):
            races += gru_races(ort, onnx_cells, args.bench, args.seconds)
        else:
            MISSING.append(f"{args.bench} (make build/bench)")
    from importlib.metadata import version
    names = ["numpy"] + [n for n, m in (("torch", torch), ("ncps", ncps), ("onnx", onnx), ("onnxruntime", ort)) if m]
    about = [library.describe(), f"python {platform.python_version()}"] + [f"{n} {version(n)}" for n in names]
    print(", ".join(about))
    for missing in sorted(set(MISSING)):
        print(f"missing: {missing}")
    if not races:
        sys.exit("cells.py: no peer is installed")
    load1 = os.getloadavg()[0]
    print(f"medians of {args.rounds} interleaved rounds, one thread, warm; load {load1:.1f}\n")
    for i in range(args.rounds):
        print(f"round {i + 1} of {args.rounds}", end="\r", file=sys.stderr, flush=True)
        for race in races:
            race.run()
    rows = report(races)
    if args.json:
        with open(args.json, "w") as file:
            json.dump({"versions": about, "rounds": args.rounds, "load": load1, "results": rows}, file, indent=1)


if __name__ == "__main__":
    main()
