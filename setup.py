"""Builds the Python package: `make` makes the library and the program, the compiler of Python makes the extension.

What the library needs (hwloc, jansson, ...) is found as `make` finds it: `sh tools/deps.sh build` installs it.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = Path(__file__).resolve().parent
BUILD = os.environ.get("ELEGANS_BUILD", "build")
MACOS = os.environ.get("ELEGANS_TARGET", sys.platform).startswith(("darwin", "macos"))


def version():
    return re.search(r"^VERSION := (\S+)", (HERE / "Makefile").read_text(), re.M).group(1)


def shared_name():
    """The library as programs look for it: with the number of its interface."""
    return "libelegans.0.dylib" if MACOS else "libelegans.so.0"


class BuildWithLibrary(build_ext):
    def run(self):
        make = [*shlex.split(os.environ.get("MAKE", "make")), "-C", str(HERE), f"-j{os.cpu_count() or 1}", f"B={BUILD}"]
        if not os.environ.get("ELEGANS_TARGET"):
            try:
                subprocess.check_call(["sh", "tools/deps.sh", "build"], cwd=HERE)
            except subprocess.CalledProcessError:
                sys.exit("elegans: libraries are missing, see above")
            subprocess.check_call([*make, "lib", f"{BUILD}/elegans"])
        super().run()
        package = HERE / "python" / "elegans" if self.inplace else Path(self.build_lib) / "elegans"
        for folder, source, name in (("lib", shared_name(), shared_name()), ("bin", "elegans", "elegans")):
            (package / folder).mkdir(parents=True, exist_ok=True)
            shutil.copy2((HERE / BUILD / source).resolve(), package / folder / name)

    def get_source_files(self):
        return [str(path) for extension in self.extensions for path in extension.sources]


core = Extension(
    "elegans._core",
    sorted(str(path.relative_to(HERE)) for path in (HERE / "python" / "core").glob("*.c")),
    depends=sorted(str(path.relative_to(HERE)) for path in (HERE / "python" / "core").glob("*.h")),
    include_dirs=["include"],
    library_dirs=[BUILD],
    libraries=["elegans"],
    extra_compile_args=["-std=c11", "-O2", "-fvisibility=hidden", "-Wall", "-Wextra", "-Wno-cast-function-type"],
    extra_link_args=["-Wl,-rpath," + ("@loader_path" if MACOS else "$ORIGIN") + "/lib"],
    py_limited_api=True,
)

setup(
    version=version(),
    package_dir={"": "python"},
    packages=["elegans", "elegans.profiling"],
    package_data={"elegans": ["py.typed", "*.pyi"]},
    ext_modules=[core],
    cmdclass={"build_ext": BuildWithLibrary},
    options={"bdist_wheel": {"py_limited_api": "cp39"}},
    zip_safe=False,
)
