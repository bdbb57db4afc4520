#!/usr/bin/env python3
"""Two builds of elegans, one after the other again and again: the same bits, and how fast.

    tools/compare.py OLD NEW [--rounds 5] [--speed-only | --bits-only]

OLD and NEW are the program of each build. Outputs of 30 models must be equal to the last bit; of every benchmark the best of
all rounds counts, the builds taking turns, so that a busy machine slows both. Exit 1: bits differ.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

CELLS = ["cfc:autoncp:24:4", "cfc:16", "cfc:autoncp:40:12", "cfc:random:20:4", "cfc:full:12"]
MODELS = [f"{cell},in=5,seed={seed}{more}" for seed, cell in enumerate(CELLS) for more in ("", ",mixed=1", ",proj=3")]
MODELS += [f"{cell},in=5{more}" for cell in ("ltc:autoncp:20:3", "ltc:full:12") for more in ("", ",mixed=1", ",unfolds=3")]
MODELS += ["cfc:16,in=5,backbone=24x2", "cfc:16,in=5,backbone=24+8", "cfc:autoncp:24:4,in=5,backbone=32",
           "cfc:16,in=5,mode=pure", "cfc:16,in=5,mode=no_gate", "cfc:8,in=5/cfc:4", "cfc:33,in=5,backbone=17",
           "cfc:33,in=5,backbone=17,mixed=1", "cfc:8,in=5,mixed=1/cfc:4,backbone=0"]
BENCHES = [["cells"], ["train", "--rounds", "1"]]
PROFILES = {"encoder 6 x 384, 64 tokens": ["bert:6:384,heads=6", "--seq", "64"],
            "decoder 6 x 384, a token": ["llama:6:384,heads=6", "--seq", "1"]}
PRODUCTS = ["512x512x512", "128x256x512", "8x64x64", "1x512x512"]


def table(path):
    """60 rows of five columns and an elapsed time, the same on every machine."""
    draw = random.Random(1)
    with open(path, "w") as file:
        file.write("a,b,c,d,e,dt\n")
        for _ in range(60):
            row = [f"{draw.uniform(-2, 2):.6f}" for _ in range(5)] + [f"{draw.uniform(0.1, 2):.4f}"]
            file.write(",".join(row) + "\n")


def said(command):
    return subprocess.run(command, capture_output=True, check=False)


def compare_bits(programs, folder):
    data, different = os.path.join(folder, "x.csv"), 0
    table(data)
    for model in MODELS:
        file = os.path.join(folder, "m.safetensors")
        subprocess.run([programs[0], "convert", model, "-o", file], check=True, capture_output=True)
        for how in ([], ["--raw", "--batch", "1"]):
            results = [said([p, "run", file, "--input", data, "--spans", "dt"] + how) for p in programs]
            if results[0].returncode or results[0].stdout != results[1].stdout:
                different += 1
                print(f"different: {model} {' '.join(how)} {results[0].stderr.decode()}{results[1].stderr.decode()}")
    print(f"{len(MODELS)} models, each run twice: {different} different")
    return different


def best_times(program, bench):
    result = json.loads(said([program, "bench", *bench, "--json"]).stdout)
    for row in result["results"]:
        name = row.get("case") or row.get("model")
        # of steps with cold caches the best is one that found something warm
        keys = ["us_per_step_median"] if row.get("mode") == "cold" else ["us_per_step_best", "ms_per_step", "step"]
        for key in keys:
            if key in row:
                yield f"{bench[0]} {name}", row[key]["value"]
                break


def best_runs(program):
    for name, arguments in PROFILES.items():
        command = [program, "profile", *arguments, "--threads", "1", "--runs", "100", "--json"]
        yield name, json.loads(said(command).stdout)["time"]["min"] * 1e6


def best_products(program):
    for size in PRODUCTS:
        command = [program, "bench", "gemm", "--size", size, "--threads", "1", "--iterations", "2000", "--json"]
        yield f"gemm {size}", json.loads(said(command).stdout)["time"]["value"] * 1e6


def compare_speed(programs, rounds):
    best = [{}, {}]
    for _ in range(rounds):
        for measure in (best_runs, best_products):
            for i, program in enumerate(programs):
                for name, value in measure(program):
                    best[i][name] = min(value, best[i].get(name, value))
        for bench in BENCHES:
            for i, program in enumerate(programs):
                for name, value in best_times(program, bench):
                    best[i][name] = min(value, best[i].get(name, value))
    print(f"{'us or ms, the best':40} {'old':>10} {'new':>10}  new / old")
    for name, old in best[0].items():
        if name in best[1]:
            print(f"{name:40} {old:10.4g} {best[1][name]:10.4g}  {best[1][name] / old:.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--speed-only", action="store_true")
    parser.add_argument("--bits-only", action="store_true")
    flags = parser.parse_args()
    programs, different = [os.path.abspath(flags.old), os.path.abspath(flags.new)], 0
    with tempfile.TemporaryDirectory() as folder:
        if not flags.speed_only:
            different = compare_bits(programs, folder)
    if not flags.bits_only:
        compare_speed(programs, flags.rounds)
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
