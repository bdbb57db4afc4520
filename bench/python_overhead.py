"""What Python adds to calls of the library: a step of a stream, a call of a batch, the import.

    make test-python && PYTHONPATH=python build/python/test/bin/python bench/python_overhead.py

Calls are timed in bursts of some 100 us; a figure is the best burst of each round, and the median of the rounds, so that other
work on the machine hardly counts. The C step is what `elegans profile` calls latency: the same step, timed within the library. Rounds of
both are interleaved. An import is the processor time of a new process; the best of several with numpy alone is subtracted from the best with
elegans.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

import numpy as np

import elegans
from elegans import _core


def best(function, seconds):
    """Seconds of a call: the best burst."""
    function()
    calls, clock = 1, time.perf_counter
    while True:
        begin = clock()
        for _ in range(calls):
            function()
        if clock() - begin > 1e-4:
            break
        calls *= 2
    found, end = 1.0, clock() + seconds
    while clock() < end:
        begin = clock()
        for _ in range(calls):
            function()
        found = min(found, (clock() - begin) / calls)
    return found


def c_step(model):
    """Seconds of a step within the library, less those of the clock around it."""
    figures = _core.latency(model, 2000)
    return figures["min"][0] * 1e-6 - figures["clock_overhead"][0] * 1e-9


def imported(code):
    program = f"import time; t = time.process_time(); {code}; print(time.process_time() - t)"
    return float(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.1, help="of each figure in each round")
    options = parser.parse_args()
    elegans.configure(threads=1)
    empty = np.zeros(3, "float32")
    print(f"{'':34}{'Python':>9}{'C':>9}{'beyond':>9}  us")
    for spec in ("cfc:autoncp:8:2,in=3,seed=1", "cfc:autoncp:64:16,in=16,seed=1", "cfc:64,in=16,backbone=128"):
        model = elegans.open(spec)
        stream = model.stream()
        x = np.zeros(model.info()["inputs"], "float32")
        out = np.zeros(model.info()["outputs"], "float32")
        times = {"step": [], "step, out": [], "C": []}
        for _ in range(options.rounds):
            times["step"].append(best(lambda: stream.step(x, 0.5), options.seconds))
            times["step, out"].append(best(lambda: stream.step(x, 0.5, out), options.seconds))
            times["C"].append(c_step(model))
        c = statistics.median(times["C"])
        nothing = best(lambda: empty, options.seconds)  # the call of a lambda, which is the benchmark's own
        for name in ("step", "step, out"):
            python = statistics.median(times[name]) - nothing
            print(f"{spec[:22] + ' ' + name:34}{python * 1e6:9.3f}{c * 1e6:9.3f}{(python - c) * 1e6:9.3f}")
    model = elegans.open("cfc:autoncp:8:2,in=3,seed=1")
    # a call is linear in its samples and steps; what is left at none of them is the call
    small, large = np.zeros((1, 1, 3), "float32"), np.zeros((1, 65, 3), "float32")
    one = statistics.median(best(lambda: model(small), options.seconds) for _ in range(options.rounds))
    many = statistics.median(best(lambda: model(large), options.seconds) for _ in range(options.rounds))
    print(f"{'a call of a batch':34}{one * 1e6:9.3f}{(many - one) / 64 * 1e6:9.3f}{(one - (many - one) / 64) * 1e6:9.3f}")
    numpy = min(imported("import numpy") for _ in range(options.rounds))
    ours = min(imported("import elegans") for _ in range(options.rounds))
    print(f"import: numpy {numpy * 1e3:.1f} ms, elegans {ours * 1e3:.1f} ms: {(ours - numpy) * 1e3:.1f} ms beyond numpy's")


if __name__ == "__main__":
    main()
