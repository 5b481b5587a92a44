"""What a caller may not see neither shows nor moves what this caller sees."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memory.models import owner_scope
from memory.recall.neighbours import neighbours_of
from memory.services.actors import Actor
from memory.services.drafts import Draft
from memory.services.questions import RecallRequest, prepare_query
from memory.services.turns import TurnDraft, ingest_turns

pytestmark = pytest.mark.django_db


def test_a_hidden_turn_does_not_part_those_beside_it(
    alice: Actor, make_agent: Callable[..., tuple[Actor, str]]
) -> None:
    writer, reader = (make_agent(alice, name=name)[0] for name in ("writer", "reader"))

    def turn(position: int, text: str) -> TurnDraft:
        return TurnDraft(draft=Draft(text=text, role="user"), position=position)

    seen = ingest_turns(actor=writer, session="s", turns=[turn(0, "Marmalade audit."), turn(4, "It went well.")]).turns
    ingest_turns(actor=writer, session="s", turns=[turn(2, "A secret.")], scope="agent")
    first, last = (one.memory_id for one in seen)
    assert first is not None
    assert last is not None
    query = prepare_query(reader, "audit", RecallRequest(query="audit"), wants_vector=False)
    with owner_scope(alice.owner_id):
        found = neighbours_of(query, [first, last])
    assert found[first].after == last
    assert found[last].before == first
    own = prepare_query(writer, "audit", RecallRequest(query="audit"), wants_vector=False)
    with owner_scope(alice.owner_id):
        assert neighbours_of(own, [first])[first].after not in (last, None)
