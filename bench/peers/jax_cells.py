#!/usr/bin/env python3
"""Our sequences and steps of training beside jax: warm, interleaved in one run.

    python3 -m venv venv && venv/bin/pip install numpy jax
    make && taskset -c 1 venv/bin/python bench/peers/jax_cells.py
    venv/bin/python bench/peers/jax_cells.py --threads 2

jax in its best form: one jit, lax.scan over time, input products hoisted out of it, the heads of a layer as one
product (both time heads factored, as elapsed times are 1), weights masked and merged before the scan, buffers of training donated. A step of training is
forward, backward and Adam. First both must have the same outputs and losses, from the same weights. XLA is pinned to
the cores of the process: on one core it has one thread. A figure is the median over the rounds of the best call of each."""
import argparse
import functools
import json
import os
import statistics
import sys
import time


def pinned(threads):
    """Before jax is loaded: its pool has as many threads as the process has cores."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < threads:
        sys.exit(f"jax_cells.py: {threads} threads on {len(cores)} cores")
    os.sched_setaffinity(0, cores[-threads:])
    os.environ.setdefault("JAX_PLATFORMS", "cpu")


CASES = (("CfC 64", "cfc:64,in=16,backbone=0", 64), ("CfC 64, backbone 128", "cfc:64,in=16,backbone=128", 64),
         ("circuit 64", "cfc:autoncp:64:16,in=16", 64), ("CfC 256", "cfc:256,in=64,backbone=0", 256),
         ("CfC 256, backbone 256", "cfc:256,in=64,backbone=256", 256), ("circuit 256", "cfc:autoncp:256:64,in=64", 256))
SHAPES = ((32, 64),)
TARGETS = {("sequence", 64): 1.3, ("sequence", 256): 1.3, ("training", 64): 2.0, ("training", 256): 1.6}
STEPS, LIMIT = 5, 2e-5


class Cell:
    """A CfC, or the layers of a circuit, as functions of a dictionary of weights."""

    def __init__(self, jax, weights):
        self.jax, self.np = jax, jax.numpy
        names = sorted({name.rsplit(".", 2)[0] for name in weights if name.endswith("ff1.weight")})
        self.layers = names
        self.masks = {name: weights[f"{name}.sparsity_mask"] for name in names if f"{name}.sparsity_mask" in weights}
        self.trained = {k: v for k, v in weights.items() if not k.endswith("sparsity_mask")}
        self.units = [weights[f"{name}.ff1.bias"].shape[0] for name in names]

    def merged(self, w, name):
        """The three heads side by side, [sources, 3 units], and their biases."""
        jnp, mask = self.np, self.masks.get(name)
        heads = [w[f"{name}.{head}.weight"] for head in ("ff1", "ff2")]
        if mask is not None and f"{name}.backbone.0.weight" not in w:
            heads = [head * mask for head in heads]
        heads.append(w[f"{name}.time_a.weight"] + w[f"{name}.time_b.weight"])
        bias = [w[f"{name}.ff1.bias"], w[f"{name}.ff2.bias"], w[f"{name}.time_a.bias"] + w[f"{name}.time_b.bias"]]
        return jnp.concatenate(heads).T, jnp.concatenate(bias)

    def gate(self, z, n):
        f1, f2 = self.np.tanh(z[:, :n]), self.np.tanh(z[:, n:2 * n])
        return f1 + self.jax.nn.sigmoid(z[:, 2 * n:]) * (f2 - f1)

    def prepare(self, w):
        """What depends on the weights alone: per layer the rows of inputs and of the state apart."""
        out = []
        for name, n in zip(self.layers, self.units):
            heads = self.merged(w, name)
            first = f"{name}.backbone.0"
            if f"{first}.weight" in w:
                matrix = w[f"{first}.weight"].T
                out.append(((matrix[:-n], matrix[-n:], w[f"{first}.bias"]), heads))
            else:
                out.append(((heads[0][:-n], heads[0][-n:], heads[1]), None))
        return out

    def layer(self, prepared, z, n):
        """The new state from the sum over all sources."""
        heads = prepared[1]
        if heads is None:
            return self.gate(z, n)
        q = 1.7159 * self.np.tanh(0.666 * z)
        return self.gate(q @ heads[0] + heads[1], n)

    def run(self, prepared, x):
        """All outputs, [time, batch, outputs]: the states of the last layer."""
        jnp = self.np
        first = prepared[0][0]
        hoisted = x @ first[0] + first[2]

        def step(carry, z):
            new = [self.layer(prepared[0], z + carry[0] @ first[1], self.units[0])]
            for i in range(1, len(prepared)):
                left, right, bias = prepared[i][0]
                new.append(self.layer(prepared[i], new[-1] @ left + carry[i] @ right + bias, self.units[i]))
            return tuple(new), new[-1]

        start = tuple(jnp.zeros((x.shape[1], n), x.dtype) for n in self.units)
        return self.jax.lax.scan(step, start, hoisted)[1]

    def loss(self, w, x, target):
        # else XLA transposes and concatenates weights in every step of the scan
        prepared = self.jax.lax.optimization_barrier(self.prepare(w))
        return self.np.mean((self.run(prepared, x) - target) ** 2)

    def train(self, state, x, target):
        """Adam, as optax and torch have it."""
        w, m, v, t = state
        jax, jnp = self.jax, self.np
        loss, d = jax.value_and_grad(self.loss)(w, x, target)
        t = t + 1
        m = jax.tree.map(lambda m, d: 0.9 * m + 0.1 * d, m, d)
        v = jax.tree.map(lambda v, d: 0.999 * v + 0.001 * d * d, v, d)
        rate = 0.001 / (1 - 0.9 ** t)
        w = jax.tree.map(lambda w, m, v: w - rate * m / (jnp.sqrt(v / (1 - 0.999 ** t)) + 1e-8), w, m, v)
        return (w, m, v, t), loss


def training(jax, cell, x, target):
    step = jax.jit(cell.train, donate_argnums=0)
    w = {k: jax.numpy.array(v) for k, v in cell.trained.items()}
    zeros = jax.tree.map(jax.numpy.zeros_like, w)
    held = [(w, zeros, jax.tree.map(jax.numpy.zeros_like, w), jax.numpy.float32(0))]

    def call():
        held[0], loss = step(held[0], x, target)
        return float(loss)
    return call


def best_call(call, seconds, clock):
    best, end = float("inf"), clock() + seconds
    while True:
        start = clock()
        call()
        now = clock()
        best = min(best, now - start)
        if now > end:
            return best


def check(what, difference):
    if not difference < LIMIT:
        sys.exit(f"jax_cells.py: {what} differs from ours by {difference:g}")


def races(jax, library, only):
    import numpy as np
    draw = np.random.default_rng(2)
    for name, spec, size in CASES:
        model = library.model(spec)
        cell = Cell(jax, library.weights(model))
        inputs, outputs = library.sizes(model)
        for batch, steps in SHAPES:
            x = draw.standard_normal((steps, batch, inputs)).astype(np.float32)
            target = (0.5 * draw.standard_normal((steps, batch, outputs))).astype(np.float32)
            if only in f"{name}, sequence":
                ours_run = library.program(model, x)
                ours_run.run()
                run = functools.partial(jax.jit(cell.run), jax.jit(cell.prepare)({k: jax.numpy.array(v) for k, v in cell.trained.items()}), jax.numpy.array(x))
                check(f"{name}", float(np.max(np.abs(np.asarray(run()) - ours_run.outputs()))))
                yield f"{name}, {batch} x {steps}", "sequence", size, ours_run.run, lambda run=run: run().block_until_ready()
            if only in f"{name}, training":
                losses = [library.trainer(model, x, target)]
                expected = [losses[0].step() for _ in range(STEPS)]
                theirs = training(jax, cell, jax.numpy.array(x), jax.numpy.array(target))
                for want in expected:
                    check(f"the loss of {name}", abs(theirs() - want))
                yield f"{name}, {batch} x {steps}", "training", size, library.trainer(model, x, target).step, theirs


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.2, help="of each contender in each round")
    parser.add_argument("--case", default="", help="only those whose title contains it")
    parser.add_argument("--library", default=os.path.join(here, "..", "..", "build", "libelegans.so"))
    parser.add_argument("--cpu-time", action="store_true", help="of the process, for one thread on a machine that others use, too")
    parser.add_argument("--json", help="write the figures there, too")
    args = parser.parse_args()
    pinned(args.threads)
    import jax
    import ours
    clock = time.process_time if args.cpu_time else time.perf_counter
    library = ours.Library(os.path.abspath(args.library), args.threads)
    found = [(*race, [], []) for race in races(jax, library, args.case)]
    for _ in range(args.rounds):
        for _, _, _, mine, theirs, a, b in found:
            a.append(best_call(mine, args.seconds, clock))
            b.append(best_call(theirs, args.seconds, clock))
    print(f"{library.describe()}, jax {jax.__version__}, threads: {args.threads}; medians of {args.rounds} interleaved rounds, ms{' of the process' if args.cpu_time else ''}; load {os.getloadavg()[0]:.1f}")
    print(f"{'':36} {'':10} {'ours':>9} {'jax':>9} {'ratio':>7} {'target':>7}")
    rows = []
    for title, kind, size, _, _, a, b in found:
        mine, theirs = statistics.median(a), statistics.median(b)
        print(f"{title:36} {kind:10} {mine * 1e3:9.3f} {theirs * 1e3:9.3f} {theirs / mine:6.2f}x {TARGETS[kind, size]:6.1f}x")
        rows.append({"case": title, "kind": kind, "ours_ms": [t * 1e3 for t in a], "jax_ms": [t * 1e3 for t in b], "ratio": theirs / mine})
    if args.json:
        with open(args.json, "w") as file:
            json.dump({"jax": jax.__version__, "threads": args.threads, "results": rows}, file, indent=1)


if __name__ == "__main__":
    main()
