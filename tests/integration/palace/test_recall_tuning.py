"""The five sliders, the owner's own values of a profile, and saved questions."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest
from django.test import Client

from memory.ids import new_id
from memory.models import AuditEvent, Memory, SavedSearch, owner_scope
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.graph.bonds import bonds_of
from memory.services.graph.edges import link_memories
from memory.services.graph.entities import EntityDraft, merge_entity
from memory.services.profiles import get_profile
from memory.services.saved_searches import MOST_SAVED, list_saved_searches, save_search
from memory.services.settings import change_settings
from tests.integration.palace.conftest import HTMX

Store = Callable[..., UUID]
FORM = {"base": "", "profile": "", "words": "0.55", "meaning": "0.45", "half_life": "180", "mmr": "1", "threshold": "0"}
"""What the form of a page sends when nothing was moved."""


def order(html: str) -> list[str]:
    return re.findall(r'id="text-([0-9a-f-]+)"', html)


def value(html: str, slider: str) -> str:
    found = re.search(rf'name="{slider}"[^>]* value="([^"]*)"', html)
    assert found, slider
    return found[1]


def test_sliders_stand_where_the_profile_puts_them(palace: Client, store: Store) -> None:
    store("We met in Lisbon.")
    html = palace.get("/?q=lisbon").content.decode()
    assert [value(html, name) for name in ("words", "meaning", "half_life", "mmr", "threshold")] == [
        "0.55", "0.45", "180", "1", "0",
    ]  # fmt: skip
    assert "180 days</output>" in html
    engram = palace.get("/?q=lisbon&profile=engram").content.decode()
    assert [value(engram, name) for name in ("words", "meaning", "half_life", "mmr", "threshold")] == [
        "1", "1", "30", "0.7", "30",
    ]  # fmt: skip
    praxis = palace.get("/?q=lisbon&profile=praxis").content.decode()
    assert value(praxis, "meaning") == "0", "it does not look for meaning"
    assert "never</output>" in praxis


def test_only_moved_sliders_stand_in_the_address(palace: Client, store: Store) -> None:
    store("We met in Lisbon.")
    assert palace.get("/", {"q": "lisbon", **FORM}, headers=HTMX)["HX-Replace-Url"] == "/?q=lisbon"
    moved = palace.get("/", {"q": "lisbon", **FORM, "words": "0.9", "mmr": "0.3"}, headers=HTMX)
    assert moved["HX-Replace-Url"] == "/?q=lisbon&words=0.9&mmr=0.3"
    assert "Save as my own values" in moved.content.decode()
    assert "Own weights of words and meaning take that off" in moved.content.decode()
    other = palace.get("/", {"q": "lisbon", **FORM, "profile": "engram"}, headers=HTMX)
    assert other["HX-Replace-Url"] == "/?q=lisbon&profile=engram", "they stood where the former profile put them"
    assert 'id="tuning" hx-swap-oob' in other.content.decode()


def test_moving_a_slider_changes_what_is_found(palace: Client, alice: Actor, store: Store) -> None:
    old = store("The Lisbon trip, the Lisbon trip.", kind="fact")
    with owner_scope(alice.owner_id):
        Memory.objects.filter(pk=old).update(created_at=now() - timedelta(days=1000))
    new = store("A trip to Lisbon.", kind="fact")
    faded = palace.get("/?q=lisbon+trip&profile=cortex&half_life=1&meaning=0").content.decode()
    assert order(faded)[0] == str(new)
    lasting = palace.get("/?q=lisbon+trip&profile=cortex&half_life=366&meaning=0").content.decode()
    assert order(lasting)[0] == str(old)
    assert "faded by age" in faded
    assert "faded by age" not in lasting
    assert "put here by mmr" in palace.get("/?q=lisbon+trip&mmr=0.2").content.decode()
    assert order(palace.get("/?q=lisbon+trip&threshold=100").content.decode()) == []
    only_words = palace.get("/?q=lisbon+trip&profile=praxis").content.decode()
    assert "similar meaning" not in only_words
    assert "similar meaning" in palace.get("/?q=lisbon+trip&profile=praxis&meaning=0.5").content.decode()


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("words=-1", "profile.invalid"), ("words=3", "profile.invalid"), ("mmr=2", "profile.invalid"),
        ("half_life=0", "profile.invalid"), ("meaning=nan", "profile.invalid"), ("words=%D9%A3", "profile.invalid"),
        ("mmr=none", "profile.invalid"), ("threshold=101", "threshold.out_of_range"),
    ],
)  # fmt: skip
def test_a_slider_beyond_its_ends_is_refused(palace: Client, store: Store, query: str, code: str) -> None:
    store("We met in Lisbon.")
    answer = palace.get(f"/?q=lisbon&{query}")
    assert answer.status_code == 422
    assert code in answer.content.decode()


def test_own_values_are_kept_undone_and_reset(palace: Client, alice: Actor, store: Store) -> None:
    store("We met in Lisbon.")

    def threshold() -> float:
        return float(get_profile(actor=alice, name="default")["threshold"])

    kept = palace.post(
        "/profiles/default/keep/", {"threshold": "20", "words": "0.8", "next": "/?q=lisbon"}, follow=True
    )
    html = kept.content.decode()
    assert "your own values of the profile “default” now" in html
    assert threshold() == 0.2
    assert get_profile(actor=alice, name="default")["weights"]["lexical"] == 0.8
    assert value(html, "threshold") == "20"
    assert value(html, "words") == "0.8"
    palace.post("/profiles/default/keep/", {"threshold": "40"})
    html = palace.get("/?q=lisbon").content.decode()
    assert "threshold 0.4" in html
    assert "Bring back" in html
    palace.post("/profiles/default/restore/", {"version": "1"})
    assert threshold() == 0.2
    palace.post("/profiles/default/reset/")
    assert threshold() == 0.0
    palace.post("/profiles/default/restore/", {"version": "2"})
    assert threshold() == 0.4
    assert get_profile(actor=alice, name="default")["version"] == 5
    with owner_scope(alice.owner_id):
        assert AuditEvent.objects.filter(object_kind="profile").count() == 5


@pytest.mark.parametrize(
    ("path", "form", "status"),
    [
        ("/profiles/best/keep/", {"words": "1"}, 404),
        ("/profiles/default/keep/", {}, 422),
        ("/profiles/default/keep/", {"words": "9"}, 422),
        ("/profiles/default/restore/", {"version": "9"}, 404),
        ("/profiles/default/restore/", {"version": "x"}, 422),
        ("/profiles/best/restore/", {"version": "0"}, 404),
        ("/profiles/best/reset/", {}, 404),
    ],
)
def test_own_values_that_cannot_be(palace: Client, path: str, form: dict[str, str], status: int) -> None:
    assert palace.post(path, form).status_code == status
    assert palace.get(path).status_code == 405
    assert Client().post(path, form).status_code == 302


def test_a_question_is_saved_opened_renamed_and_deleted(palace: Client, alice: Actor, store: Store) -> None:
    store("We met in Lisbon.", kind="note")
    html = palace.get("/?q=lisbon&f=kind:note&limit=3").content.decode()
    assert "None yet." in html
    form = dict(re.findall(r'name="(question|choices|next)" value="([^"]*)"', html.split('class="save"')[1]))
    form = {name: text.replace("&amp;", "&") for name, text in form.items()}
    saved = palace.post("/questions/save/", {**form, "name": "  Where we  met "}, follow=True)
    assert "The question is saved" in saved.content.decode()
    (row,) = list_saved_searches(actor=alice)
    assert (row.name, row.question, row.choices) == ("Where we met", "lisbon", "f=kind%3Anote&limit=3")
    opened = palace.get(f"/questions/{row.pk}/")
    assert opened["Location"] == "/?q=lisbon&f=kind%3Anote&limit=3"
    assert "1 filter" in palace.get("/").content.decode()
    palace.post(f"/questions/{row.pk}/rename/", {"name": "Meetings"})
    assert "Meetings" in palace.get("/").content.decode()
    palace.post(f"/questions/{row.pk}/delete/")
    assert list_saved_searches(actor=alice) == []
    assert palace.get(f"/questions/{row.pk}/").status_code == 404


def test_saved_questions_are_sealed_and_covered(palace: Client, alice: Actor) -> None:
    save_search(actor=alice, name="Anna anna.silva@example.org", question="call +351 912 345 678")
    html = palace.get("/").content.decode()
    assert "anna.silva" not in html
    assert "912 345" not in html
    with owner_scope(alice.owner_id):
        stored = SavedSearch.objects.get().__dict__
    assert "anna" not in str({name: str(text) for name, text in stored.items() if not name.startswith("_opened")})


def test_saved_questions_have_limits(palace: Client, stranger: Client, alice: Actor) -> None:
    for form, code in (
        ({"name": "x"}, "saved_search.empty"), ({"name": " ", "question": "a"}, "text.empty"),
        ({"name": "x" * 81, "question": "a"}, "name.too_long"),
        ({"name": "x", "choices": "f" * 5000}, "text.too_large"),
    ):  # fmt: skip
        answer = palace.post("/questions/save/", form)
        assert answer.status_code in (413, 422)
        assert code in answer.content.decode()
    for number in range(MOST_SAVED):
        save_search(actor=alice, name=f"Question {number}", question="tea")
    assert "saved_search.too_many" in palace.post("/questions/save/", {"name": "x", "question": "a"}).content.decode()
    row = list_saved_searches(actor=alice)[0]
    for action in ("", "rename/", "delete/"):
        ask = stranger.post if action else stranger.get
        assert ask(f"/questions/{row.pk}/{action}", {"name": "mine"}).status_code == 404
    assert list_saved_searches(actor=alice)[0].name == row.name


def test_shipped_questions_are_links_and_blanks(palace: Client, store: Store) -> None:
    store("Lisbon has seven hills.", kind="fact")
    html = palace.get("/").content.decode()
    assert '<a href="/?f=created%3Athis-week">What changed this week</a>' in html
    assert "seven hills" in palace.get("/?f=created:this-week").content.decode()
    assert '<label for="blank-believed">What do we believe about</label>' in html
    assert "seven hills" in palace.get("/?f=-kind:turn&f=status:holds&q=lisbon").content.decode()
    assert '<label for="blank-told">Who told us about</label>' in html


def test_a_hit_of_the_graph_says_what_links_it(palace: Client, alice: Actor, store: Store) -> None:
    first = store("Melanie paints a sunrise over the lake.")
    second = store("The horse on the canvas took her a month.")
    third = store("Carving the frame was hard work.")
    for memory_id in (first, second):
        merge_entity(actor=alice, draft=EntityDraft(name="Melanie", type="person"), memory_id=memory_id)
    link_memories(actor=alice, source_id=first, target_id=third)
    change_settings(actor=alice, changes={"recall_profile": "prax"})
    html = palace.get("/?q=what+has+Melanie+painted").content.decode()
    assert str(second) in order(html)
    hit = html.split(f'id="text-{second}"')[1].split("</li>")[0]
    assert "linked to <b><bdi>Melanie</bdi></b>" in hit
    bonds = bonds_of(actor=alice, found=[first, second, third], linked=[second, third], question="who paints")
    assert bonds[second].entity == "Melanie", "a better hit speaks of her too"
    assert bonds[third].memory_id == first
    hidden = replace(alice, kind="agent", agent_id=new_id())
    named = bonds_of(actor=hidden, found=[first, second], linked=[second], question="Melanie")
    assert named[second].entity == "Melanie", "it is the owner's, and every agent may see it"


def test_no_page_of_the_search_waits_for_a_permission(stranger: Client, alice: Actor, store: Store) -> None:
    store("We met in Lisbon.")
    save_search(actor=alice, name="Mine", question="lisbon")
    html = stranger.get("/?q=lisbon&words=1").content.decode()
    assert "Mine" not in html
    assert "I remember nothing yet" in html
