"""Progress of a training: a line in a terminal, a display that changes in a notebook, or nothing."""

from __future__ import annotations

import sys
from typing import Any, Callable

WIDTH = 79


def _clock(seconds: float | None) -> str:
    if seconds is None:
        return "?"
    whole = int(seconds + 0.5)
    return (
        f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}" if whole >= 3600 else f"{whole // 60}:{whole % 60:02}"
    )


def _done(now: dict[str, Any]) -> float:
    return float((now["epoch"] - 1 + now["batch"] / max(now["batches"], 1)) / max(now["epochs"], 1))


def _figures(now: dict[str, Any]) -> str:
    validation = "" if now["validation"] is None else f"  val {now['validation']:.4g}"
    return f"loss {now['loss']:.4g}{validation}"


def line(now: dict[str, Any]) -> str:
    """One line that says where a training is."""
    bar = "".join("#" if i < _done(now) * 16 else "." for i in range(16))
    speed = "?" if now["samples_per_second"] is None else f"{now['samples_per_second']:.0f}"
    return (
        f"epoch {now['epoch']}/{now['epochs']} [{bar}] {_figures(now)}  {speed}/s  {_clock(now['seconds_left'])} left"
    )


class Silent:
    """No progress at all. The others begin from this."""

    interval = -1.0
    """Seconds between two reports of steps; below 0: only epochs are reported."""

    def show(self, now: dict[str, Any]) -> None:
        """Called with each report."""

    def close(self) -> None:
        """Called at the end, whatever that was."""


class Lines(Silent):
    """A line for each epoch, for logs."""

    def show(self, now: dict[str, Any]) -> None:
        if now["event"] == "epoch":
            best = " *" if now["best_epoch"] == now["epoch"] else ""
            print(
                f"epoch {now['epoch']:3}/{now['epochs']}  {_figures(now)}  rate {now['rate']:.3g}{best}",
                file=sys.stderr,
            )


class Terminal(Silent):
    """One line that is written over."""

    interval = 0.1

    def show(self, now: dict[str, Any]) -> None:
        sys.stderr.write("\r" + line(now)[:WIDTH].ljust(WIDTH))
        sys.stderr.flush()

    def close(self) -> None:
        sys.stderr.write("\n")
        sys.stderr.flush()


class Notebook(Silent):
    """A display of IPython that is updated in place; it needs no widgets."""

    interval = 0.25

    def __init__(self) -> None:
        self.handle: Any = None

    def show(self, now: dict[str, Any]) -> None:
        from IPython.display import HTML, display

        text = line(now)
        shown = HTML(
            f'<progress value="{_done(now):.4f}" max="1" style="width:16em"></progress> '
            f'<code style="white-space:pre">{text}</code>'
        )
        if self.handle is None:
            self.handle = display(shown, display_id=True)
        else:
            self.handle.update(shown)


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    running = shell.get_ipython() if shell is not None and hasattr(shell, "get_ipython") else None
    return type(running).__name__ == "ZMQInteractiveShell"


KINDS: dict[str, Callable[[], Silent]] = {"lines": Lines, "terminal": Terminal, "notebook": Notebook}


def progress(wanted: bool | str) -> Silent:
    """What shows progress. True: a display in a notebook, a line in a terminal, nothing elsewhere."""
    if isinstance(wanted, str):
        if wanted not in KINDS:
            raise ValueError(f"progress: {wanted!r} is not True, False, {', '.join(map(repr, KINDS))}")
        return KINDS[wanted]()
    if wanted and _in_notebook():
        return Notebook()
    return Terminal() if wanted and sys.stderr is not None and sys.stderr.isatty() else Silent()
