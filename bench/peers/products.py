"""What int8.py and int4.py share: our products through `elegans bench gemm`, rounds, one table; and programs' times."""
import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time

from cells import MISSING, np, timed


BITS = {"gemm_f32": 32, "gemm_f16": 16, "gemm_bf16": 16, "gemm_i8": 8, "gemm_i8i8": 8, "gemm_i4": 4, "gemm_i4i8": 4,
        "gemm_i4i8 symmetric": 4, "gemm_i8i8 symmetric": 8}


WAYS = {"gemm_f32": ["f32"], "gemm_f16": ["f16"], "gemm_bf16": ["bf16"], "gemm_i8": ["i8"], "gemm_i4": ["i4"],
        "gemm_i8i8": ["i8", "--integers"], "gemm_i4i8": ["i4", "--integers"],
        "gemm_i4i8 symmetric": ["i4", "--integers", "--symmetric"],
        "gemm_i8i8 symmetric": ["i8", "--integers", "--symmetric"]}


def output_of(command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def core_time(command):
    """Seconds that a process takes of its core, whoever else is there."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output_of(command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class Ours:
    """`elegans bench gemm --json` of one size: {(operation, block): seconds}."""

    def __init__(self, program):
        self.program = program

    def measure(self, m, n, k, wanted):
        times = {}
        for operation, block in sorted(wanted):
            command = [self.program, "bench", "gemm", "--json", "--threads", "1", "--size", f"{m}x{n}x{k}", "--dtype"]
            command += WAYS[operation] + (["--block", str(block)] if block else [])
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            times[operation, block] = json.loads(done.stdout)["time"]["value"]
        return times

    def describe(self):
        text = subprocess.run([self.program, "version"], check=True, capture_output=True, text=True).stdout
        return text.splitlines()[0].strip()


def ours_open(program, size):
    """None where the program is not built, or is one that cannot do this."""
    ours = Ours(program)
    try:
        ours.measure(*size, {("gemm_i8", 0)})
        return ours
    except subprocess.CalledProcessError as reason:
        MISSING.append(f"ours ({(reason.stderr.splitlines() or [str(reason)])[0][:90]})")
    except (OSError, ValueError, KeyError, TypeError) as reason:
        MISSING.append(f"ours ({reason})")
    return None


class Peer:
    """Somebody's way to compute a product, and which of our operations is the same."""

    def __init__(self, name, call, bits, rival):
        self.name, self.call, self.bits, self.rival, self.times = name, call, bits, rival, []


class Race:
    """All who compute one product of m rows with n x k weights. `bits` of a weight count its scales, too."""

    def __init__(self, m, n, k):
        self.size, self.peers, self.ours = (m, n, k), [], {}
        self.title = f"{m} x {n} x {k}"

    def add(self, name, call, bits, rival):
        self.peers.append(Peer(name, call, bits, rival))

    def run(self, ours, measure):
        if ours:
            for key, seconds in ours.measure(*self.size, {peer.rival for peer in self.peers}).items():
                self.ours.setdefault(key, []).append(seconds)
        for peer in self.peers:
            peer.times.append(measure(peer.call))

    def rival(self, operation, block):
        """Of the same block, else our quickest; None where there is none."""
        found = {b: t for (name, b), t in self.ours.items() if name == operation}
        return found.get(block) or min(found.values(), key=statistics.median, default=None)

    def lines(self):
        """(name, times, bits, ratio to ours)"""
        wanted = {peer.rival[0] for peer in self.peers}
        for (operation, block), times in sorted(self.ours.items()):
            if operation in wanted:
                bits = BITS[operation] + (32 / block if block else 0)
                yield f"ours {operation}" + (f" /{block}" if block else ""), times, bits, None
        for peer in self.peers:
            mine = self.rival(*peer.rival)
            ratio = statistics.median(p / o for p, o in zip(peer.times, mine)) if mine else None
            yield peer.name, peer.times, peer.bits, ratio


def error_of(got, expected):
    """Root mean square of the difference, as a part of that of what was expected."""
    got, expected = np.asarray(got, np.float64), np.asarray(expected, np.float64)
    return float(np.sqrt(np.mean((got.reshape(expected.shape) - expected) ** 2) / np.mean(expected ** 2)))


def check(who, got, expected, limit):
    error = error_of(got, expected)
    if not error < limit:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {who} is {100 * error:.2f} % beside the exact product")


def report(races):
    rows = []
    print(f"{'m x n x k':17} {'':26} {'us':>10} {'spread':>7} {'GOPS':>7} {'Gweights/s':>10} {'GB/s':>6} "
          f"{'ours is':>8}")
    for race in races:
        m, n, k = race.size
        title = race.title
        for name, times, bits, ratio in race.lines():
            best = statistics.median(times)
            spread = (max(times) - min(times)) / best
            row = {"m": m, "n": n, "k": k, "who": name, "us": best * 1e6, "spread": spread,
                   "gops": 2e-9 * m * n * k / best, "gweights": 1e-9 * n * k / best,
                   "gbytes": 1e-9 * n * k * bits / 8 / best, "ratio": ratio,
                   "rounds": [t * 1e6 for t in times]}
            rows.append(row)
            print(f"{title:17} {name:26} {row['us']:10.1f} {100 * spread:6.1f}% {row['gops']:7.1f} "
                  f"{row['gweights']:10.2f} {row['gbytes']:6.1f} "
                  f"{'' if ratio is None else format(ratio, '7.2f') + 'x':>8}")
            title = ""
    return rows


def arguments(about):
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.3, help="of each peer in each round")
    parser.add_argument("--case", default="", help="only those whose m x n x k contains it")
    parser.add_argument("--cpu-time", action="store_true", help="peers: of the process, not of the clock on the wall")
    parser.add_argument("--elegans", default=os.path.join(here, "..", "..", "build", "elegans"))
    parser.add_argument("--json", help="write the figures there, too")
    return parser


def race_all(races, args, packages):
    """Rounds over all races, the table, the file."""
    from importlib.metadata import version
    races = [race for race in races if args.case in race.title]
    if not any(race.peers for race in races):
        sys.exit(f"{os.path.basename(sys.argv[0])}: no peer for '{args.case}'; missing: {', '.join(MISSING) or 'none'}")
    ours = ours_open(args.elegans, races[0].size)
    about = ([ours.describe()] if ours else []) + [f"python {platform.python_version()}"] + [
        f"{name} {version(name)}" for name in packages]
    print(", ".join(about))
    for missing in sorted(set(MISSING)):
        print(f"missing: {missing}")
    load1 = os.getloadavg()[0]
    print(f"medians of {args.rounds} interleaved rounds, one thread, warm, "
          f"{'time of the process' if args.cpu_time else 'wall clock'}; load {load1:.1f}\n")
    clock = time.process_time if args.cpu_time else time.perf_counter
    for i in range(args.rounds):
        print(f"round {i + 1} of {args.rounds}", end="\r", file=sys.stderr, flush=True)
        for race in races:
            race.run(ours, lambda call: timed(call, args.seconds, clock))
    rows = report(races)
    if args.json:
        with open(args.json, "w") as file:
            json.dump({"versions": about, "missing": sorted(set(MISSING)), "rounds": args.rounds, "load": load1,
                       "results": rows}, file, indent=1)
