"""A step of training (forward, backward, Adam of torch): modules of elegans.torch beside those of ncps.

    PYTHONPATH=python python bench/peers/torch_modules.py [--rounds N] [--threads N] [--compile] [--only TEXT]

Rounds are interleaved, so that whatever else the machine does slows all of them down; the table has medians, and the medians
of the ratios to "elegans" of each round. The loss and Adam are torch's, on as many threads as ncps has; threads of torch spin
for milliseconds after their work and take the cores from those of elegans meanwhile. So "torch 1" is elegans with one
thread for torch: as many cores as the others have. --compile adds torch.compile of ncps' module
(of an LTC, of its cell), which takes minutes to compile.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings

import ncps.torch
import ncps.wirings
import torch

import elegans
import elegans.torch

BATCH, TIME, INPUTS = 32, 32, 16


def circuit():
    return ncps.wirings.AutoNCP(64, 16)


CASES = {
    "CfC AutoNCP(64, 16)": (lambda kit: kit.CfC(INPUTS, circuit())),
    "CfC 64, backbone 128": (lambda kit: kit.CfC(INPUTS, 64)),
    "CfC 64, backbone 64 x 2": (lambda kit: kit.CfC(INPUTS, 64, backbone_units=64, backbone_layers=2)),
    "LTC AutoNCP(64, 16)": (lambda kit: kit.LTC(INPUTS, circuit())),
}


def stepper(module, run, x, target):
    optimizer = torch.optim.Adam(module.parameters(), lr=1e-3)

    def step():
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(run(x)[0], target)
        loss.backward()
        optimizer.step()

    return step


def seconds(step, repeat):
    for _ in range(max(repeat // 4, 1)):  # until the threads of the round before sleep
        step()
    start = time.perf_counter()
    for _ in range(repeat):
        step()
    return (time.perf_counter() - start) / repeat


def measure(make, options):
    """Seconds of a step in each round, by who takes it: (step, threads of torch, steps in a round)."""
    torch.manual_seed(1)
    theirs = make(ncps.torch)
    x = torch.randn(BATCH, TIME, INPUTS)
    target = torch.randn_like(theirs(x)[0])
    ours = make(elegans.torch)
    ours.load_state_dict(theirs.state_dict())
    step = stepper(ours, ours, x, target)
    steps = {
        "elegans": (step, options.threads, 16),
        "torch 1": (step, 1, 16),
        "ncps": (stepper(theirs, theirs, x, target), options.threads, 2),
    }
    if options.compile:
        module = make(ncps.torch)
        run = module
        if isinstance(module, ncps.torch.LTC):  # as a whole it takes more than ten minutes to compile
            module.rnn_cell = torch.compile(module.rnn_cell)
        else:
            run = torch.compile(module)
        steps["compiled"] = (stepper(module, run, x, target), options.threads, 4)
    times = {name: [] for name in steps}
    for i in range(options.rounds + 3):
        for name, (step, threads, repeat) in steps.items():
            torch.set_num_threads(threads)
            taken = seconds(step, repeat)
            if i >= 3:
                times[name].append(taken)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    options = parser.parse_args()
    elegans.configure(threads=options.threads)
    warnings.filterwarnings("ignore", module="torch")
    print(
        f"{BATCH} x {TIME} steps, {options.threads} threads, torch {torch.__version__}; ms of a step of training, ratios"
    )
    names = ["torch 1", "ncps", *(["compiled"] if options.compile else [])]
    print(f"{'':26}{'elegans':>9}" + "".join(f"{name:>17}" for name in names))
    for case, make in CASES.items():
        if options.only not in case:
            continue
        times = measure(make, options)
        row = f"{case:26}{statistics.median(times['elegans']) * 1e3:9.2f}"
        for name in names:
            ratio = statistics.median(b / a for a, b in zip(times["elegans"], times[name]))
            row += f"{statistics.median(times[name]) * 1e3:10.2f} {ratio:5.2f}x"
        print(row, flush=True)


if __name__ == "__main__":
    main()
