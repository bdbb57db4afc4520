#!/usr/bin/env python3
"""Entropy of the bytes around each place, ours beside scipy and numpy: one thread.

    python3 -m venv venv && venv/bin/pip install numpy scipy
    make && taskset -c 1 venv/bin/python bench/peers/entropy.py [FILE]

There is no library for this to race with: scipy's entropy of each window's counts is what people write
first, numpy over all windows at once what they write when that is too slow. They, on the first bytes of
FILE, must agree with each other and with the library. `elegans entropy` is timed as a whole process.
Times are those of the processor, so that others on the machine count for little."""
import argparse
import ctypes as c
import os
import resource
import subprocess
import sys
import tempfile

from cells import MISSING, load, np, ours, timed


def clock():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def naive(scipy_stats, data, window):
    half = window // 2
    return [scipy_stats.entropy(np.bincount(data[max(0, i - half):i + half], minlength=256), base=2) / 8
            for i in range(len(data))]


def at_once(data, window):
    """Counts of each byte before each place: the window's are the difference of two rows."""
    before = np.zeros((len(data) + 1, 256), np.int32)
    before[np.arange(1, len(data) + 1), data] = 1
    np.cumsum(before, axis=0, out=before)
    places, half = np.arange(len(data)), window // 2
    first, last = np.maximum(places - half, 0), np.minimum(places + half, len(data))
    p = (before[last] - before[first]) / (last - first)[:, None]
    return -np.sum(p * np.log2(p, out=np.zeros_like(p), where=p > 0), axis=1) / 8


def library_call(path, data, window):
    """(function, values it writes); OSError or AttributeError where there is none."""
    library, out = ours.Library(path), np.empty(len(data), np.float32)
    return lambda: library.call("eg_entropy_of", library.context, data.ctypes.data_as(c.c_void_p),
                                c.c_size_t(len(data)), c.c_uint64(window), out.ctypes.data_as(c.c_void_p)), out


def program_call(program, path, window):
    return lambda: subprocess.run([program, "entropy", path, "--window", str(window), "--json"], check=True,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    build = os.path.join(here, "..", "..", "build")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", help="default: 16 MB of numbers of many magnitudes")
    parser.add_argument("--window", type=int, default=256)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--library", default=os.path.join(build, "libelegans.so"))
    parser.add_argument("--elegans", default=os.path.join(build, "elegans"))
    args = parser.parse_args()
    stats = load("scipy.stats")
    with tempfile.TemporaryDirectory() as folder:
        if not args.file:
            args.file = os.path.join(folder, "bytes")
            magnitudes = np.repeat(2.0 ** (np.arange(4096) % 32), 1024)
            (np.random.default_rng(7).random(len(magnitudes)) * magnitudes).astype("<u4").tofile(args.file)
        whole = np.fromfile(args.file, np.uint8)
        some = whole[:32768]
        exact = at_once(some, args.window)
        contenders = [("numpy, all windows at once", lambda: at_once(some, args.window), some)]
        if stats:
            few = some[:2048]
            contenders.append(("scipy, window by window", lambda: naive(stats, few, args.window), few))
            if not np.allclose(naive(stats, few, args.window), at_once(few, args.window), atol=1e-9):
                sys.exit("entropy.py: scipy and numpy differ")
        try:
            call, out = library_call(args.library, some, args.window)
            call()
            if not np.abs(out - exact).max() < 1e-6:
                sys.exit(f"entropy.py: ours differs by {np.abs(out - exact).max():g}")
            contenders.append(("the library", library_call(args.library, whole, args.window)[0], whole))
        except (OSError, AttributeError) as reason:
            MISSING.append(f"ours ({str(reason)[:90]})")
        try:
            call = program_call(args.elegans, args.file, args.window)
            call()
            contenders.append(("elegans entropy", call, whole))
        except (OSError, subprocess.CalledProcessError) as reason:
            text = reason.stderr.decode().splitlines() if getattr(reason, "stderr", None) else [str(reason)]
            MISSING.append(f"the program ({text[0][:90]})")
        for missing in MISSING:
            print(f"missing: {missing}")
        print(f"window {args.window}, best of {args.seconds:g} s, one thread; load {os.getloadavg()[0]:.1f}")
        for name, call, data in contenders:
            seconds = timed(call, args.seconds, clock)
            print(f"{name:28} {1e-6 * len(data) / seconds:10.3f} MB/s {1e9 * seconds / len(data):12.2f} ns/byte")


if __name__ == "__main__":
    main()
