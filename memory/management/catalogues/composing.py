"""Find what services say of errors and of health with values in it: f-strings, and the words that are put into them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from inspect import getsource
from typing import Final

from memory.services import amounts
from memory.text.composed import PART, SENTENCE

DEEPEST: Final = 4
"""How many names and functions are followed from where a sentence is given to where it is written."""
LEAST: Final = 3
"""Letters that a sentence has beside its values, since fewer would fit everything."""

WORDS: Final = re.compile(r"(?=.*[A-Za-z])(?=.* )[\w' ,-]+")
"""Words that can stand in a sentence; names of files, addresses and numbers are the same in every language."""

Found = tuple[str, str | None]
"""A text and its context."""
Function = ast.FunctionDef | ast.AsyncFunctionDef
_AMOUNTS: Final[dict[str, Function]] = {
    one.name: one for one in ast.parse(getsource(amounts)).body if isinstance(one, Function)
}
"""What is followed from the modules that import it."""


class Module:
    """Where the names of a module get their values, and what its functions and imported amounts return."""

    def __init__(self, tree: ast.Module) -> None:
        """Note the functions by their names, and in which one each call stands."""
        self.tree = tree
        self.functions: dict[str, Function] = {}
        self._around: dict[ast.Call, Function] = {}
        self._note(tree, None)

    def around(self, call: ast.Call) -> Function | None:
        """Give the innermost function in which a call stands."""
        return self._around.get(call)

    def _note(self, node: ast.AST, function: Function | None) -> None:
        if isinstance(node, ast.ImportFrom) and node.module == amounts.__name__:
            self.functions |= {one.asname or one.name: _AMOUNTS[one.name] for one in node.names}
        elif isinstance(node, Function):
            self.functions[node.name] = function = node
        elif isinstance(node, ast.Call) and function is not None:
            self._around[node] = function
        for child in ast.iter_child_nodes(node):
            self._note(child, function)


def texts_of(node: ast.expr, module: Module, function: Function | None) -> Iterator[Found]:
    """Give what an argument may say: texts as they stand, and sentences with places for their values.

    Args:
        node: the argument.
        module: where it stands.
        function: the function in which it stands.
    """
    yield from _texts(node, module, function, None, DEEPEST)


def _texts(
    node: ast.expr, module: Module, function: Function | None, context: str | None, depth: int
) -> Iterator[Found]:
    if depth == 0:
        return
    if isinstance(node, ast.Constant):
        # Words inside a sentence are looked up without the space that parts them from the rest.
        value = node.value if isinstance(node.value, str) else ""
        text = value.strip()
        if text and (context is None or WORDS.fullmatch(text)):
            yield text if context else value, context
    elif isinstance(node, ast.JoinedStr):
        text = _template(node)
        if sum(letter.isalpha() for letter in _without_places(node)) >= LEAST:
            yield text.strip(), SENTENCE
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                yield from _texts(part.value, module, function, PART, depth - 1)
    else:
        for one, where in _sources(node, module, function):
            yield from _texts(one, module, where, context, depth if where is function else depth - 1)


def _sources(node: ast.expr, module: Module, function: Function | None) -> Iterator[tuple[ast.expr, Function | None]]:
    """Give the expressions from which one takes its value."""
    if isinstance(node, ast.IfExp):
        yield node.body, function
        yield node.orelse, function
    elif isinstance(node, ast.BoolOp):
        for one in node.values:
            yield one, function
    elif isinstance(node, ast.Name):
        yield from ((one, function) for one in _assigned(node.id, module, function))
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in module.functions:
        called = module.functions[node.func.id]
        yield from (
            (one.value, called) for one in ast.walk(called) if isinstance(one, ast.Return) and one.value is not None
        )


def _assigned(name: str, module: Module, function: Function | None) -> Iterator[ast.expr]:
    """Give what a name is set to: in the function, else at the top of the module."""
    within = list(_settings(name, ast.walk(function))) if function is not None else []
    yield from within or _settings(name, module.tree.body)


def _settings(name: str, nodes: Iterator[ast.AST] | list[ast.stmt]) -> Iterator[ast.expr]:
    for node in nodes:
        if isinstance(node, ast.AnnAssign) and node.value is not None and _is(node.target, name):
            yield node.value
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if _is(target, name):
                    yield node.value
                elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = zip(target.elts, node.value.elts, strict=False)
                    yield from (value for one, value in pairs if _is(one, name))


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _template(node: ast.JoinedStr) -> str:
    """Write an f-string as a sentence with named places; a name that comes again gets a number."""
    pieces: list[str] = []
    used: dict[str, int] = {}
    for part in node.values:
        if isinstance(part, ast.Constant):
            pieces.append(str(part.value).replace("%", "%%"))
        elif isinstance(part, ast.FormattedValue):
            name = _name(part.value)
            used[name] = used.get(name, 0) + 1
            pieces.append(f"%({name}{used[name] if used[name] > 1 else ''})s")
    return "".join(pieces)


def _without_places(node: ast.JoinedStr) -> str:
    return "".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))


def _name(node: ast.expr) -> str:
    """Name a place by what stands in it."""
    if isinstance(node, ast.Name):
        return node.id.lower().strip("_")
    if isinstance(node, ast.Attribute):
        return node.attr.lower().strip("_")
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id.lower().strip("_")
    return "value"
