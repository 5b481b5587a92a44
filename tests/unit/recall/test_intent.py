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


@pytest.mark.parametrize(
    ("query", "weights"),
    [
        ("which one", (0.50, 0.30, 0.10, 0.05)),
        ("set up the server", (0.30, 0.35, 0.15, 0.10)),
        ("because of the rain", (0.20, 0.30, 0.35, 0.10)),
        ("two days ago", (0.25, 0.25, 0.15, 0.25)),
        ("other options", (0.20, 0.40, 0.20, 0.10)),
        ("reflect on the week", (0.15, 0.30, 0.15, 0.10)),
        ("which one, two days ago", (0.375, 0.275, 0.125, 0.15)),
    ],
)
def test_engram_weights(query: str, weights: tuple[float, ...]) -> None:
    factors = engram_intent(query).factors
    assert tuple(factors) == ("lexical", "dense", "graph", "time")
    assert tuple(factors.values()) == pytest.approx(weights)


@pytest.mark.parametrize("query", ["„E-4“", "«E-4»", "「东京」"])
def test_quotation_marks_of_any_style_ask_for_words(query: str) -> None:
    assert prax_intent(query).signs[0] == "quoted_or_identifier"


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
