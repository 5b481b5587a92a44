"""Cells of tables: no spreadsheet takes a text for a formula."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from telemetry.api.csv_answers import csv_answer
from telemetry.tables import cell


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "  =1", "\uff1d1+1",
     "\u00a0=1", "\ufeff=1", "\u200b=1", " \u200b\u3000=1", "\u2060@a", "\u00ad+1"],
    ids=ascii,
)  # fmt: skip
def test_what_begins_like_a_formula(text: str) -> None:
    assert cell(text) == f"'{text}"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, ""),
        (True, "true"),
        (-3, -3),
        (0.25, 0.25),
        ("plain = text", "plain = text"),
        (["a", "=b"], '["a", "=b"]'),
        ({"=a": 1}, '{"=a": 1}'),
        (UUID(int=7), f'"{UUID(int=7)}"'),
    ],
)
def test_other_values(value: Any, expected: Any) -> None:
    assert cell(value) == expected


@pytest.mark.parametrize("text", ["a;=1+1", "a\t=1+1", "a,=1+1", 'a";=1'])
def test_no_other_separator_begins_a_cell(text: str) -> None:
    doubled = text.replace('"', '""')
    assert csv_answer(["a"], [[text]], name="table.csv").content.decode() == f'"a"\r\n"{doubled}"\r\n'


def test_a_table() -> None:
    answer = csv_answer(["name", "count"], [["a,b", 1], ["=x", None]], name="table.csv", following="next")
    assert answer.content == b'"name","count"\r\n"a,b","1"\r\n"\'=x",""\r\n'
    assert (answer["Content-Type"], answer["X-Loci-Next"]) == ("text/csv; charset=utf-8", "next")
