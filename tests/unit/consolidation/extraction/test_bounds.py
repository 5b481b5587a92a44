"""Whatever comes in, the rules raise nothing, keep their limits and give the same again."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from memory.consolidation.extraction import rules_extractor
from memory.consolidation.extraction.gathering import MAX_CAUSES, MAX_ENTITIES, MAX_EVENTS, MAX_FACTS
from memory.ports import Passage
from tests.contract.extraction import check_extract
from tests.unit.consolidation.extraction.drawing import AT

WORDS = st.sampled_from([
    "I", "we", "my", "our", "she", "Ana", "Anna", "Berg", "Leipzig", "love", "hate", "live", "in", "at",
    "moved", "from", "to", "Whitefield", "sister", "Jule", "because", "so", "that", "yesterday", "last",
    "Friday", "on", "3", "May", "2024", "don't", "never", "always", "used", "am", "is", "are", "have", "not",
    "a", "the", "and", "but", ",", ".", "!", "?", ":", ";", "-", '"', "'", "`", "/", "PostgreSQL", "Room",
    "101", "UA123", "https://a.example.org", "/remember", "remember", "ich", "wohne", "me", "gusta", "led",
    "if", "you", "it", "favourite", "called", "dog", "named", "two", "34", "years", "old", "nurse",
    "allergic", "\n\n", "```", "我", "ß", "ﷺ", "İ", "my sİster", "ſister",
])  # fmt: skip
TEXTS = st.one_of(st.text(max_size=400), st.lists(WORDS, max_size=60).map(" ".join))


@settings(max_examples=300, deadline=None)
@given(
    text=TEXTS,
    before=TEXTS,
    speaker=st.one_of(st.none(), st.text(max_size=30), st.sampled_from(["Ana", "Ana Lopez", "user", " "])),
    role=st.sampled_from(["user", "assistant", ""]),
)
def test_any_text_gives_a_sound_extract(text: str, before: str, speaker: str | None, role: str) -> None:
    passage = Passage(key="p", text=text, occurred_at=AT, role=role, speaker=speaker, before=before)
    drawn = rules_extractor().extract([passage])
    check_extract(drawn, [passage])
    assert len(drawn.entities) <= MAX_ENTITIES
    assert len(drawn.facts) <= MAX_FACTS
    assert len(drawn.events) <= MAX_EVENTS
    assert len(drawn.causes) <= MAX_CAUSES
    assert rules_extractor().extract([passage]) == drawn
