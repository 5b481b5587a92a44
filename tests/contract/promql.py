"""A reader of the part of PromQL that our dashboards and alerts use; what it does not know, it refuses.

It gives the selectors of an expression with where they stand, and checks that ranges and instants are not mixed up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

TOKEN = re.compile(
    r"""\s*(?:(?P<string>"(?:[^"\\]|\\.)*")|(?P<duration>\[(?:\d+[smhdw]|\$__rate_interval|\$__range)\])
    |(?P<number>\d+(?:\.\d+)?)|(?P<name>[A-Za-z_:][\w:]*)|(?P<operator>=~|!~|!=|==|>=|<=|[-+*/%^<>=(){},]))""",
    re.VERBOSE,
)
AGGREGATIONS = {"sum", "min", "max", "avg", "count", "topk", "bottomk"}
# What takes a range and what takes an instant, by the number of parameters before it.
RANGES = {"rate": 0, "increase": 0}
INSTANTS = {"histogram_quantile": 1}
KEYWORDS = {"by", "without", "and", "or", "unless", "bool", "on", "ignoring"}
OPERATORS = ("or", "unless", "and", "==", "!=", ">=", "<=", ">", "<", "+", "-", "*", "/", "%", "^")


class NotUnderstood(Exception):
    """The expression is none, or uses something that this reader does not know."""


@dataclass(frozen=True)
class Selector:
    """A metric in an expression, with the functions and groupings around it, the innermost first."""

    name: str
    labels: tuple[str, ...]
    ranged: bool
    around: tuple[str, ...]
    grouped_by: tuple[str, ...]


@dataclass
class _Reader:
    tokens: list[tuple[str, str]]
    place: int = 0
    found: list[Selector] = field(default_factory=list)
    around: list[str] = field(default_factory=list)
    grouped: list[str] = field(default_factory=list)

    def peek(self) -> tuple[str, str]:
        return self.tokens[self.place] if self.place < len(self.tokens) else ("end", "")

    def take(self, text: str = "") -> tuple[str, str]:
        token = self.peek()
        if token[0] == "end" or (text and token[1] != text):
            raise NotUnderstood(f"expected {text or 'more'}, found {token[1] or 'the end'}")
        self.place += 1
        return token

    def takes(self, text: str) -> bool:
        if self.peek()[1] == text and self.peek()[0] != "string":
            self.place += 1
            return True
        return False

    def expression(self) -> str:
        """Read an expression; give whether it is a `scalar` or an `instant`."""
        kind = self.operand()
        while self.peek()[1] in OPERATORS and self.peek()[0] != "string":
            operator = self.take()[1]
            other = self.operand()
            if operator in ("and", "or", "unless") and "scalar" in (kind, other):
                raise NotUnderstood(f"{operator} joins vectors")
            kind = "instant" if "instant" in (kind, other) else "scalar"
        return kind

    def operand(self) -> str:
        sort, text = self.take()
        if text == "(" and sort == "operator":
            kind = self.expression()
            self.take(")")
            return kind
        if text == "-" and sort == "operator":
            return self.operand()
        if sort == "number":
            return "scalar"
        if sort != "name" or text in KEYWORDS:
            raise NotUnderstood(f"{text} cannot stand here")
        if text in AGGREGATIONS:
            return self.aggregation(text)
        if self.peek()[1] == "(":
            return self.function(text)
        return self.selector(text, ranged=False)

    def aggregation(self, name: str) -> str:
        labels = self.names() if self.takes("by") else []
        self.grouped, before = [*labels], self.grouped
        self.around.append(name)
        self.take("(")
        if name in ("topk", "bottomk"):
            if self.expression() != "scalar":
                raise NotUnderstood(f"{name} takes a number first")
            self.take(",")
            # It groups nothing: what is within keeps its labels.
            self.grouped = before
        if self.expression() != "instant":
            raise NotUnderstood(f"{name} takes a vector")
        self.take(")")
        self.around.pop()
        self.grouped = before
        return "instant"

    def function(self, name: str) -> str:
        self.take("(")
        if name == "time":
            self.take(")")
            return "scalar"
        self.around.append(name)
        if name in RANGES:
            sort, metric = self.take()
            if sort != "name":
                raise NotUnderstood(f"{name} takes a metric")
            self.selector(metric, ranged=True)
        elif name in INSTANTS:
            for _ in range(INSTANTS[name]):
                if self.expression() != "scalar":
                    raise NotUnderstood(f"{name} takes a number first")
                self.take(",")
            if self.expression() != "instant":
                raise NotUnderstood(f"{name} takes a vector")
        else:
            raise NotUnderstood(f"the function {name} is not known here")
        self.around.pop()
        self.take(")")
        return "instant"

    def selector(self, name: str, *, ranged: bool) -> str:
        labels = []
        if self.takes("{"):
            while not self.takes("}"):
                labels.append(self.take()[1])
                if self.take()[1] not in ("=", "!=", "=~", "!~"):
                    raise NotUnderstood(f"{labels[-1]} is compared with nothing")
                sort, value = self.take()
                if sort != "string":
                    raise NotUnderstood(f"{value} is no text")
                self.takes(",")
        if (self.peek()[0] == "duration") != ranged:
            raise NotUnderstood(f"{name} has {'no' if ranged else 'a'} range here")
        if ranged:
            self.take()
        around, grouped = tuple(reversed(self.around)), tuple(self.grouped)
        self.found.append(Selector(name, tuple(labels), ranged, around, grouped))
        return "instant"

    def names(self) -> list[str]:
        self.take("(")
        found = []
        while not self.takes(")"):
            sort, text = self.take()
            if sort != "name":
                raise NotUnderstood(f"{text} is no label")
            found.append(text)
            self.takes(",")
        return found


def selectors(expression: str) -> list[Selector]:
    """Read an expression and give its selectors; raises NotUnderstood."""
    tokens, place, text = [], 0, expression.strip()
    while place < len(text):
        match = TOKEN.match(text, place)
        if match is None or match.lastgroup is None:
            raise NotUnderstood(f"cannot be read from: {text[place : place + 20]}")
        tokens.append((match.lastgroup, match[match.lastgroup]))
        place = match.end()
    reader = _Reader(tokens)
    reader.expression()
    if reader.peek()[0] != "end":
        raise NotUnderstood(f"{reader.peek()[1]} is left over")
    return reader.found
