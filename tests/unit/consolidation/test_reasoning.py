"""What of a model's answer is thought aloud, and what is the answer."""

from __future__ import annotations

import pytest

from memory.consolidation.reasoning import spoken_answer

ANSWER = "Both projects wait for the same supplier."

UNCHANGED = {
    "plain": ANSWER,
    "analysis in a sentence": "Analysis shows X.\nSecond line.",
    "reasoning in a sentence": "Reasoning models cost more than they save.\nThe team decided against them.",
    "two paragraphs": "The user likes tea.\n\nThe user dislikes coffee.",
    "numbered statements": "1. The user likes tea.\n2. The user dislikes coffee.",
    "numbered steps of work": "1. Open the valve.\n2. Check the pressure.\n3. Close the valve.",
    "step as a noun": "Step 3 of the migration failed.\nIt was repeated on Monday.",
    "bullets": "- tea\n- coffee",
    "let me as a whole answer": "Let me think is what Ada says before every decision.",
    "tag inside a sentence": "The parser drops <think> and everything after it.",
    "wants": "The user wants to learn Portuguese.\nShe has begun twice.",
}
ANSWERED = {
    "tags": f"<think>The user has two projects.\n\nBoth wait.</think>\n{ANSWER}",
    "tags in capitals": f"<THINKING>hm</THINKING>\n\n{ANSWER}",
    "first tag swallowed": f"The user has two projects.\n</think>\n\n{ANSWER}",
    "two blocks": f"<think>a</think>\n<reflection>b</reflection>\n{ANSWER}",
    "many blocks": "<think>a</think>\n" * 3_000 + ANSWER,
    "channels": f"<|channel|>analysis<|message|>hm<|end|><|start|>a<|channel|>final<|message|>{ANSWER}<|return|>",
    "heading": f"Thinking Process:\n\n1. Look at both.\n2. Both wait.\n\n{ANSWER}",
    "heading in bold": f"**Thinking process:**\nThey share a supplier.\n\n{ANSWER}",
    "heading of markdown": f"## Analysis\n\nThey share a supplier.\n\n{ANSWER}",
    "let me think": f"Let me think about this step by step.\nTwo projects, one supplier.\n\n{ANSWER}",
    "okay": f"Okay, so let me analyze the notes.\n\n{ANSWER}",
    "bold numbers": f"1. **Analyze the Request:** two notes.\n2. **Identify connections:** supplier.\n\n{ANSWER}",
    "line after a list": f"1. Deconstruct.\n2. Analyze.\n{ANSWER}",
    "marked answer": f"Reasoning:\n- one supplier\n\nFinal answer: {ANSWER}",
    "marked in bold": f"Step 1:\nRead both.\n\n**Insight:** {ANSWER}",
    "quoted after thoughts": f'Thinking process:\nShort.\n\n"{ANSWER}"',
    "fence": f"```text\n{ANSWER}\n```",
    "fence never closed": f"```\n{ANSWER}",
}
NOTHING = {
    "empty": "",
    "spaces": " \n ",
    "numbered thoughts": "1. Deconstruct.\n2. Analyze.",
    "bold numbered thoughts": "1.  **Deconstruct the Request:** a\n2.  **Identify Themes:** b\n3.  **Draft:** c",
    "heading alone": "Thinking process:",
    "heading and thoughts": "Thinking process:\nThe notes speak of a supplier and",
    "heading and list": "Reasoning:\n\n- the notes\n- the supplier",
    "opened again and again": "<think>\n" * 30_000,
    "never closed": "<think>The notes speak of a supplier",
    "thoughts alone": "<think>The notes</think>",
    "analysis channel alone": "<|channel|>analysis<|message|>The notes speak",
}


@pytest.mark.parametrize("text", UNCHANGED.values(), ids=UNCHANGED)
def test_an_answer_without_thoughts_stays_whole(text: str) -> None:
    assert spoken_answer(text) == text


@pytest.mark.parametrize("text", ANSWERED.values(), ids=ANSWERED)
def test_thoughts_before_an_answer_go(text: str) -> None:
    assert spoken_answer(text) == ANSWER


@pytest.mark.parametrize("text", NOTHING.values(), ids=NOTHING)
def test_thoughts_without_an_answer_give_nothing(text: str) -> None:
    assert spoken_answer(text) == ""
