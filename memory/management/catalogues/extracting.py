"""Find every sentence of the source that people are to read in their language, without any program beside Python."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from django.conf import settings
from django.utils.translation.template import templatize

import memory.errors
from memory.errors import LociError
from memory.management.catalogues.composing import Module, texts_of

PACKAGES: Final = ("memory", "telemetry", "config")
PROGRAMS: Final = frozenset({"api", "management"})
"""Parts that no page is made by: what they say with values in it stays English."""
FINDING: Final = "Finding"
DESCRIPTIONS: Final[dict[str, slice]] = {"Stay": slice(None), "OwnerSetting": slice(1, 2), "Plan": slice(1)}
"""What is written in English elsewhere too, and which arguments say it: what a purge leaves, settings, schedules."""
ENVIRONMENT: Final = "env"
"""Where settings of the environment are declared, each with its meaning, in sections."""
DETAIL: Final = 2
"""Where what a check found and what to do about it begin among its arguments."""
# Which arguments hold context, sentence and its form for many; None where a function takes none.
FUNCTIONS: Final[dict[str, tuple[int | None, int, int | None]]] = {
    "_": (None, 0, None),
    "gettext": (None, 0, None),
    "gettext_lazy": (None, 0, None),
    "gettext_noop": (None, 0, None),
    "ngettext": (None, 0, 1),
    "ngettext_lazy": (None, 0, 1),
    "pgettext": (0, 1, None),
    "pgettext_lazy": (0, 1, None),
    "npgettext": (0, 1, 2),
    "npgettext_lazy": (0, 1, 2),
}
LITERAL: Final = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
FURTHER: Final = rf"(?:\s*,\s*u?({LITERAL}))?"
CALL: Final = re.compile(rf"\b(_|n?p?gettext)\(\s*u?({LITERAL}){FURTHER}{FURTHER}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Sentence:
    """What a catalogue is asked for: a sentence, its form for many, and what tells it from the same words elsewhere."""

    text: str
    many: str | None = None
    context: str | None = None


def sentences() -> dict[Sentence, list[str]]:
    """Give every sentence and the files in which it stands, in the order of files and lines."""
    root = Path(settings.BASE_DIR)
    found: dict[Sentence, list[str]] = {}
    for path in _sources(root):
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".html":
            parts = of_template(text, str(path))
        else:
            parts = of_module(text, for_pages=PROGRAMS.isdisjoint(path.relative_to(root).parts))
        for sentence in parts:
            places = found.setdefault(sentence, [])
            place = path.relative_to(root).as_posix()
            if sentence.text and place not in places:
                places.append(place)
    return {sentence: places for sentence, places in found.items() if places}


def _sources(root: Path) -> Iterator[Path]:
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            if "migrations" not in path.parts:
                yield path
    yield from sorted((root / "templates").rglob("*.html"))


def of_module(source: str, *, for_pages: bool = True) -> Iterator[Sentence]:
    """Find the sentences of a Python module: marked ones, and those of errors, checks and receipts, for pages.

    Args:
        source: the module.
        for_pages: whether a page may show what its errors and checks say with values in it.
    """
    tree = ast.parse(source)
    aliases = _aliases(tree)
    module = Module(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            name = aliases.get(node.func.id, node.func.id)
            if name in FUNCTIONS:
                yield from _chosen(name, [_text(argument) for argument in node.args])
            else:
                yield from _said(name, node, module, for_pages)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield from _declared(node, node.func)
        elif isinstance(node, ast.ClassDef) and _is_error_class(node) and (documented := ast.get_docstring(node)):
            yield Sentence(documented.strip().splitlines()[0])


def _said(name: str, node: ast.Call, module: Module, for_pages: bool) -> Iterator[Sentence]:
    """Give what an error or a check says."""
    if name in DESCRIPTIONS:
        yield from (Sentence(text) for one in node.args[DESCRIPTIONS[name]] for text in [_constants(one)] if text)
        return
    said = node.args[DETAIL:] if name == FINDING else node.args[:1] if _is_error(name) else []
    if not for_pages:
        yield from (Sentence(text) for one in said if name != FINDING and (text := _text(one)))
        return
    function = module.around(node) if said else None
    for one in said:
        yield from (Sentence(text, None, context) for text, context in texts_of(one, module, function))


def _declared(node: ast.Call, function: ast.Attribute) -> Iterator[Sentence]:
    """Give the meaning of a setting of the environment, or the heading of a section."""
    if not isinstance(function.value, ast.Name) or function.value.id != ENVIRONMENT:
        return
    said = node.args[:1] if function.attr == "section" else [one.value for one in node.keywords if one.arg == "meaning"]
    yield from (Sentence(text) for one in said if (text := _text(one)))


def _constants(node: ast.expr) -> str:
    """Give a text without what is put into it; what stands before a schedule's name is the same for all."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    return "".join(text for one in parts if (text := _text(one)))


def _aliases(tree: ast.Module) -> dict[str, str]:
    """Give the names under which a module knows Django's functions, such as `lazy` for `gettext_lazy`."""
    return {
        one.asname: one.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "django.utils.translation"
        for one in node.names
        if one.asname
    }


def of_template(source: str, origin: str) -> Iterator[Sentence]:
    """Find the sentences of a template, as Django writes them for such searches."""
    for found in CALL.finditer(templatize(source, origin=origin)):
        name, *literals = found.groups()
        yield from _chosen(name, [ast.literal_eval(literal) if literal else None for literal in literals])


def _chosen(name: str, arguments: list[str | None]) -> Iterator[Sentence]:
    context, text, many = (None if at is None else _at(arguments, at) for at in FUNCTIONS[name])
    if text:
        yield Sentence(text, many, context)


def _at(arguments: list[str | None], place: int) -> str | None:
    return arguments[place] if place < len(arguments) else None


def _text(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _is_error(name: str) -> bool:
    known = getattr(memory.errors, name, None)
    return isinstance(known, type) and issubclass(known, LociError)


def _is_error_class(node: ast.ClassDef) -> bool:
    return _is_error(node.name) or any(isinstance(base, ast.Name) and _is_error(base.id) for base in node.bases)
