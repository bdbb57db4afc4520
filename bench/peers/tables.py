#!/usr/bin/env python3
"""Tables as text, ours beside pandas, pyarrow and numpy: one thread, reading and writing.

    python3 -m venv venv && venv/bin/pip install numpy pandas pyarrow
    make && taskset -c 1 venv/bin/python bench/peers/tables.py

The table has floats of [-1, 1) with as many digits as they need to be read back: pandas must find the values in
what we wrote. Times are those of the processor, so that others on the machine count for little."""
import argparse
import ctypes as c
import os
import sys
import tempfile
import time

from cells import MISSING, load, np, ours, timed


class Table(c.Structure):
    _fields_ = [("rows", c.c_uint64), ("columns", c.c_uint64), ("names", c.POINTER(c.c_char_p)),
                ("values", c.POINTER(c.c_double)), ("rest", c.c_void_p * 4)]


class CsvOptions(c.Structure):
    _fields_ = [("size", c.c_size_t), ("digits", c.c_uint), ("single", c.c_int)]


def our_calls(path, values, names, file):
    """(write, read)"""
    library = ours.Library(path)
    texts = (c.c_char_p * len(names))(*[name.encode() for name in names])
    wide = np.ascontiguousarray(values, np.float64)
    table = Table(rows=len(values), columns=len(names), names=texts, values=wide.ctypes.data_as(c.POINTER(c.c_double)))
    options = CsvOptions(size=c.sizeof(CsvOptions), single=1)

    def write():
        library.call("eg_csv_write", library.context, file.encode(), c.byref(table), c.byref(options))

    def read():
        out = Table()
        library.call("eg_csv_read", library.context, file.encode(), c.byref(out))
        last = out.values[len(values) * len(names) - 1]
        library.library.eg_table_release(library.context, c.byref(out))
        if np.float32(last) != values[-1, -1]:
            sys.exit(f"tables.py: ours reads {last!r} where {values[-1, -1]!r} was written")
    return write, read


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100000)
    parser.add_argument("--columns", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--library", default=os.path.join(here, "..", "..", "build", "libelegans.so"))
    args = parser.parse_args()
    pandas, arrow, arrow_csv = load("pandas"), load("pyarrow"), load("pyarrow.csv")
    values = (2 * np.random.default_rng(7).random((args.rows, args.columns)) - 1).astype(np.float32)
    names = [f"y{i}" for i in range(args.columns)]
    with tempfile.TemporaryDirectory() as folder:
        file, other = os.path.join(folder, "a.csv"), os.path.join(folder, "b.csv")
        write, read = our_calls(args.library, values, names, file)
        write()
        read()
        megabytes = 1e-6 * os.path.getsize(file)
        contenders = [("ours writes", write), ("ours reads", read)]
        if pandas:
            frame = pandas.DataFrame(values, columns=names)
            if not np.array_equal(pandas.read_csv(file).to_numpy(np.float32), values):
                sys.exit("tables.py: what was written is not what pandas reads")
            contenders += [("pandas writes", lambda: frame.to_csv(other, index=False)),
                           ("pandas reads", lambda: pandas.read_csv(file))]
        if arrow and arrow_csv:
            arrow.set_cpu_count(1)
            arrays = arrow.table({name: values[:, i] for i, name in enumerate(names)})
            one = arrow_csv.ReadOptions(use_threads=False)
            contenders += [("pyarrow writes", lambda: arrow_csv.write_csv(arrays, other)),
                           ("pyarrow reads", lambda: arrow_csv.read_csv(file, read_options=one))]
        contenders += [("numpy writes (savetxt)", lambda: np.savetxt(other, values, delimiter=",", fmt="%.9g")),
                       ("numpy reads (loadtxt)", lambda: np.loadtxt(file, delimiter=",", skiprows=1))]
        for missing in MISSING:
            print(f"missing: {missing}")
        print(f"{args.rows} x {args.columns}, {megabytes:.1f} MB; load {os.getloadavg()[0]:.1f}")
        for name, call in contenders:
            seconds = timed(call, args.seconds, time.process_time)
            print(f"{name:28} {megabytes / seconds:8.0f} MB/s {1e9 * seconds / values.size:10.1f} ns a number")


if __name__ == "__main__":
    main()
