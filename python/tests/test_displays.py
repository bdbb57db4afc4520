"""What notebooks show: well-formed, styled by nothing but itself, and of known provenance."""

from __future__ import annotations

import glob
import json
import os
import re
import xml.etree.ElementTree as xml

import pytest
from displays import displays

PROVENANCE = re.compile(r"\b(measured|counted|simulated|modelled|spec|table|unavailable)\b")
WITHOUT_FIGURES = ("a wiring before build()", "a model", "a layer before its first call", "validation", "a wiring drawn")
NOTEBOOKS = sorted(glob.glob(os.path.join(os.path.dirname(__file__), "../../examples/notebooks/*.ipynb")))


def test_every_display() -> None:
    shown = 0
    for name, thing in displays():
        page = thing._repr_html_()
        xml.fromstring(f"<div>{page}</div>")
        assert "<style" not in page and "<script" not in page, name  # they would be those of the whole notebook
        assert name in WITHOUT_FIGURES or PROVENANCE.search(page), (name, page)
        if hasattr(thing, "_repr_svg_") and thing._repr_svg_() is not None:
            assert xml.fromstring(thing._repr_svg_()).tag.endswith("svg"), name
        shown += 1
    assert shown > 20


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[os.path.basename(path) for path in NOTEBOOKS])
def test_notebooks_are_stored_without_outputs(path: str) -> None:
    """`sh tools/python.sh notebooks` executes them."""
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    code = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
    assert code and not any(cell["outputs"] or cell["execution_count"] for cell in code)


def test_there_are_notebooks() -> None:
    assert len(NOTEBOOKS) == 3
