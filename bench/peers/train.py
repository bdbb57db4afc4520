#!/usr/bin/env python3
"""Our steps of training beside torch + ncps: one thread, warm, interleaved in one run.

    python3 -m venv venv && venv/bin/pip install numpy torch ncps
    make && taskset -c 1 venv/bin/python bench/peers/train.py

A step is forward, backward and Adam: the mean square error of all outputs of all steps, from the same
weights on the same batch. First, both must have the same losses over some steps. Both are called from
Python, as torch's users do; torch eager, traced, and with its cells compiled (torch.compile, which needs
a C++ compiler), each with the quicker of its implementations of Adam. A figure is the median over the
rounds of the best burst of each round, for all of them. On a machine that others use, too, --cpu-time
counts only what the process had: a long step hardly ever falls between two interruptions, a short one does."""
import argparse
import json
import os
import platform
import statistics
import sys
import time
import warnings

from cells import MISSING, TORCH_CASES, Race, load, np, ours, timed, torch_module

BATCHES = ((32, 16), (32, 64))
# the network of examples/walker2d with its batch: 152 of these steps are an epoch
WALKER = ("cfc-walker", "cfc:64,in=17,backbone=256,activation=silu,proj=17", 17)
WALKER_BATCHES, WALKER_EPOCH = ((64, 64),), 152
TARGETS = {"cfc-ncp": 15, "cfc-deep": 7, "ltc-ncp": 20, "cfc-walker": None}
STEPS, LIMIT = 5, 1e-5  # how long the losses must agree, and how well


class Contender:
    """A module of torch with its optimizer, on one batch."""

    def __init__(self, torch, module, call, x, target, adam):
        self.torch, self.call, self.x, self.target = torch, call, x, target
        self.h = torch.zeros(x.shape[1], 64)
        self.optimizer = torch.optim.Adam([p for p in module.parameters() if p.requires_grad], lr=0.001, **adam)

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.torch.nn.functional.mse_loss(self.call(self.x, self.h)[0], self.target)
        loss.backward()
        self.optimizer.step()
        return loss


def eager(torch, module, x):
    return module


def traced(torch, module, x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.trace(module, (x, torch.zeros(x.shape[1], 64)), check_trace=False)


def compiled(torch, module, x):
    """The cell, not the loop over time: unrolled, that takes minutes."""
    module.rnn_cell = torch.compile(module.rnn_cell)
    return module


KINDS = {"torch": eager, "torch jit": traced, "compiled": compiled}
ADAMS = {"foreach": {"foreach": True}, "fused": {"fused": True}}


def same_losses(who, contender, expected):
    for i, want in enumerate(expected):
        got = float(contender.step().detach())
        if not abs(got - want) < LIMIT:
            sys.exit(f"train.py: the loss of {who} is {got:.8f} after {i} steps, ours {want:.8f}")


def torch_contender(torch, kind, name, weights, x, target, losses, measure):
    """With the quicker Adam; None where this torch cannot."""
    found = []
    for adam, options in ADAMS.items():
        module = torch_module(torch, name).train()
        module.load_state_dict({key: torch.from_numpy(value.copy()) for key, value in weights.items()}, strict=True)
        start = {key: value.detach().clone() for key, value in module.named_parameters()}
        parameters = dict(module.named_parameters())
        try:
            contender = Contender(torch, module, KINDS[kind](torch, module, x), x, target, options)
            contender.step()
        except Exception as reason:  # whatever it is, the eager module is still there
            MISSING.append(f"{kind} {name}, {adam} Adam ({str(reason).splitlines()[0][:90]})")
            continue
        with torch.no_grad():  # what the first step changed
            for key, value in parameters.items():
                value.copy_(start[key])
        contender.optimizer.state.clear()
        same_losses(f"{kind} {name}", contender, losses)
        found.append((measure(contender.step), adam, contender))
    return min(found, key=lambda f: f[0])[1:] if found else None


def races(torch, library, kinds, only, measure):
    draw = np.random.default_rng(2)
    for name, spec, inputs in TORCH_CASES + (WALKER,):
        model = library.model(spec)
        weights = library.weights(model)
        outputs = library.outputs(model, np.zeros((1, inputs), np.float32)).shape[1]
        for batch, steps in WALKER_BATCHES if name == WALKER[0] else BATCHES:
            title = f"{name}, {batch} x {steps}"
            if only not in title:
                continue
            x = draw.standard_normal((steps, batch, inputs)).astype(np.float32)
            target = (0.5 * draw.standard_normal((steps, batch, outputs))).astype(np.float32)
            check = library.trainer(model, x, target)
            losses = [check.step() for _ in range(STEPS)]
            race = Race(title)
            race.target = TARGETS[name]
            race.add("ours", lambda f=library.trainer(model, x, target).step: measure(f))
            for kind in kinds:
                if kind == "torch jit" and name == "ltc-ncp" and steps > 16:  # six unfoldings of each step
                    MISSING.append(f"{kind} {title} (its executor works on the trace for many minutes)")
                    continue
                start = time.perf_counter()
                found = torch_contender(torch, kind, name, weights, torch.from_numpy(x), torch.from_numpy(target),
                                        losses, measure)
                if found:
                    race.add(f"{kind}, {found[0]}", lambda f=found[1].step: measure(f))
                print(f"{title}: {kind} is ready after {time.perf_counter() - start:.0f} s", file=sys.stderr)
            yield race


def report(found):
    rows = []
    print(f"{'':20} {'':20} {'ms/step':>10} {'spread':>8} {'ours is':>9} {'target':>8}")
    for race in found:
        middles = [statistics.median(times) for _, _, times in race.entries]
        best = min(middles[1:], default=None)
        for i, (name, _, times) in enumerate(race.entries):
            spread = (max(times) - min(times)) / middles[i]
            ratio = "" if i == 0 else f"{middles[i] / middles[0]:8.2f}x"
            # the quickest of torch's ways counts
            target = f"{race.target:6}x" if i and race.target and middles[i] == best else ""
            print(f"{race.title if i == 0 else '':20} {name:20} {middles[i] * 1e3:10.3f} {100 * spread:7.1f}% "
                  f"{ratio:>9} {target:>8}")
            if race.title.startswith(WALKER[0]):
                print(f"{'':20} {'':20} {middles[i] * WALKER_EPOCH:10.1f} s for an epoch of Walker2d")
            rows.append({"case": race.title, "who": name, "ms": middles[i] * 1e3, "spread": spread,
                         "ratio": middles[i] / middles[0], "target": race.target,
                         "rounds": [t * 1e3 for t in times]})
    return rows


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each contender in each round")
    parser.add_argument("--case", default="", help="only those whose title contains it")
    parser.add_argument("--cpu-time", action="store_true", help="of the process, not of the clock on the wall")
    parser.add_argument("--no-compile", action="store_true", help="without torch.compile, which takes a while at first")
    parser.add_argument("--library", default=os.path.join(here, "..", "..", "build", "libelegans.so"))
    parser.add_argument("--json", help="write the figures there, too")
    args = parser.parse_args()
    library = ours.Library(args.library)
    torch, ncps = load("torch"), load("ncps")
    if not torch or not ncps:
        sys.exit(f"train.py: missing: {', '.join(MISSING)}")
    torch.set_num_threads(1)
    kinds = [kind for kind in KINDS if kind != "compiled" or not args.no_compile]
    clock = time.process_time if args.cpu_time else time.perf_counter
    found = list(races(torch, library, kinds, args.case, lambda step: timed(step, args.seconds, clock)))
    from importlib.metadata import version
    about = [library.describe(), f"python {platform.python_version()}"] + [
        f"{n} {version(n)}" for n in ("numpy", "torch", "ncps")]
    print(", ".join(about))
    for missing in sorted(set(MISSING)):
        print(f"missing: {missing}")
    load1 = os.getloadavg()[0]
    print(f"losses agree within {LIMIT:g} over {STEPS} steps; medians of {args.rounds} interleaved rounds, one thread, "
          f"{'time of the process' if args.cpu_time else 'wall clock'}; load {load1:.1f}\n")
    for i in range(args.rounds):
        print(f"round {i + 1} of {args.rounds}", end="\r", file=sys.stderr, flush=True)
        for race in found:
            race.run()
    rows = report(found)
    if args.json:
        with open(args.json, "w") as file:
            json.dump({"versions": about, "rounds": args.rounds, "load": load1, "results": rows}, file, indent=1)


if __name__ == "__main__":
    main()
