"""Secrets are compared in constant time: no `==` on what an attacker could guess byte by byte."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[3]
SECRET = re.compile(r"(^|_)(digest|digests|signature|mac|proof|secret|password|token_digest|hmac)$")
# Comparisons of digests that nobody has to guess, each with the reason.
OPEN = {
    "memory/providers/minilm/build.py": "digests of files that the program itself has built",
    "memory/services/turns.py": "content hashes of an owner's own turns, both made here",
    "memory/api/idempotency.py": "digests of one caller's own requests",
}


def names(node: ast.expr) -> Iterator[str]:
    """Give the names that the compared values have: of variables, attributes, and what `bytes()` is made of."""
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        yield node.slice.value
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute):
            yield node.func.attr
        if isinstance(node.func, ast.Name) and node.func.id == "bytes":
            for argument in node.args:
                yield from names(argument)


def plain_comparisons(source: str) -> list[str]:
    """List the comparisons of secrets by `==` and `!=` in a program."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], ast.Eq | ast.NotEq):
            continue
        sides = [node.left, *node.comparators]
        if any(isinstance(side, ast.Constant) for side in sides):
            continue
        if any(SECRET.search(name) for side in sides for name in names(side)):
            found.append(ast.unparse(node))
    return found


def test_no_secret_is_compared_byte_by_byte() -> None:
    found = {}
    for part in ("memory", "config", "runtime"):
        for file in sorted((PROJECT / part).rglob("*.py")):
            compared = plain_comparisons(file.read_text(encoding="utf-8"))
            if compared:
                found[str(file.relative_to(PROJECT))] = compared
    assert {file: compared for file, compared in found.items() if file not in OPEN} == {}
    assert set(OPEN) <= set(found), "a reason is given for what is not there any more"


def test_the_search_finds_what_it_looks_for() -> None:
    assert plain_comparisons("if key.digest == made: pass") == ["key.digest == made"]
    assert plain_comparisons("x = bytes(row.proof) != proof(row)") == ["bytes(row.proof) != proof(row)"]
    assert plain_comparisons("x = hmac.compare_digest(a.mac, b)") == []
    assert plain_comparisons("x = len(signature) == 64") == []
    assert plain_comparisons("x = hashed.hexdigest() == wanted['signature']") == [
        "hashed.hexdigest() == wanted['signature']"
    ]
