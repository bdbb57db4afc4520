"""A step of training (forward, backward, Adam of torch): modules of elegans.torch beside those of ncps.

    PYTHONPATH=python python bench/peers/torch_modules.py [--rounds N] [--threads N] [--compile]

Rounds are interleaved, so that whatever else the machine does slows all of them down; the table has medians, and the median
of the ratios of each round. --compile adds torch.compile of ncps' module, which takes minutes to compile.
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
    start = time.perf_counter()
    for _ in range(repeat):
        step()
    return (time.perf_counter() - start) / repeat


def measure(make, rounds, compiles):
    torch.manual_seed(1)
    theirs = make(ncps.torch)
    x = torch.randn(BATCH, TIME, INPUTS)
    target = torch.randn_like(theirs(x)[0])
    ours = make(elegans.torch)
    ours.load_state_dict(theirs.state_dict())
    steps = {"elegans": (stepper(ours, ours, x, target), 4), "eager": (stepper(theirs, theirs, x, target), 1)}
    if compiles:
        module = make(ncps.torch)
        steps["compiled"] = (stepper(module, torch.compile(module), x, target), 2)
    for step, _ in steps.values():
        for _ in range(3):
            step()
    times = {name: [] for name in steps}
    for _ in range(rounds):
        for name, (step, repeat) in steps.items():
            times[name].append(seconds(step, repeat))
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    elegans.configure(threads=options.threads)
    warnings.filterwarnings("ignore", module="torch")
    print(
        f"{BATCH} x {TIME} steps, {options.threads} threads, torch {torch.__version__}, median ms of a step of training"
    )
    print(
        f"{'':26}{'elegans':>9}{'ncps':>9}{'ratio':>8}" + (f"{'compiled':>10}{'ratio':>8}" if options.compile else "")
    )
    for name, make in CASES.items():
        if options.only not in name:
            continue
        times = measure(make, options.rounds, options.compile)
        row = f"{name:26}{statistics.median(times['elegans']) * 1e3:9.2f}"
        for other in list(times)[1:]:
            ratio = statistics.median(b / a for a, b in zip(times["elegans"], times[other]))
            row += f"{statistics.median(times[other]) * 1e3:{9 if other == 'eager' else 10}.2f}{ratio:8.1f}"
        print(row, flush=True)


if __name__ == "__main__":
    main()
