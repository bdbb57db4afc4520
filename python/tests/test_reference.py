"""The reference is what the docstrings say, everything public has one, and the examples of the extension run."""

from __future__ import annotations

import doctest
import importlib.util
import inspect
import os
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("sklearn")
ROOT = os.path.join(os.path.dirname(__file__), "../..")


def tool() -> Any:
    spec = importlib.util.spec_from_file_location("reference", os.path.join(ROOT, "tools/python_reference.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_up_to_date() -> None:
    with open(os.path.join(ROOT, "docs/python-reference.md"), encoding="utf-8") as file:
        assert file.read() == tool().reference(), "run: python3 tools/python_reference.py docs/python-reference.md"


def test_everything_public_is_described() -> None:
    found = list(tool().entries())
    assert len(found) > 400
    assert [entry.title for entry in found if len(entry.text) < 8] == []


def test_examples_of_the_extension() -> None:
    """Those of Python files are run by pytest --doctest-modules."""
    runner, seen = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS), set()
    for entry in tool().entries():
        is_python = inspect.ismodule(entry.of) or inspect.isfunction(inspect.unwrap(entry.of)) or inspect.isclass(entry.of)
        if is_python or isinstance(entry.of, property) or entry.text in seen or ">>>" not in entry.text:
            continue
        seen.add(entry.text)
        runner.run(doctest.DocTestParser().get_doctest(entry.text, {}, entry.title, None, 0))
    assert runner.failures == 0 and len(seen) >= 12, (runner.failures, len(seen))
