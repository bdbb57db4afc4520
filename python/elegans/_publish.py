"""Publishing: what a program does, for `elegans monitor` to see."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from . import _core
from ._model import Model, PathLike


def _program() -> str:
    name = os.path.basename(sys.argv[0] if sys.argv and sys.argv[0] else "")
    return name if name not in ("", "-c", "-m") else "python"


class Publisher(_core.Publisher):
    """A page of counters that monitors of this user see; from publish(). It goes with close(), `with` or the program.

    Nothing here makes work fail: after close(), and where it could not be opened (`reason` says why), calls do nothing.
    """

    def step(self, flops: float | None = None, bytes: float | None = None) -> Step:
        """Counts what happens in a `with` block as one step, and times it; for work that no Model does.

        >>> import elegans
        >>> with elegans.publish(activity="search") as page:
        ...     with page.step(flops=1e6, bytes=4096):
        ...         _ = sum(range(1000))
        """
        return Step(self, flops, bytes)

    def __enter__(self) -> Publisher:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()


class Step:
    """A step that is under way; from Publisher.step()."""

    def __init__(self, publisher: Publisher, flops: float | None, bytes: float | None) -> None:
        self._of = (publisher, flops, bytes)
        self._began = 0.0

    def __enter__(self) -> Step:
        self._began = time.perf_counter()
        return self

    def __exit__(self, kind: Any, *exception: Any) -> None:
        publisher, flops, bytes = self._of
        if kind is None:
            publisher.add(1, time.perf_counter() - self._began, flops, bytes)


def publish(
    model: Model | PathLike | None = None,
    activity: str = "run",
    *,
    program: str | None = None,
    folder: PathLike | None = None,
) -> Publisher:
    """Shows what this program does in `elegans monitor`, until the publisher is closed.

    With a Model, its calls and the steps of its streams are counted and timed, and fit() and evaluate() tell how far they
    are; without one, or with a name of one (a file, a spec), those of all models. A monitor says what bounds them, if
    `elegans info --measure` has stored the ceilings of this machine. `program` is the script's name unless given, and
    `folder` another one than that of this user's pages.

    A call takes some 0.1 us more. Where the folder cannot be used, and with ELEGANS_PUBLISH=0 in the environment, nothing
    is published: `reason` says why, and the program goes on.

    >>> import elegans.monitoring, numpy
    >>> model = elegans.open("cfc:autoncp:28:8,in=3")
    >>> with elegans.publish(model, "doctest") as page:
    ...     for _ in range(3):
    ...         y, state = model(numpy.zeros((1, 4, 3), "float32"))
    ...     found = [p for p in elegans.monitoring.Monitor().read().programs if p.activity == "doctest"]
    >>> [int(p["steps"]) for p in found]
    [3]
    """
    if isinstance(model, _core.Model):
        label, only = model.name, model
    elif model is None or isinstance(model, (str, os.PathLike)):
        label, only = None if model is None else os.fspath(model), None
    else:
        raise TypeError(f"model: expected a Model, or the name of one, given {type(model)}")
    return Publisher(program if program is not None else _program(), activity, label, folder, only)
