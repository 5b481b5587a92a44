"""Find every error code of the program in its source, with status and messages."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from django.conf import settings

import memory.errors
from memory.errors import LociError

PACKAGES: Final = ("memory", "telemetry", "config", "runtime")
MOST_MESSAGES: Final = 3
FRAMEWORK: Final[Mapping[str, int]] = {
    "AuthenticationFailed": 401,
    "PermissionDenied": 403,
    "ValidationError": 422,
    "ErrorDetail": 422,
}
"""The statuses with which `memory.api.problems` answers errors of Django REST framework."""


@dataclass(frozen=True, slots=True)
class ErrorCode:
    """A code, the HTTP status it comes with (None where it never reaches HTTP), and what is said with it."""

    code: str
    status: int | None
    messages: tuple[str, ...]


def error_codes() -> list[ErrorCode]:
    """List the codes that classes of errors carry and that are given where errors are raised, in order."""
    statuses: dict[str, int | None] = {}
    messages: dict[str, list[str]] = {}

    def note(code: str, status: int | None, message: str) -> None:
        statuses[code] = statuses.get(code) or status
        said = messages.setdefault(code, [])
        if message and message not in said:
            said.append(message)

    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in _sources()]
    classes = {node.name: node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    for name, node in classes.items():
        code = _own_code(node)
        if code is not None:
            note(code, _status(name, classes), _first_line(node))
    for tree in trees:
        for name, code, message in _raised(tree):
            known = classes.get(name)
            note(code, _status(name, classes), message or _first_line(known))
    return [ErrorCode(code, statuses[code], tuple(messages[code][:MOST_MESSAGES])) for code in sorted(messages)]


def _sources() -> Iterator[Path]:
    for package in PACKAGES:
        for path in sorted((Path(settings.BASE_DIR) / package).rglob("*.py")):
            if "migrations" not in path.parts:
                yield path


def _own_code(node: ast.ClassDef) -> str | None:
    """Give the code that a class of errors is declared with; registries and models have no such bases."""
    if not any(isinstance(base, ast.Name) and _is_error(base.id) for base in node.bases):
        return None
    return next((value for name, value in _constants(node) if name == "code" and isinstance(value, str)), None)


def _is_error(name: str) -> bool:
    known = getattr(memory.errors, name, None)
    return name in ("Exception", "RuntimeFault") or (isinstance(known, type) and issubclass(known, LociError))


def _constants(node: ast.ClassDef) -> Iterator[tuple[str, object]]:
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            if isinstance(statement.value, ast.Constant):
                yield statement.target.id, statement.value.value
        elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    yield target.id, statement.value.value


def _status(name: str, classes: dict[str, ast.ClassDef]) -> int | None:
    """Follow the bases of a class to the status that it has."""
    node = classes.get(name)
    if node is None:
        return FRAMEWORK.get(name)
    for constant, value in _constants(node):
        if constant == "status" and isinstance(value, int):
            return value
    found = (_status(base.id, classes) for base in node.bases if isinstance(base, ast.Name))
    return next((status for status in found if status is not None), None)


def _raised(tree: ast.AST) -> Iterator[tuple[str, str, str]]:
    """Find calls with a literal `code=`: the class called, the code and the message."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        for keyword in node.keywords:
            if keyword.arg == "code" and isinstance(keyword.value, ast.Constant) and "." in str(keyword.value.value):
                name = node.func.id if isinstance(node.func, ast.Name) else ""
                yield name, str(keyword.value.value), _message(node)


def _first_line(node: ast.ClassDef | None) -> str:
    text = ast.get_docstring(node) if node is not None else None
    return text.splitlines()[0] if text else ""


def _message(call: ast.Call) -> str:
    """Give the message of a call, with braces where a value is put in; empty when it is put together elsewhere."""
    if not call.args:
        return ""
    first: ast.expr = call.args[0]
    if isinstance(first, ast.Call) and isinstance(first.func, ast.Attribute):
        first = first.func.value if isinstance(first.func.value, ast.JoinedStr) else first
    if isinstance(first, ast.Constant) and isinstance(first.value, str):
        return first.value
    if isinstance(first, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{…}" for part in first.values)
    return ""
