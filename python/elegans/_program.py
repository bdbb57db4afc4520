"""The command `elegans`: the program of the package, which replaces this process."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def path() -> str:
    """Where the program is."""
    return str(Path(__file__).resolve().parent / "bin" / "elegans")


def main() -> None:
    program = path()
    os.execv(program, [program, *sys.argv[1:]])
