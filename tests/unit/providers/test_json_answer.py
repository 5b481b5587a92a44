"""An answer is one JSON object or nothing."""

from __future__ import annotations

import pytest

from memory.providers.json_answer import LONGEST, json_object


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"a": 1}', id="bare"),
        pytest.param('\n {"a": 1} \n', id="blanks"),
        pytest.param('```json\n{"a": 1}\n```', id="fence"),
        pytest.param('```\n{"a":\n1}\n```\n', id="plain-fence"),
        pytest.param('<think>{"b": 2}\n```</think>\n\n```json\n{"a": 1}\n```', id="thoughts"),
    ],
)
def test_an_object(text: str) -> None:
    assert json_object(text) == {"a": 1}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("[1]", id="list"),
        pytest.param("3", id="number"),
        pytest.param('{"a": 1', id="half"),
        pytest.param('Here: {"a": 1}', id="prose-before"),
        pytest.param('{"a": 1} I hope it helps', id="prose-after"),
        pytest.param('{"a": 1}{"b": 2}', id="two"),
        pytest.param('<think>{"a": 1}', id="thoughts-without-end"),
        pytest.param("[" * 50_000, id="deep"),
        pytest.param('{"a": "' + "x" * LONGEST + '"}', id="too-long"),
    ],
)
def test_anything_else_is_none(text: str) -> None:
    assert json_object(text) is None
