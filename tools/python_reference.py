"""The reference of the Python package, made of its docstrings: python3 tools/python_reference.py [--check] FILE

Writes FILE, or with --check fails where FILE is not what would be written. The package must be importable, with torch
and scikit-learn. Signatures are those of the functions; types are in the stubs.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
import textwrap
from typing import Any, Iterator, NamedTuple

MODULES = "elegans elegans.wirings elegans.torch elegans.sklearn elegans.profiling elegans.monitoring elegans.mx elegans.tools".split()
HEAD = """# Reference of the Python package

Made of its docstrings by `tools/python_reference.py`; the examples run as tests. [Python](python.md) is where to begin.
"""


class Entry(NamedTuple):
    level: int
    title: str
    text: str
    of: Any


def is_ours(thing: Any) -> bool:
    return str(getattr(thing, "__module__", "")).split(".")[0] == "elegans"


def signature(thing: Any, is_method: bool = False) -> str:
    """(names and defaults), without the first one of a method."""
    try:
        given = list(inspect.signature(thing).parameters.values())
    except (TypeError, ValueError):
        return "(...)"
    if is_method and given and given[0].name in ("self", "cls"):
        given = given[1:]
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in given]
    return str(inspect.Signature(plain))


def names_of(module: Any) -> list[str]:
    """What a module offers, in the order of the alphabet; those of numpy in elegans.mx are only listed."""
    named = getattr(module, "__all__", None)
    if named is not None:
        return sorted(named, key=str.lower)
    own = [n for n, v in vars(module).items() if not n.startswith("_") and is_ours(v) and callable(v)]
    return sorted(own, key=str.lower)


def fields_of(kind: type) -> list[tuple[str, str]]:
    """Attributes with a text below them, in the class or its __init__; of bases, too, that are not public."""
    found: dict[str, str] = {}
    for base in reversed(own_bases(kind)):
        try:
            body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0].body  # type: ignore[attr-defined]
        except (OSError, TypeError):
            continue
        made = [part for part in body if isinstance(part, ast.FunctionDef) and part.name == "__init__"]
        for block in [body, *(function.body for function in made)]:
            for line, text in zip(block, block[1:]):
                target = line.target if isinstance(line, ast.AnnAssign) else None
                name = getattr(target, "id", None) or getattr(target, "attr", None)
                is_text = isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
                if name and not name.startswith("_") and is_text and isinstance(text.value.value, str):
                    found[name] = inspect.cleandoc(text.value.value)
    return list(found.items())


def is_hidden(kind: type) -> bool:
    """A base that readers never see: its members are those of the class."""
    return is_ours(kind) and (kind.__name__.startswith("_") or kind.__module__.startswith("elegans._core"))


def own_bases(kind: type) -> list[type]:
    """The class, and hidden ones that no public base shows."""
    shown = [base for base in kind.__mro__[1:] if is_ours(base) and not is_hidden(base)]
    return [
        base
        for base in kind.__mro__
        if base is kind or (is_hidden(base) and not any(issubclass(other, base) for other in shown))
    ]


def members(kind: type) -> Iterator[tuple[str, Any, Any]]:
    """(name, how the class holds it, what it is) of all that is public."""
    bases = own_bases(kind)
    for name in sorted({name for base in bases for name in vars(base)}):
        if name.startswith("_") and name != "__call__":
            continue
        held = inspect.getattr_static(kind, name)
        is_property = isinstance(held, property) or inspect.isgetsetdescriptor(held)
        is_method = inspect.isroutine(held) or isinstance(held, (classmethod, staticmethod))
        value = held if is_property else getattr(kind, name)
        # scikit-learn adds methods of its own to estimators
        if is_property or (is_method and (getattr(value, "__module__", None) is None or is_ours(value))):
            yield name, held, value


def class_entries(title: str, kind: type) -> Iterator[Entry]:
    public = [base.__name__ for base in kind.__mro__[1:] if is_ours(base) and not is_hidden(base)]
    text = inspect.getdoc(kind) or ""
    if public:
        text += f"\n\nHas all that `{public[0]}` has."
    fields = [f"* `{name}`: {' '.join(about.split())}" for name, about in fields_of(kind)]
    made = signature(kind) if kind.__init__ is not object.__init__ and not issubclass(kind, Exception) else ""
    yield Entry(3, title + ("" if made == "(...)" else made), "\n\n".join(filter(None, (text, "\n".join(fields)))), kind)
    for name, held, value in members(kind):
        about = inspect.getdoc(value) or ""
        if isinstance(held, property) or inspect.isgetsetdescriptor(held):
            yield Entry(4, f"{kind.__name__}.{name}", about, value)
        else:
            is_method = not isinstance(held, staticmethod)
            shown = f"{kind.__name__}{'' if name == '__call__' else '.' + name}"
            yield Entry(4, shown + signature(value, is_method), about, value)


def entries() -> Iterator[Entry]:
    shown: dict[int, str] = {}
    for path in MODULES:
        module = importlib.import_module(path)
        yield Entry(2, path, inspect.getdoc(module) or "", module)
        as_numpy = []
        for name in names_of(module):
            value = getattr(module, name)
            if inspect.ismodule(value):
                continue
            first = shown.setdefault(id(value), f"{path}.{name}")
            if first != f"{path}.{name}":
                yield Entry(3, f"{path}.{name}", f"The same as `{first}`.", value)
                continue
            if path == "elegans.mx" and not is_ours(getattr(value, "__wrapped__", value)):
                as_numpy.append(name)
            elif inspect.isclass(value):
                yield from class_entries(f"{path}.{name}", value)
            elif callable(value):
                yield Entry(3, f"{path}.{name}{signature(value)}", inspect.getdoc(value) or "", value)
            else:
                yield Entry(3, f"{path}.{name}", inspect.getdoc(type(value)) or "", value)
        if as_numpy:
            listed = "\n".join(textwrap.wrap(", ".join(f"`{name}`" for name in as_numpy), 120))
            yield Entry(3, "As in numpy", listed, None)


def prose(text: str) -> str:
    """A docstring as Markdown: examples in blocks of code."""
    out, is_code = [], False
    for line in text.splitlines():
        if line.startswith(">>>") and not is_code:
            out += ["", "```python"] if out and out[-1] else ["```python"]
            is_code = True
        elif not line and is_code:
            out.append("```")
            is_code = False
        out.append(line)
    return "\n".join(out + ["```"] * is_code)


def heading(entry: Entry) -> str:
    if entry.level == 2 or entry.of is None:
        return f"{'#' * entry.level} {entry.title}"
    name = entry.title.partition("(")[0]
    if len(entry.title) <= 100:
        return f"{'#' * entry.level} `{entry.title}`"
    lines = textwrap.wrap(entry.title, 116, subsequent_indent=" " * 4, break_long_words=False, break_on_hyphens=False)
    return f"{'#' * entry.level} `{name}`\n\n```python\n" + "\n".join(lines) + "\n```"


def reference() -> str:
    parts = [HEAD]
    for entry in entries():
        parts.append(heading(entry) + "\n\n" + prose(entry.text).strip() + "\n")
    return "\n".join(parts)


def main(arguments: list[str]) -> int:
    path, made = arguments[-1], reference()
    if arguments[:-1] == ["--check"]:
        with open(path, encoding="utf-8") as file:
            if file.read() == made:
                return 0
        print(f"{path} is not up to date: python3 tools/python_reference.py {path}", file=sys.stderr)
        return 1
    with open(path, "w", encoding="utf-8") as file:
        file.write(made)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
