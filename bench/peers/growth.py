#!/usr/bin/env python3
"""Whether a model's speed depends on how much of it is asked for: batches, lengths, sizes, training.

    python3 -m venv venv && venv/bin/pip install numpy
    make && taskset -c 1 venv/bin/python bench/peers/growth.py [LIBRARY ...]

Time of a step of one sample and GFLOP/s of each case (operations counted in its program), the best call of all rounds, on one
thread, and the ratio to the best case of its model. Several libraries (before, after) take turns in one run."""
import argparse
import os
import sys
import time

import numpy as np

import ours

# model: (mode, batch, steps); a stream has neither
RUNS = [("run", 1, 64), ("run", 8, 64), ("run", 32, 16), ("run", 32, 1024), ("run", 1, 16384), ("run", 512, 16), ("run", 4096, 16)]
TRAININGS = [("train", 1, 64), ("train", 8, 64), ("train", 32, 16), ("train", 32, 256), ("train", 512, 16)]
CASES = [(f"cfc {name}", spec, modes) for name, spec, modes in (
    ("64", "cfc:64,in=16", RUNS + [("run", 32, 16384)]),
    ("64, backbone", "cfc:64,in=16,backbone=64x2,activation=silu", RUNS),
    ("256", "cfc:256,in=64", [("run", 32, 16), ("run", 32, 256), ("run", 1024, 16)]),
    ("circuit", "cfc:autoncp:64:16,in=16", RUNS + [("run", 32, 16384)]),
    ("64, training", "cfc:64,in=16", TRAININGS),
    ("circuit, training", "cfc:autoncp:64:16,in=16", TRAININGS))] + [
    ("ltc circuit", "ltc:autoncp:64:16,in=16", RUNS[:4] + RUNS[5:]),
    ("ltc circuit, training", "ltc:autoncp:64:16,in=16", TRAININGS[:3])]
STREAMS = [("cfc circuit, stream", f"cfc:autoncp:{n}:{n // 4},in=16", [("stream", 1, 1)]) for n in (128, 256, 512, 1024, 2048, 4096)]


class Job:
    """One case in one library: best seconds so far."""

    def __init__(self, library, spec, mode, batch, steps):
        model = library.model(spec)
        draw = np.random.default_rng(1)
        inputs, outputs = library.sizes(model)
        shape = (steps, batch, inputs)
        x = draw.standard_normal(shape, np.float32)
        if mode == "train":
            trainer = library.trainer(model, x, draw.standard_normal((steps, batch, outputs), np.float32))
            self.call, self.flops = trainer.step, trainer.flops()
        elif mode == "stream":
            stream = library.stream(model, x[0, 0])
            self.call, self.flops = stream.step, stream.flops()
        else:
            program = library.program(model, x)
            self.call, self.flops = program.run, program.flops()
        self.best = float("inf")
        self.call()

    def measure(self, seconds, clock):
        end = clock() + seconds
        while True:
            start = clock()
            self.call()
            now = clock()
            self.best = min(self.best, now - start)
            if now > end:
                return


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", nargs="*", default=[os.path.join(here, "..", "..", "build", "libelegans.so")])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.1, help="of each case in each round")
    parser.add_argument("--case", default="", help="only models whose name contains it")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    # on one thread only what the process had: a long call hardly ever falls between two interruptions
    clock = time.thread_time if args.threads == 1 else time.perf_counter
    libraries = [ours.Library(os.path.abspath(path), args.threads) for path in args.library]
    peak = max(libraries[0].peak() for _ in range(3))
    print(f"{libraries[0].describe()}, FMA peak of a core {peak:.1f} GFLOP/s; ns of a sample's step, GFLOP/s, ratio to the best case of the model")
    groups = {}
    for name, spec, modes in CASES + STREAMS:
        if args.case in name:
            groups.setdefault(name, []).extend((spec, mode) for mode in modes)
    worst = 1.0
    for name, cases in groups.items():
        found = []
        for spec, mode in cases:
            jobs = [Job(library, spec, *mode) for library in libraries]
            for _ in range(args.rounds):
                for job in jobs:
                    job.measure(args.seconds, clock)
            title = spec if mode[0] == "stream" else f"{mode[1]} x {mode[2]}"
            times = [job.best * 1e9 / mode[1] / mode[2] for job in jobs]
            found.append((title, [job.flops / job.best * 1e-9 for job in jobs], times))
        best = [max(speeds[i] for _, speeds, _ in found) for i in range(len(libraries))]
        print(name)
        for title, speeds, times in found:
            print(f"  {title:32}" + "   ".join(f"{t:10.0f} {s:7.1f} {s / b:5.2f}" for t, s, b in zip(times, speeds, best)), flush=True)
        worst = min([worst] + [speeds[-1] / best[-1] for _, speeds, _ in found])
    peak = max([peak] + [libraries[0].peak() for _ in range(3)])
    print(f"worst {worst:.2f}; FMA peak {peak:.1f}")


if __name__ == "__main__":
    sys.exit(main())
