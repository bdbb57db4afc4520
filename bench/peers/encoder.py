#!/usr/bin/env python3
"""A BERT-like encoder (6 layers x 384, 12 heads, random weights) beside onnxruntime: one thread, warm, interleaved.

    python3 -m venv venv && venv/bin/pip install numpy torch transformers onnx onnxruntime
    make && taskset -c 1 venv/bin/python bench/peers/encoder.py --folder /tmp/encoder

Writes the model as a Hugging Face folder, which is what ours runs, and as ONNX: as torch exports it ("as is"),
and as onnxruntime's optimizer for transformers rewrites it ("fused": one node for attention, without a mask, as
one full sequence needs none). int8 is quantize_dynamic with scales per channel, of all it can and of products
alone. Ours is `elegans profile`, int8 is what `elegans quantize` makes of the folder. First, onnxruntime must be
near what torch computes; ours is not compared here. A figure is the median over the rounds of the best run of each
round; with --cpu-time, for a machine that is not quiet, of what a run takes of its core on average, the least of
three times."""
import argparse
import json
import logging
import os
import statistics
import subprocess
import sys
import time
import warnings

from cells import MISSING, load, np, onnx_bound, onnx_session, timed
from products import core_time, error_of, output_of

LAYERS, WIDTH, HEADS, HIDDEN, VOCABULARY, LENGTH = 6, 384, 12, 1536, 30522, 128
EXACT, ROUNDED = 1e-5, 0.05  # rms of the difference to torch, as a part of the output's


# ---- the model


def model_make(torch, transformers, folder):
    config = transformers.BertConfig(vocab_size=VOCABULARY, hidden_size=WIDTH, num_hidden_layers=LAYERS,
                                     num_attention_heads=HEADS, intermediate_size=HIDDEN)
    torch.manual_seed(1)
    model = transformers.BertModel._from_config(config, attn_implementation="eager").eval()
    model.save_pretrained(folder)
    return model


def model_export(torch, model, ids, path, masked):
    class Hidden(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, ids, mask=None):
            return self.model(input_ids=ids, attention_mask=mask).last_hidden_state

    inputs = (ids, torch.ones_like(ids)) if masked else (ids,)
    torch.onnx.export(Hidden().eval(), inputs, path, input_names=["ids", "mask"][:len(inputs)], output_names=["y"],
                      opset_version=17, dynamo=False)


def model_fuse(source, path):
    """The optimizer knows attention by its mask, so this takes the model with one, and takes it away after."""
    from onnxruntime.transformers import optimizer
    model = optimizer.optimize_model(source, model_type="bert", num_heads=HEADS, hidden_size=WIDTH, opt_level=0)
    fused = [node for node in model.model.graph.node if node.op_type == "Attention"]
    if len(fused) != LAYERS:
        raise RuntimeError(f"{len(fused)} of {LAYERS} attentions are fused")
    for node in fused:
        node.input[3] = ""
    graph = model.model.graph
    graph.input.remove(next(value for value in graph.input if value.name == "mask"))
    model.prune_graph()
    model.save_model_to_file(path)


def model_quantize(source, path, kinds):
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic
    quantize_dynamic(source, path, op_types_to_quantize=kinds, per_channel=True, weight_type=QuantType.QInt8,
                     extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT})


def models(torch, model, ids, folder):
    """{name: file} of all that could be made"""
    def path(name):
        return os.path.join(folder, name + ".onnx")
    model_export(torch, model, ids, path("plain"), False)
    model_export(torch, model, ids, path("masked"), True)
    made = {"f32 as is": path("plain")}
    ways = [("f32 fused", lambda out: model_fuse(path("masked"), out))]
    for source in ("as is", "fused"):
        for name, kinds in (("all", None), ("products", ["MatMul"] + ["Attention"] * (source == "fused"))):
            ways.append((f"int8 {source}, {name}", lambda out, s=source, k=kinds:
                         model_quantize(made["f32 " + s], out, k)))
    for name, make in ways:
        try:
            make(path(name.replace(" ", "_").replace(",", "")))
            made[name] = path(name.replace(" ", "_").replace(",", ""))
        except Exception as reason:  # a package that cannot do this version's graph: the others still run
            MISSING.append(f"onnxruntime {name} ({str(reason).splitlines()[0][:120]})")
    return made


# ---- ours


def ours(program, model, runs, cpu_time=False):
    """Seconds of the best run, or what a run takes of its core on average: `model` is a folder or a file."""
    def command(count):
        return [program, "profile", model, "--batch", "1", "--seq", str(LENGTH), "--runs", str(count), "--threads", "1",
                "--json"]
    if cpu_time:  # `profile` does more than runs, and not always as quickly: the least of a few has least of that
        few, more = (min(core_time(command(count)) for _ in range(3)) for count in (1, 1 + runs))
        return (more - few) / runs
    return json.loads(output_of(command(runs)))["time"]["min"]


def ours_models(program, folder):
    """{name: what `ours` takes}, of those that this program can run"""
    small = os.path.join(folder, "int8.safetensors")
    made = {}
    for name, model, command in (("f32", folder, None), ("int8", small, [
            program, "quantize", folder, "--to", "int8", "--integers", "-o", small])):
        try:
            if command:
                output_of(command)
            ours(program, model, 1)
            made[name] = model
        except subprocess.CalledProcessError as reason:
            MISSING.append(f"ours {name} ({(reason.stderr.splitlines() or [str(reason)])[0][:120]})")
        except (OSError, ValueError, KeyError) as reason:
            MISSING.append(f"ours {name} ({reason})")
    return made


# ---- the race


def core_mean(call, seconds):
    """Seconds of the core for a call on average, the least of three times, as `ours` has them."""
    def mean():
        calls, begin, end = 0, time.process_time(), time.perf_counter() + seconds / 3
        while not calls or time.perf_counter() < end:
            call()
            calls += 1
        return (time.process_time() - begin) / calls
    call()
    return min(mean() for _ in range(3))


def report(times, errors):
    """Each line is beside ours of the same kind of numbers."""
    rows = []
    print(f"{'':28} {'ms':>8} {'spread':>7} {'error':>9} {'ours is':>8}")
    for name, seconds in times.items():
        best, own = statistics.median(seconds), times.get("ours " + name.split()[1])
        paired = own and own is not seconds
        ratio = statistics.median(a / b for a, b in zip(seconds, own)) if paired else None
        spread = (max(seconds) - min(seconds)) / best
        rows.append({"who": name, "ms": best * 1e3, "spread": spread, "error": errors.get(name), "ratio": ratio,
                     "rounds": [s * 1e3 for s in seconds]})
        print(f"{name:28} {best * 1e3:8.2f} {100 * spread:6.1f}% "
              f"{format(errors[name], '9.1e') if name in errors else '':>9} "
              f"{'' if ratio is None else format(ratio, '7.2f') + 'x':>8}")
    return rows


def arguments():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", required=True, help="where the models go")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1, help="of each peer in each round")
    parser.add_argument("--runs", type=int, default=40, help="of ours in each round")
    parser.add_argument("--cpu-time", action="store_true", help="of the core, not of the clock on the wall")
    parser.add_argument("--elegans", default=os.path.join(here, "..", "..", "build", "elegans"))
    parser.add_argument("--json", help="write the figures there, too")
    return parser.parse_args()


def main():
    args = arguments()
    torch, transformers, ort = load("torch"), load("transformers"), load("onnxruntime")
    if not (torch and transformers and ort):
        sys.exit(f"encoder.py: needs {', '.join(MISSING)}")
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    os.makedirs(args.folder, exist_ok=True)
    model = model_make(torch, transformers, args.folder)
    ids = torch.randint(5, VOCABULARY, (1, LENGTH))
    with torch.inference_mode():
        expected = model(ids).last_hidden_state.numpy()
    calls, errors, measure = {}, {}, core_mean if args.cpu_time else timed
    for name, path in models(torch, model, ids, args.folder).items():
        session, feed = onnx_session(ort, path), {"ids": ids.numpy()}
        errors["ort " + name] = error_of(session.run(["y"], feed)[0], expected)
        if not errors["ort " + name] < (EXACT if "f32" in name else ROUNDED):
            sys.exit(f"encoder.py: {name} is {errors['ort ' + name]:.1e} beside torch")
        calls["ort " + name] = lambda call=onnx_bound(session, feed): measure(call, args.seconds)
    for name, path in ours_models(args.elegans, args.folder).items():
        calls["ours " + name] = lambda path=path: ours(args.elegans, path, args.runs, args.cpu_time)
    print(f"onnxruntime {ort.__version__}, torch {torch.__version__}, transformers {transformers.__version__}")
    for missing in sorted(set(MISSING)):
        print(f"missing: {missing}")
    load1 = os.getloadavg()[0]
    print(f"{LAYERS} layers x {WIDTH}, {LENGTH} tokens, batch 1: medians of {args.rounds} interleaved rounds, one "
          f"thread, warm, {'time of the core' if args.cpu_time else 'wall clock'}; load {load1:.1f}\n")
    times = {name: [] for name in sorted(calls, key=lambda name: (name.split()[1], name))}
    for _ in range(args.rounds):
        for name, call in calls.items():
            times[name].append(call())
    rows = report(times, errors)
    if args.json:
        with open(args.json, "w") as file:
            json.dump({"onnxruntime": ort.__version__, "missing": sorted(set(MISSING)), "rounds": args.rounds,
                       "cpu_time": args.cpu_time, "load": load1, "results": rows}, file, indent=1)


if __name__ == "__main__":
    main()
