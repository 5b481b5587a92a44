"""What stands round a memory on its page: strength, sources, links, names, doubts, versions, conversations."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from memory.models import Memory, ReviewKind, owner_scope
from memory.palace.memory_history import difference
from memory.services.actors import Actor
from memory.services.changes import change_memory
from memory.services.clock import now
from memory.services.disputes import dispute_memory
from memory.services.drafts import Draft
from memory.services.graph.edges import edges_of, link_memories
from memory.services.graph.entities import EntityDraft, mention, merge_entity
from memory.services.graph.writing import change_graph
from memory.services.memories import get_memory, history
from memory.services.retirement import archive_memory
from memory.services.review_decisions import approve
from memory.services.ties import ties_of
from memory.services.turns import TurnDraft, ingest_turns
from tests.integration.consolidation.reviewing import opened
from tests.integration.palace.conftest import HTMX

Store = Callable[..., UUID]
DRAWER = {**HTMX, "HX-Target": "drawer"}


def html_of(client: Client, memory_id: UUID) -> str:
    return client.get(f"/memories/{memory_id}/").content.decode()


def known(alice: Actor, name: str, *memories: UUID) -> UUID:
    """Let somebody be known by a name, spoken of in some memories."""
    found = merge_entity(actor=alice, draft=EntityDraft(name=name, type="person"))
    with change_graph(alice, now=now()):
        mention([(found.entity_id, one) for one in memories])
    return found.entity_id


def test_the_drawer_gets_the_main_part_alone(palace: Client, store: Store) -> None:
    memory_id = store("We met in Lisbon.")
    part = palace.get(f"/memories/{memory_id}/", headers=DRAWER).content.decode()
    assert "We met in Lisbon." in part
    assert "<html" not in part
    assert 'id="drawer-history-heading"' in part
    answer = palace.post(f"/memories/{memory_id}/archive/", headers=DRAWER, follow=True)
    assert "Archived. No search finds it any more" in answer.content.decode()
    assert "<html" not in answer.content.decode()
    form = palace.get(f"/memories/{memory_id}/edit/", headers=DRAWER).content.decode()
    assert 'id="drawer_content"' in form
    gone = palace.get("/memories/0190aaaa-0000-7000-8000-000000000000/", headers=DRAWER)
    assert (gone.status_code, "<html" in gone.content.decode()) == (404, False)


def test_revealing_in_the_drawer_shows_the_whole_memory(palace: Client, store: Store) -> None:
    memory_id = store("Write to anna.silva@example.org.")
    part = palace.post(f"/memories/{memory_id}/reveal/", headers=DRAWER).content.decode()
    assert "anna.silva@example.org" in part
    assert "Shown without masks this once" in part


def test_strength_is_explained_with_its_numbers(palace: Client, alice: Actor, store: Store) -> None:
    memory_id = store("We met in Lisbon.", importance=0.8)
    with owner_scope(alice.owner_id):
        Memory.objects.filter(pk=memory_id).update(created_at=now() - timedelta(days=60))
    html = html_of(palace, memory_id)
    assert "0.80 × 0.5^(60.0 / 60) + 0.00 = 0.400" in html
    assert "twice as long since its importance is above 0.7" in html
    assert 'class="decay"' in html
    assert "The curve as a table" in html
    assert "Memories of this sort do not go by fading alone." in html


def test_what_fades_says_when_it_goes(palace: Client, alice: Actor, make_agent: Callable[..., Any]) -> None:
    agent, _ = make_agent(alice)
    turns = [TurnDraft(draft=Draft(text="I moved to Porto.", importance=0.4, role="user"))]
    memory_id = ingest_turns(actor=agent, session="chat", turns=turns).turns[0].memory_id
    assert memory_id is not None
    html = html_of(palace, memory_id)
    assert "If nobody uses it, it is archived in 2 months" in html or "it is archived in 3 months" in html
    assert "archived below" in html
    assert "archived from here on" in html


def test_a_memory_names_the_turn_it_rests_on(palace: Client, alice: Actor, make_agent: Callable[..., Any]) -> None:
    agent, _ = make_agent(alice)
    texts = ["Where do you live?", "I moved to <b>Porto</b>.", "Nice."]
    told = ingest_turns(
        actor=agent,
        session="kitchen <i>talk</i>",
        turns=[TurnDraft(draft=Draft(text=text, role="user", speaker="Caroline")) for text in texts],
    )
    turn_id = told.turns[1].memory_id
    assert turn_id is not None
    html = html_of(palace, turn_id)
    for text in ("Caroline: Where do you live?", "Caroline: Nice."):
        assert text in html
    address = f"/conversations/{told.session_id}/"
    assert f"{address}?from=0&amp;turn={turn_id}#turn-2" in html
    page = palace.get(f"{address}?turn={turn_id}").content.decode()
    assert "kitchen &lt;i&gt;talk" in page
    assert page.index("Where do you live?") < page.index("I moved to &lt;b&gt;Porto") < page.index("Nice.")
    assert page.count('aria-current="true"') == 1
    assert "Nice." not in palace.get(f"{address}?from=3").content.decode().split("<main")[1].split("</main")[0]
    assert address in palace.get("/conversations/").content.decode()


@pytest.mark.parametrize(("query", "status"), [("from=x", 422), ("from=-1", 422), ("after=x", 200)])
def test_a_place_in_a_conversation_is_a_number(
    palace: Client, alice: Actor, make_agent: Callable[..., Any], query: str, status: int
) -> None:
    agent, _ = make_agent(alice)
    told = ingest_turns(actor=agent, session="chat", turns=[TurnDraft(draft=Draft(text="Hello.", role="user"))])
    assert palace.get(f"/conversations/{told.session_id}/?{query}").status_code == status


def test_a_conversation_is_the_owners_own(stranger: Client, alice: Actor, make_agent: Callable[..., Any]) -> None:
    agent, _ = make_agent(alice)
    told = ingest_turns(actor=agent, session="chat", turns=[TurnDraft(draft=Draft(text="Hello.", role="user"))])
    assert stranger.get(f"/conversations/{told.session_id}/").status_code == 404
    assert "No conversation yet" in stranger.get("/conversations/").content.decode()


def test_linking_and_unlinking(palace: Client, alice: Actor, store: Store) -> None:
    first, second = store("We met in Lisbon."), store("The tram climbs the hill.")
    found = palace.get(f"/memories/{first}/link/", {"q": "tram hill"}).content.decode()
    assert "The tram climbs the hill." in found
    palace.post(
        f"/memories/{first}/link/", {"target": str(second), "kind": "supports", "relationship": "same <b>trip</b>"}
    )
    html = html_of(palace, first)
    assert "supports" in html
    assert "same &lt;b&gt;trip" in html
    assert "is supported by" in html_of(palace, second)
    [edge] = edges_of(actor=alice, memory_id=first)
    palace.post(f"/memories/{second}/links/{edge.edge.pk}/remove/")
    assert edges_of(actor=alice, memory_id=first) == []
    for bad in ({"target": "x"}, {"target": str(first)}, {"target": str(second), "kind": "hates"}):
        answer = palace.post(f"/memories/{first}/link/", {"q": "tram", **bad})
        assert answer.status_code == 422
        assert 'role="alert"' in answer.content.decode()


def test_names_that_stand_in_the_text_can_be_noted(palace: Client, alice: Actor, store: Store) -> None:
    first, second = store("Lunch with Renée Silva’s sister."), store("Renée Silva likes trams.")
    entity_id = known(alice, "Renée Silva", second)
    html = html_of(palace, first)
    assert "Mentioned but not linked" in html
    assert "Note it" in html
    palace.post(f"/memories/{first}/names/{entity_id}/")
    ties = ties_of(actor=alice, memory_id=first)
    assert [one.name for one in ties.spoken] == ["Renée Silva"]
    assert ties.named == []
    assert [(one.memory.pk, one.name) for one in ties.sharing] == [(second, "Renée Silva")]
    palace.post(f"/memories/{first}/link/", {"target": str(second)})
    assert ties_of(actor=alice, memory_id=first).sharing == []


def test_a_contradiction_is_a_pair_with_its_rule(palace: Client, alice: Actor, store: Store) -> None:
    older, newer = store("Renée loves pizza."), store("Renée hates pizza.")
    payload = {"older": str(older), "newer": str(newer), "reason": "polarity"}
    item = opened(alice, ReviewKind.CONTRADICTION, payload, evidence=[(older, ""), (newer, "")])
    html = html_of(palace, newer)
    assert "Both cannot hold" in html
    assert "the statement made last stands" in html
    assert "Renée loves pizza." in html
    palace.post(f"/memories/{newer}/doubts/{item.pk}/", {"decision": "approve"})
    assert get_memory(actor=alice, memory_id=older).status == "superseded"
    assert "Decide otherwise" in html_of(palace, newer)
    palace.post(f"/memories/{newer}/doubts/{item.pk}/", {"decision": "undo"})
    assert get_memory(actor=alice, memory_id=older).status == "live"
    assert palace.post(f"/memories/{newer}/doubts/{item.pk}/", {"decision": "maybe"}).status_code == 422


def test_a_dispute_stands_on_the_page(palace: Client, alice: Actor, store: Store) -> None:
    memory_id = store("We met in Lisbon.")
    refused = palace.post(f"/memories/{memory_id}/dispute/", {"reason": " "})
    assert refused.status_code == 422
    assert 'role="alert"' in refused.content.decode()
    reason = "It was <i>Porto</i>, ask anna.silva@example.org."
    answer = palace.post(f"/memories/{memory_id}/dispute/", {"reason": reason}, follow=True).content.decode()
    assert "It was &lt;i&gt;Porto&lt;/i&gt;" in answer
    assert "anna.silva@example.org" not in answer
    assert "It is disputed, and nobody has decided yet." in answer
    item, created = dispute_memory(actor=alice, memory_id=memory_id, reason=reason)
    assert not created
    approve(actor=alice, item_id=item.pk)
    assert "found right" in html_of(palace, memory_id)
    again = palace.post(f"/memories/{memory_id}/dispute/", {"reason": "x"})
    assert again.status_code == 409


def test_history_shows_words_that_changed_and_goes_back(palace: Client, alice: Actor, store: Store) -> None:
    memory_id = store("We met in <b>Lisbon</b> in May.", tags=["travel"])
    change_memory(actor=alice, memory_id=memory_id, changes={"text": "We met in Porto in May.", "tags": ["work"]})
    change_memory(actor=alice, memory_id=memory_id, changes={"importance": 0.9})
    html = html_of(palace, memory_id)
    assert "<ins>Porto</ins>" in html
    assert "Lisbon" in html.split("<del>")[1].split("</ins>")[0]
    assert "<b>Lisbon" not in html
    palace.post(f"/memories/{memory_id}/versions/1/")
    row = get_memory(actor=alice, memory_id=memory_id)
    assert (row.text, row.tags, row.version) == ("We met in <b>Lisbon</b> in May.", ["travel"], 4)
    assert len(history(actor=alice, memory_id=memory_id)) == 3
    assert palace.post(f"/memories/{memory_id}/versions/9/").status_code == 404
    archive_memory(actor=alice, memory_id=memory_id)
    assert palace.post(f"/memories/{memory_id}/versions/1/").status_code == 409


def test_a_difference_holds_both_texts_and_leaves_out_what_is_far_from_it() -> None:
    far = " ".join(f"word{number}" for number in range(200))
    pieces = difference(f"{far} cat {far}", f"{far} dog {far}")
    assert [piece.sort for piece in pieces] == ["left out", "same", "gone", "new", "same", "left out"]
    assert [piece.text for piece in pieces if piece.sort in ("gone", "new")] == ["cat", "dog"]
    assert difference("same", "same") == []


def test_the_newest_of_many_long_versions_are_compared(palace: Client, alice: Actor, store: Store) -> None:
    long = "lorem " * 3_400
    memory_id = store(f"first {long}")
    for number in range(12):
        change_memory(actor=alice, memory_id=memory_id, changes={"text": f"again{number} {long}"})
    page = html_of(palace, memory_id)
    assert page.count('class="text diff"') == 10
    assert "first lorem" in page


def test_hostile_text_stays_text_everywhere(palace: Client, alice: Actor, store: Store) -> None:
    hostile = "<script>alert(1)</script> [x](javascript:alert(1)) \u202edesrever " + "w" * 200
    first = store(hostile, tags=[f"<i>{number}</i>" for number in range(50)], source="<b>s</b>")
    second = store(f"{hostile} again")
    known(alice, "<u>name</u>", first, second)
    link_memories(actor=alice, source_id=first, target_id=second, relationship=hostile[:300])
    dispute_memory(actor=alice, memory_id=first, reason=hostile)
    change_memory(actor=alice, memory_id=first, changes={"text": f"{hostile} changed"})
    pages = [f"/memories/{first}/{page}" for page in ("", "edit/", "dispute/", "link/?q=desrever")]
    for headers in ({}, DRAWER):
        for path in pages:
            html = palace.get(path, headers=headers).content.decode()
            for markup in ("<script>alert", 'href="javascript', "<i>1", "<b>s", "<u>name"):
                assert markup not in html, (path, markup)


def test_a_page_asks_as_often_whatever_there_is(
    palace: Client, alice: Actor, store: Store, django_assert_max_num_queries: Any, make_agent: Callable[..., Any]
) -> None:
    agent, _ = make_agent(alice)
    told = ingest_turns(
        actor=agent,
        session="chat",
        turns=[TurnDraft(draft=Draft(text=f"Turn {number} of it.", role="user")) for number in range(30)],
    )
    memory_id = told.turns[3].memory_id
    assert memory_id is not None

    def fill(count: int) -> None:
        others = [store(f"Statement {count} {number} of many.") for number in range(count)]
        known(alice, f"Anna {count}", memory_id, *others)
        for other in others:
            link_memories(actor=alice, source_id=memory_id, target_id=other, relationship=f"as {count}")
            payload = {"older": str(other), "newer": str(memory_id)}
            opened(alice, ReviewKind.CONTRADICTION, payload, evidence=[(memory_id, ""), (other, "")])
        change_memory(actor=alice, memory_id=memory_id, changes={"text": f"Turn 3 of it, {count}."})

    fill(1)
    html_of(palace, memory_id)
    with CaptureQueriesContext(connection) as few:
        html_of(palace, memory_id)
    fill(6)
    with django_assert_max_num_queries(len(few)):
        html_of(palace, memory_id)
    with django_assert_max_num_queries(len(few)):
        palace.get(f"/conversations/{told.session_id}/")
