"""The sleep pass without a model, and the salience that it re-rates."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from memory.models import Memory, MemoryAccess, MemoryVector, owner_scope
from memory.ports import Extract, ExtractedEntity, Passage, Usage
from memory.services.actors import Actor
from memory.services.graph.entities import EntityDraft, merge_entity
from memory.services.questions import RecallRequest
from memory.services.recall import recall
from memory.services.reinforcement import flush
from tests.integration.consolidation.dreams import (
    THREE,
    Silent,
    dreaming,
    edges,
    entities_of,
    link,
    links,
    row,
    sleep,
    store,
)
from tests.integration.consolidation.stage import MONDAY, Stopped, say


@pytest.mark.django_db
class TestSalience:
    def test_it_can_be_switched_off(self, alice: Actor, time: Stopped) -> None:
        ids = store(alice, *THREE, tier="episodic")
        with dreaming(connections=links(link(1, 2))) as chat:
            _, rerating, _ = sleep(alice, MONDAY, model=chat.model, sleep_rerate=False)
        assert (rerating.state, rerating.counts) == ("skipped", {})
        assert [row(alice, one).salience for one in ids] == [0.6, 0.6, 0.6]

    def test_links_of_one_pass_raise_it_by_three_tenths_at_most_and_never_past_one(
        self, alice: Actor, time: Stopped
    ) -> None:
        ids = store(alice, *THREE, "The slates are blue.", "Blue is out of fashion.", tier="episodic")
        with owner_scope(alice.owner_id):
            Memory.objects.filter(pk=ids[0]).update(salience=0.95)
            Memory.objects.filter(pk=ids[1]).update(salience=1.0)
        hub = [link(1, number) for number in (2, 3, 4, 5)]
        with dreaming(connections=links(*hub)) as chat:
            _, rerating, _ = sleep(alice, MONDAY, model=chat.model)
        assert [round(row(alice, one).salience, 3) for one in ids] == [1.0, 1.0, 0.7, 0.7, 0.9]
        assert rerating.counts == {"raised": 4}

    def test_use_since_the_last_pass_raises_it_a_little(self, alice: Actor, time: Stopped) -> None:
        used, before, never = store(alice, *THREE, tier="episodic")
        time.pass_(hours=1)
        found = recall(actor=alice, request=RecallRequest(query="The roof waits for slates.", limit=1))
        assert [hit.memory.pk for hit in found.hits] == [used]
        flush()
        with owner_scope(alice.owner_id):
            MemoryAccess.objects.create(
                owner_id=alice.owner_id, memory_id=before, access_count=3, last_accessed=MONDAY - timedelta(days=1)
            )
            Memory.objects.filter(pk__in=[used, before, never]).update(slept_at=MONDAY)
        with dreaming() as chat:
            sleep(alice, time.at, model=chat.model, again_before=time.at)
        assert [round(row(alice, one).salience, 3) for one in (used, before, never)] == [0.65, 0.6, 0.6]


class Named(Silent):
    """An extractor that finds what begins with a capital."""

    def extract(self, passages: Any) -> Extract:
        found: dict[str, list[str]] = {}
        for passage in passages:
            assert isinstance(passage, Passage)
            for word in passage.text.replace(".", "").split()[1:]:
                if word[0].isupper():
                    found.setdefault(word, []).append(passage.key)
        return Extract(
            entities=[ExtractedEntity(name=name, type="person", passages=tuple(keys)) for name, keys in found.items()]
        )


@pytest.mark.django_db
class TestRules:
    def test_without_a_model_what_shares_an_entity_is_linked(self, alice: Actor, time: Stopped) -> None:
        texts = ("Yesterday Ines phoned.", "A parcel from Ines came.", "The gate squeaks.", "Rain fell on Monday.")
        phoned, parcel, gate, rain = store(alice, *texts)
        with owner_scope(alice.owner_id):
            # The embedder of the tests knows letters only, so that everything would be near.
            MemoryVector.objects.all().delete()
        report, _, context = sleep(alice, MONDAY, extractor=Named())
        assert (report.notes, context.usage) == (["way:rules"], Usage())
        assert (report.counts["insights"], report.counts["reviewed"]) == (0, 4)
        assert (entities_of(alice, phoned), entities_of(alice, rain), entities_of(alice, gate)) == (
            {"Ines"},
            {"Monday"},
            set(),
        )
        assert edges(alice) == [(parcel, phoned, "related_to", None, None)]

    def test_mentions_that_are_known_already_count_too_and_no_pair_is_linked_twice(
        self, alice: Actor, time: Stopped
    ) -> None:
        texts = ("Yesterday Ines phoned.", "A parcel from Ines came.", "The gate squeaks.", "Rain fell on Monday.")
        phoned, parcel, *_ = store(alice, *texts)
        merge_entity(actor=alice, draft=EntityDraft(name="Ines", type="person"), memory_id=phoned)
        merge_entity(actor=alice, draft=EntityDraft(name="Ines", type="person"), memory_id=parcel)
        with owner_scope(alice.owner_id):
            MemoryVector.objects.all().delete()
        for hour in (1, 2):
            again = MONDAY + timedelta(hours=hour)
            sleep(alice, again, again_before=again)
            assert edges(alice) == [(parcel, phoned, "related_to", None, None)]

    def test_what_is_near_in_meaning_is_linked_and_no_more_than_the_setting(self, alice: Actor, time: Stopped) -> None:
        text = "The harbour crane was painted red"
        ids = store(alice, f"{text}.", f"{text}!", f"{text} .", "A cake with plums.")
        report, rerating, _ = sleep(alice, MONDAY, sleep_connections=2)
        found = edges(alice)
        assert (report.counts["connections"], len(found)) == (2, 2)
        assert all(kind == "similar_to" for _, _, kind, _, _ in found)
        assert all(ids[3] not in (source, target) for source, target, *_ in found)

    def test_neighbours_in_a_conversation_need_no_link(self, alice: Actor, time: Stopped) -> None:
        text = "The harbour crane was painted red"
        _, turns = say(alice, "s", ("user", f"{text}."), ("assistant", f"{text}!"), ("user", f"{text} ."), at=MONDAY)
        sleep(alice, MONDAY + timedelta(hours=1))
        assert [(source, target) for source, target, *_ in edges(alice)] == [(turns[2], turns[0])]
