#!/usr/bin/env python3
"""A random Llama of 110 million weights beside llama.cpp: one thread, decoding and prompts, interleaved rounds.

    python3 -m venv venv && venv/bin/pip install numpy gguf
    make && taskset -c 1 venv/bin/python bench/peers/decoder.py --folder /tmp/decoder --llama DIR

DIR has llama-bench, built for this processor. Both run the same files: F16, Q8_0 and Q4_0, every matrix of that
type. Decoding is 64 tokens one by one after 16, a prompt is 128 tokens at once. llama.cpp does each with and
without its flash attention, with its file mapped and read, and its quickest counts; ours is `elegans generate --no-map
--stats` and, in a line of its own, the same with the file mapped; the clock starts when the model is there. In each round the best of a few repetitions counts for both; figures are the medians
of the rounds, ratios those of the rounds' ratios. With --cpu-time, for a machine that is not quiet, both are what a
process takes of its core for more tokens, minus what it takes for few."""
import argparse
import json
import os
import statistics
import subprocess
import sys

from cells import MISSING, load, np
from products import core_time, output_of

LAYERS, WIDTH, HEADS, HIDDEN, VOCABULARY, CONTEXT = 12, 768, 12, 2048, 32000, 1024
BEFORE, DECODED, PROMPT = 16, 64, 128
KINDS = ("F16", "Q8_0", "Q4_0")


# ---- the files


def vocabulary():
    """As SentencePiece has it: three of control, 256 of bytes, letters with a space before them and without."""
    letters = [chr(i) for i in range(0x61, 0x7b)]
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{i:02X}>" for i in range(256)), "\u2581", *letters,
              *("\u2581" + c for c in letters)]
    kinds = [2, 3, 3] + [6] * 256 + [1] * (VOCABULARY - 259)
    tokens += [f"\u2581{i}" for i in range(VOCABULARY - len(tokens))]
    return tokens, [0.0] * 259 + [-float(i) for i in range(VOCABULARY - 259)], kinds


def text_of(tokens):
    """A text of so many, with the one that begins it."""
    return " ".join("abcdefghijklmnopqrstuvwxyz"[i % 26] for i in range(tokens - 1))


def shapes():
    """Rows and columns of all matrices; columns alone of the vectors."""
    yield "token_embd", (VOCABULARY, WIDTH)
    for i in range(LAYERS):
        for name, shape in (("attn_norm", (WIDTH,)), ("attn_q", (WIDTH, WIDTH)), ("attn_k", (WIDTH, WIDTH)),
                            ("attn_v", (WIDTH, WIDTH)), ("attn_output", (WIDTH, WIDTH)), ("ffn_norm", (WIDTH,)),
                            ("ffn_gate", (HIDDEN, WIDTH)), ("ffn_up", (HIDDEN, WIDTH)), ("ffn_down", (WIDTH, HIDDEN))):
            yield f"blk.{i}.{name}", shape
    yield "output_norm", (WIDTH,)


def write(gguf, path, kind):
    kind = getattr(gguf.GGMLQuantizationType, kind)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("random")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(VOCABULARY)
    tokens, scores, kinds = vocabulary()
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores(scores)
    writer.add_token_types(kinds)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    draw = np.random.default_rng(1)
    for name, shape in shapes():
        if len(shape) == 1:
            writer.add_tensor(name + ".weight", draw.uniform(0.5, 1.5, shape).astype(np.float32))
        else:
            w = draw.standard_normal(shape, np.float32) / shape[1] ** 0.5
            writer.add_tensor(name + ".weight", gguf.quants.quantize(w, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def files(folder):
    """{kind: file}; those that are there from another time stay."""
    os.makedirs(folder, exist_ok=True)
    made = {kind: os.path.join(folder, f"random-110m-{kind.lower()}.gguf") for kind in KINDS}
    for kind, path in made.items():
        if not os.path.exists(path):
            gguf = load("gguf")
            if not gguf:
                sys.exit(f"decoder.py: needs {', '.join(MISSING)}")
            print(f"writes {path}", file=sys.stderr)
            write(gguf, path + ".part", kind)
            os.rename(path + ".part", path)
    return made


# ---- who runs


class Llama:
    """llama-bench, which warms up before each test"""
    name = "llama.cpp"

    def __init__(self, folder, repeat, cpu_time):
        self.program = os.path.join(folder, "llama-bench")
        if not os.path.exists(self.program):
            sys.exit(f"decoder.py: no llama-bench in '{folder}'")
        self.repeat, self.best, self.about = repeat, self.core if cpu_time else self.wall, ""

    def command(self, path, repeat, attention, mapped, options):
        return [self.program, "-m", path, "-t", "1", "-r", str(repeat), "-fa", attention, "-mmp", mapped, "-o", "json",
                *options]

    def wall(self, path, _, *options):
        tests = json.loads(output_of(self.command(path, self.repeat, "0,1", "0,1", options)))
        self.about = f"llama.cpp {tests[0]['build_commit']}, {tests[0]['cpu_info']}"
        return max(speed for test in tests for speed in test["samples_ts"])

    def core(self, path, tokens, *options):
        def speed(attention, mapped):
            few, more = (core_time(self.command(path, n, attention, mapped, options)) for n in (1, 1 + self.repeat))
            return self.repeat * tokens / (more - few)
        return max(speed(attention, mapped) for attention in "01" for mapped in "01")

    def run(self, path):
        """Tokens in a second: decoding, prompt."""
        return (self.best(path, DECODED, "-p", "0", "-n", str(DECODED), "-d", str(BEFORE)),
                self.best(path, PROMPT, "-p", str(PROMPT), "-n", "0"))


class Ours:
    def __init__(self, program, repeat, cpu_time, mapped=False):
        self.program, self.repeat, self.run = program, repeat, self.core if cpu_time else self.wall
        self.name, self.options = ("mapped", []) if mapped else ("ours", ["--no-map"])

    def command(self, path, prompt, count):
        return [self.program, "generate", path, "-p", text_of(prompt), "-n", str(count), "--temp", "0",
                "--ignore-end", "--stats", "--json", "--threads", "1", *self.options]

    def speed(self, path, part, prompt, count):
        """The best of the repetitions, by the program's clock."""
        speeds = []
        for _ in range(self.repeat):
            stats = json.loads(output_of(self.command(path, prompt, count)))
            if stats["prompt"]["tokens"] != prompt:
                raise ValueError(f"the prompt is {stats['prompt']['tokens']} tokens, not {prompt}")
            speeds.append(stats[part]["tokens"] / stats[part]["seconds"])
        return max(speeds)

    def wall(self, path):
        """The first token comes of the prompt, so it takes one more to decode as many."""
        return self.speed(path, "decode", BEFORE, 1 + DECODED), self.speed(path, "prompt", PROMPT, 1)

    def core(self, path):
        def least(prompt, count):
            return min(core_time(self.command(path, prompt, count)) for _ in range(self.repeat))
        decode = DECODED / (least(BEFORE, 1 + DECODED) - least(BEFORE, 1))
        return decode, (PROMPT - BEFORE) / (least(PROMPT, 1) - least(BEFORE, 1))


def ours_open(program, path, repeat, cpu_time):
    """None where the program is not built, or cannot do this yet."""
    try:
        ours = Ours(program, repeat, cpu_time)
        ours.speed(path, "prompt", BEFORE, 1)
        return ours
    except subprocess.CalledProcessError as reason:
        MISSING.append(f"ours ({(reason.stderr.splitlines() or [str(reason)])[0][:90]})")
    except (OSError, ValueError, KeyError) as reason:
        MISSING.append(f"ours ({reason})")
    return None


# ---- the race


def report(speeds):
    """Speeds are {kind: {who: [(decode, prompt) of each round]}}."""
    rows = []
    print(f"{'':6} {'':10} {'decode/s':>9} {'spread':>7} {'ours is':>8} {'prompt/s':>9} {'spread':>7} {'ours is':>8}")
    for kind, contenders in speeds.items():
        for name, rounds in contenders.items():
            line, row = f"{kind:6} {name:10}", {"kind": kind, "who": name}
            for part, title in enumerate(("decode", "prompt")):
                values = [r[part] for r in rounds]
                middle = statistics.median(values)
                paired = contenders.get("ours") if name != "ours" else None
                ratio = statistics.median(o[part] / v for o, v in zip(paired, values)) if paired else None
                spread = (max(values) - min(values)) / middle
                line += f" {middle:9.1f} {100 * spread:6.1f}% {'' if ratio is None else format(ratio, '7.2f') + 'x':>8}"
                row[title] = {"tokens_per_second": middle, "spread": spread, "ratio": ratio, "rounds": values}
            rows.append(row)
            print(line)
    return rows


def arguments():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", required=True, help="where the models go, 400 MB")
    parser.add_argument("--llama", help="the folder of llama-bench; without it, ours alone")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=3, help="in each round, of which the best counts")
    parser.add_argument("--cpu-time", action="store_true", help="of the core, not of the clock on the wall")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--elegans", default=os.path.join(here, "..", "..", "build", "elegans"))
    parser.add_argument("--json", help="write the figures there, too")
    return parser.parse_args()


def main():
    args = arguments()
    models = {kind: path for kind, path in files(args.folder).items() if kind in args.kinds.split(",")}
    llama = Llama(args.llama, args.repeat, args.cpu_time) if args.llama else None
    ours = ours_open(args.elegans, next(iter(models.values())), args.repeat, args.cpu_time)
    mapped = Ours(args.elegans, args.repeat, args.cpu_time, True) if ours else None
    runners = [runner for runner in (ours, llama, mapped) if runner]
    for missing in sorted(set(MISSING)):
        print(f"missing: {missing}")
    load1, speeds = os.getloadavg()[0], {kind: {r.name: [] for r in runners} for kind in models}
    for i in range(args.rounds):
        print(f"round {i + 1} of {args.rounds}", end="\r", file=sys.stderr, flush=True)
        for kind, path in models.items():
            for runner in runners:
                speeds[kind][runner.name].append(runner.run(path))
    if llama and llama.about:
        print(llama.about)
    print(f"tokens in a second{' of the core' * args.cpu_time}, one thread: {DECODED} after {BEFORE}; a prompt of "
          f"{PROMPT}; medians of {args.rounds} interleaved rounds; load {load1:.1f}\n")
    rows = report(speeds)
    if args.json:
        with open(args.json, "w") as file:
            json.dump({"llama": llama.about if llama else None, "missing": sorted(set(MISSING)), "load": load1,
                       "cpu_time": args.cpu_time, "rounds": args.rounds, "results": rows}, file, indent=1)


if __name__ == "__main__":
    main()
