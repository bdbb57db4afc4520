#!/usr/bin/env python3
"""Do the tests of the AMX kernels notice mistakes? Each mutant has one: a field, an offset, a register or a step of a loop is
wrong. It is compiled, linked with what was built, and must fail its tests.

    tools/mutants.py BUILD FOLDER [CC]     BUILD: where the library and the tests are built

All of them take five minutes; ONE_OF=3 tries every third.
"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys

SOURCE = "src/kernels/amx"
TESTS = ["test_amx", "test_amx_kernels"]
HELPERS = ["main", "tile_model", "tile_gemm_halves", "tile_gemm_integer", "test_kernels", "test_gemm_helper", "test_models"]
# every change of its kind is made; of the second list, one of three
FIELDS = [
    (r"(EG__AMX_FIELD\([^,()]*(?:\([^()]*\))?[^,()]*, )(\d+)(\))", lambda m: f"{m[1]}{int(m[2]) + 1}{m[3]}"),
    (r"(X\(\w+, )(\d+)(\))", lambda m: f"{m[1]}{int(m[2]) + 1}{m[3]}"),
    (r"(\.(?:to|x|y|z|x_value|type|alu|value) = )([^,};\n]+)(?=[,};])", lambda m: f"{m[1]}1 + ({m[2]})"),
    (r"(\.(?:pair|skip_z|z_float|x_signed|y_signed) = )([^,};\n]+)(?=[,};])", lambda m: f"{m[1]}!({m[2]})"),
]
REST = [
    (r" \+ ", lambda m: " - "),
    (r" \* (?!=|\w+\))", lambda m: " + "),
    (r" / ", lambda m: " * "),
    (r" % ", lambda m: " / "),
    (r" < ", lambda m: " + 1 < "),
    (r" == ", lambda m: " != "),
    (r" && ", lambda m: " || "),
    (r"\? (\d) :", lambda m: f"? {int(m[1]) + 1} :"),
]


def code(text):
    """Where a text may be changed: not in comments, includes, what clears padding that is never stored, sizes of scratch memory,
    of which more does no harm, and the choice among loops that compute the same."""
    allowed = [True] * len(text)
    for pattern in (r"(?s)/\*.*?\*/", r"(?m)^#\s*(include|if|elif|ifndef).*$", r"(?s)\nsize_t eg__scratch_.*?\n}\n",
                    r"(?s)#if EG__AMX_WORDS.*?#else", r"(?s)static bool fits.*?\n}\n",
                    r"(?s)static void multiply.*?\n}\n", r"(?m)^.*memset.*$", r"(?m)^#define EG__AMX_EMIT.*$",
                    r"(?s)static size_t (?:depth|height)_of.*?}\n"):
        for m in re.finditer(pattern, text):
            allowed[m.start():m.end()] = [False] * (m.end() - m.start())
    return allowed


def mutants():
    files = [n for n in sorted(os.listdir(SOURCE)) if not n.startswith(("amx_model", "amx_switch"))]
    rest = 0
    for name in files:
        text = open(f"{SOURCE}/{name}").read()
        allowed = code(text)
        for patterns, every in ((FIELDS, 1), (REST, 3)):
            for pattern, change in patterns:
                for m in re.finditer(pattern, text):
                    rest += every > 1
                    if not all(allowed[m.start():m.end()]) or (every > 1 and rest % every):
                        continue
                    line = text.count("\n", 0, m.start()) + 1
                    new = change(m)
                    yield name, line, m[0], new, text[:m.start()] + new + text[m.end():]


def attempt(folder, changed, kept, library, cc, area):
    """Builds and runs the tests of an area: invalid, caught or survived."""
    command = [*cc, "-std=c11", "-O1", "-w", "-ffp-contract=off", "-pthread", "-D_GNU_SOURCE",
               f'-DELEGANS_SOURCE="{os.getcwd()}"', f"-I{folder}", "-Iinclude", "-Isrc", "-Itests", *changed, *kept,
               library, *os.environ.get("LIBS", "").split(), "-lm", "-o", f"{folder}/tests"]
    built = subprocess.run(command, capture_output=True, text=True)
    if built.returncode:
        return "invalid"
    try:
        ran = subprocess.run([f"{folder}/tests", area], capture_output=True, timeout=120)
        return "caught" if ran.returncode else "survived"
    except subprocess.TimeoutExpired:
        return "caught"


def run(index, mutant, base, to, cc):
    name, line, old, new, text = mutant
    folder, library = f"{to}/{index}", f"{to}/library.a"
    shutil.copytree(SOURCE, f"{folder}/kernels/amx", dirs_exist_ok=True)
    with open(f"{folder}/kernels/amx/{name}", "w") as f:
        f.write(text)
    header = name.endswith(".h")
    kernels = [f"{folder}/kernels/amx/{n}" for n in os.listdir(SOURCE)
               if n.endswith(".c") and (header or n == name)]
    helpers = [f"{base}/obj/tests/{n}.o" for n in HELPERS]
    result = "survived"
    if header:  # most are caught by what is cheap: the tables of words and operands
        result = attempt(folder, [f"tests/{TESTS[0]}.c"], helpers, library, cc, "amx.")
    if result == "survived":
        tests = [f"{base}/obj/tests/{n}.o" for n in TESTS]
        result = attempt(folder, kernels, helpers + tests, library, cc, "amx")
    shutil.rmtree(folder)
    return result, f"{name}:{line}: '{old.strip()}' -> '{new.strip()}'"


def main():
    base, to = sys.argv[1], sys.argv[2]
    cc = (sys.argv[3] if len(sys.argv) > 3 else "cc").split()
    one_of = int(os.environ.get("ONE_OF", "1"))
    os.makedirs(to, exist_ok=True)
    original = ("amx.h", 0, "nothing", "nothing", open(f"{SOURCE}/amx.h").read())
    # linking is most of the time: without what a debugger would need
    subprocess.run(["strip", "-g", "-o", f"{to}/library.a", f"{base}/libelegans.a"], check=True)
    result, _ = run("original", original, base, to, cc)
    if result != "survived":
        sys.exit(f"the kernels as they are: {result}")
    count = {"caught": 0, "survived": 0, "invalid": 0}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(run, i, m, base, to, cc) for i, m in enumerate(mutants()) if i % one_of == 0]
        for job in jobs:
            result, what = job.result()
            count[result] += 1
            if result != "caught":
                print(result, what, flush=True)
    valid = count["caught"] + count["survived"]
    print(f"{count['caught']} of {valid} mutants caught ({count['invalid']} do not compile)")
    sys.exit(valid < 100 // one_of or count["caught"] < 0.95 * valid)


main()
