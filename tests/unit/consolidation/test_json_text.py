"""Reading JSON from what a model answers: whole, among other text, damaged, and broken off."""

from __future__ import annotations

from typing import Any

import pytest

from memory.consolidation.json_text import LONGEST, Unreadable, read

VALUE = {"facts": [{"text": "a"}, {"text": "b [1]"}]}
PLAIN = '{"facts": [{"text": "a"}, {"text": "b [1]"}]}'

WHOLE = {
    "plain": PLAIN,
    "fenced": f"```json\n{PLAIN}\n```",
    "fenced with tildes": f"~~~\n{PLAIN}\n~~~",
    "fence never closed": f"```json\n{PLAIN}",
    "fenced in prose": f"Here it is:\n```json\n{PLAIN}\n```\nI hope that it helps {{you}}.",
    "prose around": f"Sure! As of [1], see {{this}}: {PLAIN} Is there anything else?",
    "thoughts before": f"<think>maybe [{{}}]</think>\n{PLAIN}",
    "thoughts and fence": f"<think>maybe</think>\n```json\n{PLAIN}\n```",
    "trailing comma": '{"facts": [{"text": "a"}, {"text": "b [1]"},]}',
    "without quotes": '{facts: [{text: "a"}, {text: "b [1]"}]}',
    "single quotes": "{'facts': [{'text': 'a'}, {'text': 'b [1]'}]}",
    "closing brackets forgotten": '{"facts": [{"text": "a"}, {"text": "b [1]"}',
}


@pytest.mark.parametrize("text", WHOLE.values(), ids=WHOLE)
def test_a_value_is_read(text: str) -> None:
    found = read(text)
    assert found.value == VALUE


def test_tags_inside_a_value_stay() -> None:
    assert read('{"text": "<think>is a tag</think>"}').value == {"text": "<think>is a tag</think>"}


BROKEN_OFF: dict[str, tuple[str, Any]] = {
    "in a text": ('{"facts": [{"text": "a"}, {"text": "b moved to Por', {"facts": [{"text": "a"}]}),
    "in a nested list": (
        '{"facts": [{"text": "a"}, {"text": "b", "of": [{"x": 1}, {"x"',
        {"facts": [{"text": "a"}]},
    ),
    "between items": ('[{"text": "a"}, ', [{"text": "a"}]),
    "in the second list": ('{"facts": [{"text": "a"}], "events": [{"te', {"facts": [{"text": "a"}]}),
    "after an escaped quote": ('[{"text": "a\\""}, {"text": "\\"', [{"text": 'a"'}]),
}


@pytest.mark.parametrize(("text", "value"), BROKEN_OFF.values(), ids=BROKEN_OFF)
def test_of_a_value_that_breaks_off_the_whole_items_stay(text: str, value: Any) -> None:
    for cut_off in (True, False):
        found = read(text, cut_off=cut_off)
        assert (found.value, found.complete) == (value, False)


UNREADABLE = {
    "empty": "",
    "prose": "There is nothing to say.",
    "number": "42",
    "null": "null",
    "text": '"facts"',
    "thoughts": "<think>[1, 2]",
    "broken off before the first item": '{"facts": [{"text": "a',
    "too long": "[" + "1," * LONGEST + "1]",
    "deep": "[" * 200_000,
    "not a number": '{"confidence": NaN',
}


@pytest.mark.parametrize("text", UNREADABLE.values(), ids=UNREADABLE)
def test_what_holds_no_value_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        read(text)


def test_a_part_of_a_damaged_value_does_not_pass_for_the_whole() -> None:
    found = read('{"facts": [{"text": "a"}, {"text": "b" oops "c": 1}]}')
    assert [fact["text"] for fact in found.value["facts"]][:1] == ["a"]
    assert len(found.value["facts"]) == 2
