"""The graph page, its data, the communities and the page of an entity, as forms and links without a browser."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from memory.models import Entity, EntityMerge, Memory, Relation, Status, owner_scope
from memory.services.actors import Actor
from memory.services.graph.communities import divide_now
from memory.services.graph.edges import link_memories
from tests.integration.graph.conftest import entity, relate

Store = Callable[..., UUID]


@pytest.fixture
def world(alice: Actor, store: Store) -> dict[str, UUID]:
    """Two memories that are linked, and two people, one of whom both speak of."""
    first, second = store("Ann moved to Lisbon."), store("Ann likes the light there.", category="preference")
    link_memories(actor=alice, source_id=first, target_id=second, kind="supports")
    ann = entity(alice, "Ann", memory_id=first)
    entity(alice, "Ann", memory_id=second)
    lisbon = entity(alice, "Lisbon", "topic", memory_id=first)
    relation = relate(alice, ann, "lives in", lisbon, memory_id=first).relation.pk
    return {"first": first, "second": second, "ann": ann, "lisbon": lisbon, "relation": relation}


def test_the_page_lists_what_the_picture_shows(palace: Client, world: dict[str, UUID]) -> None:
    answer = palace.get("/graph/", {"memory": str(world["first"]), "depth": "2"})
    assert answer.status_code == 200
    page = answer.content.decode()
    for words in ("Ann moved to Lisbon.", "Ann likes the light there.", "2 memories, 2 names", "It starts from"):
        assert words in page
    assert page.count('<circle class="bubble') == 4
    data = data_of(page)
    assert [node[0] for node in data["nodes"]] == [row["id"] for row in rows_of(page)]
    assert {data["joins"][link[2]] for link in data["links"]} == {"supports", "speaks of", "lives in"}


def data_of(page: str) -> dict[str, Any]:
    """Read what the page holds for its script."""
    found: dict[str, Any] = json.loads(page.split("data-graph-data>")[1].split("</script>")[0])
    return found


def rows_of(page: str) -> list[dict[str, str]]:
    return [{"id": part.split('"')[0]} for part in page.split('<li data-node="')[1:]]


def test_the_two_times_are_said_in_words(palace: Client, world: dict[str, UUID]) -> None:
    page = palace.get("/graph/").content.decode()
    assert "What is known now." in page
    page = palace.get("/graph/", {"true_on": "2026-05-03", "known_on": "2026-05-04"}).content.decode()
    assert "What was true on May 3, 2026" in page
    assert "as it was known on May 4, 2026" in page
    assert "Nothing is there" in page


@pytest.mark.parametrize(
    ("asked", "status", "code"),
    [
        ({"memory": "x"}, 422, "id.invalid"),
        ({"memory": "0190aaaa-0000-7000-8000-000000000000"}, 404, "not_found"),
        ({"entity": "0190aaaa-0000-7000-8000-000000000000"}, 404, "not_found"),
        ({"community": "77"}, 404, "not_found"),
        ({"community": "x"}, 422, "community.invalid"),
        ({"true_on": "31.12."}, 422, "date.invalid"),
    ],
)
def test_what_cannot_be_shown_is_said_beside_the_newest(
    palace: Client, world: dict[str, UUID], asked: dict[str, str], status: int, code: str
) -> None:
    answer = palace.get("/graph/", asked)
    page = answer.content.decode()
    assert (answer.status_code, code in page, "Ann moved to Lisbon." in page) == (status, True, True)


def test_an_empty_graph_says_why_and_what_next(palace: Client) -> None:
    page = palace.get("/graph/").content.decode()
    assert "There is nothing to draw yet" in page
    assert "No communities yet" in palace.get("/graph/communities/").content.decode()


def test_words_that_nothing_fits_say_so_and_what_next(palace: Client, world: dict[str, UUID]) -> None:
    page = palace.get("/graph/", {"q": "zzzqq"}).content.decode()
    assert rows_of(page) == []
    for words in ("Nothing is there", "Take other words", "Begin with the newest"):
        assert words in page
    assert "It starts from" not in page


def test_the_rest_of_the_list_is_a_link_away(palace: Client, alice: Actor, store: Store) -> None:
    hub = store("The hub.")
    for place in range(70):
        link_memories(actor=alice, source_id=hub, target_id=store(f"Spoke {place}."))
    page = palace.get("/graph/", {"memory": str(hub)}).content.decode()
    assert len(rows_of(page)) == 60
    assert "and 11 more" in page
    assert len(rows_of(palace.get("/graph/", {"memory": str(hub), "rows": "180"}).content.decode())) == 71


def test_the_page_does_not_grow_with_its_rows(palace: Client, alice: Actor, store: Store) -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as asked:
            palace.get("/graph/", {"memory": str(hub), "depth": "2"})
        return len(asked)

    def add(place: int) -> None:
        spoke = store(f"Spoke {place}.")
        link_memories(actor=alice, source_id=hub, target_id=spoke)
        entity(alice, f"Name {place}", memory_id=spoke)
        relate(alice, "Name 0", "knows", entity(alice, f"Friend {place}"))

    hub = store("The hub.")
    for place in range(2):
        add(place)
    few = statements()
    for place in range(2, 12):
        add(place)
    assert statements() <= few


def test_communities_are_drawn_named_and_lead_to_the_graph(palace: Client, alice: Actor) -> None:
    for names in (("Ann", "Ben", "Cid"), ("Dan", "Eva", "Fay")):
        for first, second in ((0, 1), (1, 2), (0, 2)):
            for name in names:
                entity(alice, name)
            relate(alice, names[first], "knows", names[second], weight=0.9)
    relate(alice, "Ann", "met", "Dan", weight=0.1)
    divide_now(actor=alice)
    page = palace.get("/graph/communities/").content.decode()
    assert page.count('class="bubble') == 2
    assert page.count('class="road"') == 1
    assert "modularity" in page
    assert palace.post("/graph/communities/1/rename/", {"name": "The kitchen"}).status_code == 302
    page = palace.get("/graph/communities/").content.decode()
    assert "The kitchen" in page
    graph = palace.get("/graph/", {"community": "1", "colour": "community"}).content.decode()
    assert "It starts from: The kitchen" in graph
    assert palace.post("/graph/communities/9/rename/", {"name": "x"}).status_code == 404
    palace.post("/graph/communities/divide/")
    assert "Looked again: 2 communities." in palace.get("/graph/communities/").content.decode()


def test_a_community_of_memories_alone_goes_by_how_its_strongest_begins(
    palace: Client, alice: Actor, store: Store
) -> None:
    for texts in (
        ("Write to ann.lee@example.org about the kiln.", "The kiln is hot.", "Glaze waits on the shelf."),
        ("Sails are mended.", "The boat is dry.", "The mast is new."),
    ):
        ids = [store(text, importance=0.9 if place == 0 else 0.3) for place, text in enumerate(texts)]
        for first, second in ((0, 1), (1, 2), (0, 2)):
            link_memories(actor=alice, source_id=ids[first], target_id=ids[second], kind="related_to", weight=0.9)
    divide_now(actor=alice)
    page = palace.get("/graph/communities/").content.decode()
    assert "ann.lee@example.org" not in page
    for words in ("Write to [EMAIL] about the kiln.", "Sails are mended."):
        assert f"<title>{words}</title>" in page
        assert f'dir="auto">{words}</a></th>' in page
        assert f"Name of {words}" in page
    graph = palace.get("/graph/", {"colour": "community"}).content.decode()
    assert "<bdi>Sails are mended.</bdi>" in graph.split('class="legend-colours"')[1]
    assert "no community" not in graph


def test_a_community_of_which_nothing_can_be_read_goes_by_its_number(
    palace: Client, alice: Actor, store: Store
) -> None:
    ids = [store(text) for text in ("Sails are mended.", "The boat is dry.", "The mast is new.")]
    for first, second in ((0, 1), (1, 2), (0, 2)):
        link_memories(actor=alice, source_id=ids[first], target_id=ids[second], kind="related_to", weight=0.9)
    divide_now(actor=alice)
    with owner_scope(alice.owner_id):
        Memory.objects.update(status=Status.ARCHIVED)
    assert "<title>Community 1</title>" in palace.get("/graph/communities/").content.decode()
    german = palace.get("/graph/communities/", headers={"accept-language": "de"}).content.decode()
    assert "<title>Gemeinschaft 1</title>" in german


def test_the_page_of_an_entity_says_what_is_known(palace: Client, world: dict[str, UUID]) -> None:
    page = palace.get(f"/graph/entities/{world['ann']}/").content.decode()
    for words in ("Ann", "lives in", "Lisbon", "Ann likes the light there.", "held from", "known since"):
        assert words in page


def test_a_relation_ends_or_is_taken_back(palace: Client, alice: Actor, world: dict[str, UUID]) -> None:
    page = f"/graph/entities/{world['ann']}/"
    answer = palace.post(f"/graph/relations/{world['relation']}/end/", {"next": page}, follow=True)
    assert "It has ended." in answer.content.decode()
    again = palace.post(f"/graph/relations/{world['relation']}/end/", follow=True).content.decode()
    assert "The relation has ended already." in again
    other = relate(alice, world["ann"], "knows", entity(alice, "Ben")).relation.pk
    assert "it never held" in palace.post(f"/graph/relations/{other}/retract/", follow=True).content.decode()
    with owner_scope(alice.owner_id):
        assert Relation.objects.get(pk=other).retracted_at is not None


def test_names_change_and_merge_and_part_again(palace: Client, alice: Actor, world: dict[str, UUID]) -> None:
    page = f"/graph/entities/{world['ann']}/"
    palace.post(f"{page}change/", {"name": "Ann Silva", "type": "person"})
    palace.post(f"{page}alias/", {"alias": "Annie"})
    other = entity(alice, "Ann Sylva")
    shown = palace.get(page).content.decode()
    assert "Annie" in shown
    assert "Ann Sylva" in shown
    assert "Choose another name first." in palace.post(f"{page}merge/", follow=True).content.decode()
    palace.post(f"{page}merge/", {"other": str(other)})
    with owner_scope(alice.owner_id):
        merge = EntityMerge.objects.get()
        assert not Entity.objects.filter(pk=other).exists()
    assert "They are two again." in palace.post(f"/graph/merges/{merge.pk}/undo/", follow=True).content.decode()
    palace.post(f"{page}apart/", {"other": str(other)})
    refused = palace.post(f"{page}change/", {"name": "Ann Sylva"}, follow=True).content.decode()
    assert "Another entity of this type bears that name." in refused


def test_an_entity_is_forgotten_only_when_one_is_sure(palace: Client, alice: Actor, world: dict[str, UUID]) -> None:
    page = f"/graph/entities/{world['ann']}/"
    assert "Tick that you are sure." in palace.post(f"{page}forget/", follow=True).content.decode()
    assert "Forgotten, with 1 relation." in palace.post(f"{page}forget/", {"sure": "yes"}, follow=True).content.decode()
    assert palace.get(page).status_code == 404


def test_personal_data_is_masked_everywhere(palace: Client, alice: Actor, store: Store) -> None:
    said = store("Write to anna.silva@example.org for invoices.")
    one = entity(alice, "anna.silva@example.org", memory_id=said)
    pages = ("/graph/", f"/graph/?memory={said}", f"/graph/entities/{one}/", f"/graph/?entity={one}")
    for address in pages:
        assert "anna.silva" not in palace.get(address).content.decode(), address


def test_a_hostile_memory_stays_text(palace: Client, alice: Actor, store: Store) -> None:
    said = store("<script>alert(1)</script>" + "x" * 200)
    entity(alice, '"><img src=x onerror=alert(1)>', memory_id=said)
    page = palace.get("/graph/", {"memory": str(said)}).content.decode()
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    # What it says ends no element of the page, and reaches the script as it is.
    labels = [node[1] for node in data_of(page)["nodes"]]
    assert len(labels) == 2
    assert any(label.startswith("<script>alert(1)</script>") for label in labels)


def test_nobody_sees_the_graph_of_another(stranger: Client, world: dict[str, UUID]) -> None:
    for address in (f"/graph/?memory={world['first']}", f"/graph/entities/{world['ann']}/"):
        answer = stranger.get(address)
        assert answer.status_code == 404
        assert "Lisbon" not in answer.content.decode()
