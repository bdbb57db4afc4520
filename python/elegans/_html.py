"""Tables and pictures of HTML, as notebooks show them: legible in light and dark, styled by nothing but themselves."""

from __future__ import annotations

import base64
import html
from typing import Any, Iterable, Sequence

_LEFT, _RIGHT = "text-align:left", "text-align:right;font-variant-numeric:tabular-nums"


def text(value: Any) -> str:
    """Any value as text of a page."""
    return html.escape(str(value))


def title(name: Any, about: Any = "") -> str:
    """A line that says what follows."""
    return f"<p><b>{text(name)}</b>{': ' + text(about) if about else ''}</p>"


def table(
    rows: Iterable[Sequence[Any]], head: Sequence[str] = (), right: Sequence[int] = (), titles: Sequence[str] = ()
) -> str:
    """Rows of cells: the first cell names its row, columns of `right` are numbers, `titles` are for the pointer."""

    def cell(index: int, value: Any, tag: str) -> str:
        style = _RIGHT if index in right else _LEFT
        return f"<{tag} style='{style}'>{text(value)}</{tag}>"

    def row(index: int, cells: Sequence[Any]) -> str:
        hint = titles[index] if index < len(titles) else ""
        begin = f"<tr title='{html.escape(hint, quote=True)}'>" if hint else "<tr>"
        return begin + "".join(cell(i, value, "td" if i else "th") for i, value in enumerate(cells)) + "</tr>"

    body = "".join(row(index, cells) for index, cells in enumerate(rows))
    top = f"<thead><tr>{''.join(cell(i, name, 'th') for i, name in enumerate(head))}</tr></thead>" if head else ""
    return f"<table>{top}<tbody>{body}</tbody></table>" if body else ""


def image(svg: str, alt: str) -> str:
    """A picture of the library. As an image, since its styles would be those of the whole page within one."""
    picture = base64.b64encode(svg.encode()).decode()
    about = f"alt='{html.escape(alt, quote=True)}' style='max-width:min(100%,900px)'"
    return f"<p><img {about} src='data:image/svg+xml;base64,{picture}'/></p>"
