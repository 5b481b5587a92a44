"""Intent and gate: the published tables."""

from __future__ import annotations

import pytest

from memory.recall.gate import Verdict, gate
from memory.recall.intent import engram_intent, intent_of, prax_intent


@pytest.mark.parametrize(
    ("query", "dense", "lexical", "graph"),
    [
        ('"error E-4012"', 0.8, 1.5, 1.3),
        ("plans for 2026", 0.8, 1.5, 1.3),
        ("Tell Alice", 1.0, 1.2, 1.4),
        ("meeting with Alice Bob about 2026", 0.8, 1.5, 1.4),
        ("memory test", 1.0, 1.0, 1.0),
        ("Are Alice and Bob related?", 1.0, 1.2, 1.4),
        ("How are Alice and Bob related?", 1.4, 0.9, 1.4),
        ("how do you feel about the approach?", 1.4, 0.9, 1.0),
    ],
)
def test_prax_weights(query: str, dense: float, lexical: float, graph: float) -> None:
    assert prax_intent(query).factors == {"dense": dense, "lexical": lexical, "graph": graph}


@pytest.mark.parametrize(
    ("query", "sign"),
    [
        ("What is the Redis port?", "factual"),
        ("How do I set up SSH keys?", "procedural"),
        ("why did the deploy fail", "causal"),
        ("what happened yesterday", "episodic"),
        ("what are alternatives to Postgres", "exploratory"),
        ("summarize what we learned", "reflective"),
    ],
)
def test_engram_intents(query: str, sign: str) -> None:
    assert sign in engram_intent(query).signs


def test_gibberish_is_neutral() -> None:
    assert engram_intent("xyzzy plugh").signs == ("neutral",)
    assert intent_of("why Alice", "none").factors == {}
    assert intent_of("why", "engram") == engram_intent("why")
    assert intent_of("why", "prax") == prax_intent("why")


@pytest.mark.parametrize("query", ["hi", "Hello!", "thanks a lot", "ok", "Good morning", "bye."])
def test_greetings_need_no_recall(query: str) -> None:
    assert gate(query) is Verdict.SKIP


@pytest.mark.parametrize("query", ["fix it", "do that again", "Please continue this"])
def test_requests_that_point_at_nothing_say_so(query: str) -> None:
    assert gate(query) is Verdict.UNCLEAR


@pytest.mark.parametrize(
    "query", ["fix the login bug", "what did I say", "hi, where did I park?", "okapi", "no smoking", "?!", "东京"]
)
def test_other_queries_recall(query: str) -> None:
    assert gate(query) is Verdict.RECALL
