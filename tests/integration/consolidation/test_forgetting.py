"""What fades: which memories a policy archives, what the graph lets go, and that all of it comes back."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from memory.consolidation.policies import POLICIES, policy_named
from memory.consolidation.strength import FADED, STRENGTH, faded, strength, strength_parameters
from memory.ids import new_id
from memory.models import (
    AuditEvent,
    Entity,
    EntityMention,
    GraphState,
    Memory,
    MemoryAccess,
    OwnerActivity,
    Reflection,
    Relation,
    ReviewEvidence,
    ReviewItem,
    Skill,
    Status,
    Tier,
    owner_scope,
)
from memory.services.actors import Actor, system
from memory.services.bringing_back import restore_run
from memory.services.consolidation.forgetting import forget
from memory.services.consolidation.stages import StageContext, StageReport
from memory.services.drafts import Draft
from memory.services.graph.entities import EntityDraft, merge_entity
from memory.services.graph.reading import get_neighbours
from memory.services.graph.relations import RelationDraft, add_relation, relations_of
from memory.services.graph.writing import Reference
from memory.services.questions import RecallRequest
from memory.services.recall import recall
from memory.services.remember import remember
from memory.services.settings_table import OWNER_SETTINGS
from tests.integration.consolidation.stage import MONDAY, NoExtractor, Stopped, say


def forgetting(owner: Actor, at: datetime, **settings: Any) -> tuple[UUID, dict[str, StageReport]]:
    """Run the stage as somebody who asks for it, and give the run's id and the reports by name."""
    options = {"by_hand": settings.pop("by_hand", True)}
    values = {name: one.default for name, one in OWNER_SETTINGS.items()} | settings
    context = StageContext(system(owner.owner_id), new_id(), at, values, NoExtractor(), **options)
    return context.run_id, {report.name: report for report in forget(context)}


def stored(owner: Actor, text: str, **fields: Any) -> UUID:
    """Store a statement from which everything has been drawn."""
    row = {name: fields.pop(name) for name in ("salience",) if name in fields}
    memory_id = remember(actor=owner, draft=Draft(text=text, **fields)).memory_id
    with owner_scope(owner.owner_id):
        Memory.objects.filter(pk=memory_id).update(extracted_at=MONDAY, **row)
    return memory_id


def archived(owner: Actor) -> set[str]:
    with owner_scope(owner.owner_id):
        return {row.text for row in Memory.objects.filter(status=Status.ARCHIVED)}


def state(owner: Actor) -> list[Any]:
    """Give everything that a run could have changed."""
    with owner_scope(owner.owner_id):
        return [
            list(Memory.objects.order_by("pk").values_list("pk", "status", "importance", "salience", "archived_at")),
            list(MemoryAccess.objects.order_by("memory_id").values_list("memory_id", "access_count", "last_accessed")),
            list(Relation.objects.order_by("pk").values_list("pk", "weight", "retracted_at", "last_seen")),
            list(Entity.objects.order_by("pk").values_list("pk", "importance")),
            list(AuditEvent.objects.order_by("pk").values_list("pk", flat=True)),
            list(GraphState.objects.values_list("version", flat=True)),
        ]


@pytest.mark.parametrize("half_life", sorted({policy.half_life_days for policy in POLICIES.values()}))
def test_sql_and_python_agree(alice: Actor, time: Stopped, half_life: float) -> None:
    policy = next(policy for policy in POLICIES.values() if policy.half_life_days == half_life)
    cases = [
        (importance, days, uses)
        for importance in (0.0, 0.3, 0.7, 0.71, 1.0)
        for days in (0.0, 0.25, 31.0, 45.5, 400.0)
        for uses in (0, 1, 7)
    ]
    ids = [stored(alice, f"case {place}", importance=one[0]) for place, one in enumerate(cases)]
    moment = time.pass_(days=500)
    with owner_scope(alice.owner_id):
        for memory_id, (_, days, uses) in zip(ids, cases, strict=True):
            Memory.objects.filter(pk=memory_id).update(created_at=moment - timedelta(days=days, hours=5))
            if uses:
                MemoryAccess.objects.create(
                    memory_id=memory_id, access_count=uses, last_accessed=moment - timedelta(days=days)
                )
        with connection.cursor() as cursor:
            cursor.execute(
                f"""SELECT m.id, {STRENGTH}, {FADED.format(weight="m.importance", since="m.created_at")}
                FROM memory_memory m
                LEFT JOIN memory_memoryaccess a ON a.owner_id = m.owner_id AND a.memory_id = m.id""",
                dict(strength_parameters(policy, moment=moment)),
            )
            computed = {row[0]: row[1:] for row in cursor.fetchall()}
        used = {row.memory_id: row for row in MemoryAccess.objects.all()}
        for row in Memory.objects.all():
            use = used.get(row.pk)
            expected = strength(
                importance=row.importance,
                created_at=row.created_at,
                last_accessed=use.last_accessed if use else None,
                access_count=use.access_count if use else 0,
                half_life_days=half_life,
                moment=moment,
            )
            graph = faded(
                weight=row.importance,
                since=row.created_at,
                half_life_days=policy.graph_half_life_days,
                moment=moment,
            )
            assert computed[row.pk] == (pytest.approx(expected, abs=1e-12), pytest.approx(graph, abs=1e-12))
    assert len(computed) == len(cases)


class TestMemories:
    def test_by_default_faded_episodes_of_90_days_go(self, alice: Actor, mallory: Actor, time: Stopped) -> None:
        stored(mallory, "a stranger's", tier="episodic", importance=0.1)
        stored(alice, "faint", tier="episodic", importance=0.1)
        stored(alice, "usual", tier="episodic", importance=0.5)
        stored(alice, "important", tier="episodic", importance=0.8)
        stored(alice, "known", importance=0.0)
        stored(alice, "skilled", tier="procedural", importance=0.0)
        used = stored(alice, "used once", tier="episodic", importance=0.1)
        with owner_scope(alice.owner_id):
            MemoryAccess.objects.create(memory_id=used, access_count=1, last_accessed=MONDAY)
        assert forgetting(alice, time.pass_(days=89))[1]["decay"].counts == {"archived": 0}
        assert forgetting(alice, time.pass_(days=2))[1]["decay"].counts == {"archived": 1}
        assert archived(alice) == {"faint"}
        # 0.5 × 0.5^(d/30) falls below 0.05 after 99.66 days.
        forgetting(alice, time.pass_(days=8.6))
        assert archived(alice) == {"faint"}
        forgetting(alice, time.pass_(days=0.1))
        assert archived(alice) == {"faint", "usual"}
        forgetting(alice, time.pass_(days=3_000))
        assert archived(alice) == {"faint", "usual", "important"}
        assert archived(mallory) == set()

    def test_turns_fade_when_what_they_say_was_drawn(self, alice: Actor, time: Stopped) -> None:
        _, ids = say(alice, "s", ("user", "unread"), ("user", "read"), ("tool", "a tool's"), at=MONDAY)
        with owner_scope(alice.owner_id):
            Memory.objects.filter(pk=ids[1]).update(extracted_at=MONDAY)
        at = time.pass_(days=120)
        forgetting(alice, at)
        assert archived(alice) == {"read", "a tool's"}
        forgetting(alice, at, consolidation=False)
        assert archived(alice) == {"unread", "read", "a tool's"}

    @pytest.mark.parametrize(
        ("policy", "days", "gone"),
        [
            ("prax", 40, {"episodic", "semantic", "procedural", "reflection"}),
            ("engram", 101, {"episodic", "semantic", "procedural", "reflection"}),
            ("cortex", 40, {"episodic", "reflection"}),
            ("praxis", 91, {"episodic"}),
            ("default", 101, {"episodic", "reflection"}),
            ("keep", 4_000, set()),
        ],
    )
    def test_each_policy_takes_its_own(
        self, alice: Actor, time: Stopped, policy: str, days: float, gone: set[str]
    ) -> None:
        for tier in ("episodic", "semantic", "procedural", "reflection"):
            stored(alice, tier, tier=tier, salience=0.2)
        forgetting(alice, time.pass_(days=days), retention_policy=policy)
        assert archived(alice) == gone

    def test_a_raised_salience_keeps_an_episode_under_praxis(self, alice: Actor, time: Stopped) -> None:
        stored(alice, "low", tier="episodic", salience=0.2)
        stored(alice, "raised", tier="episodic", salience=0.21)
        forgetting(alice, time.pass_(days=400), retention_policy="praxis")
        assert archived(alice) == {"low"}

    def test_a_reflection_is_stale_when_nothing_confirms_it(self, alice: Actor, time: Stopped) -> None:
        ids = {name: stored(alice, name, kind="pattern") for name in ("confirmed", "used", "stale")}
        at = time.pass_(days=20)
        with owner_scope(alice.owner_id):
            for place, (name, seen) in enumerate((("confirmed", at - timedelta(days=13)), ("stale", MONDAY))):
                Reflection.objects.create(
                    memory_id=ids[name], pattern_hash=place, last_reinforced_at=seen, scope=alice.owner_id
                )
            MemoryAccess.objects.create(memory_id=ids["used"], last_accessed=at - timedelta(days=13), access_count=1)
        forgetting(alice, at)
        assert archived(alice) == {"stale"}

    def test_what_somebody_waits_for_does_not_fade(self, alice: Actor, time: Stopped) -> None:
        names = ("reviewed", "decided", "skill", "retired skill", "dated")
        ids = {
            name: stored(
                alice,
                name,
                tier="episodic",
                importance=0.1,
                expires_at=MONDAY + timedelta(days=900) if name == "dated" else None,
            )
            for name in names
        }
        scope = {"visibility": "owner", "scope": alice.owner_id}
        with owner_scope(alice.owner_id):
            for place, (name, review) in enumerate((("reviewed", "open"), ("decided", "rejected"))):
                item = ReviewItem.objects.create(
                    kind="fact", state=review, reason="r", confidence=0.5, payload={}, payload_hash=bytes([place]),
                    created_at=MONDAY, updated_at=MONDAY, **scope,
                )  # fmt: skip
                ReviewEvidence.objects.create(item=item, memory_id=ids[name], scope=alice.owner_id)
            for place, (name, life) in enumerate((("skill", "verified"), ("retired skill", "archived"))):
                Skill.objects.create(
                    memory_id=ids[name], name=name, name_hash=place, steps=[], state=life, origin="rules",
                    created_at=MONDAY, updated_at=MONDAY, **scope,
                )  # fmt: skip
        forgetting(alice, time.pass_(days=400))
        assert archived(alice) == {"decided", "retired skill"}

    def test_more_than_a_batch(self, alice: Actor, time: Stopped, monkeypatch: pytest.MonkeyPatch) -> None:
        ids = {stored(alice, f"faint {number}", tier="episodic", importance=0.0) for number in range(7)}
        from memory.services.consolidation import forgetting as module

        monkeypatch.setattr(module, "FADING", module.FADING.replace("LIMIT 500", "LIMIT 3"))
        run_id, reports = forgetting(alice, time.pass_(days=100))
        assert reports["decay"].counts == {"archived": len(ids)}
        with owner_scope(alice.owner_id):
            audit = AuditEvent.objects.filter(object_id=run_id, verb="archive", reason="decay")
            assert sorted(audit.values_list("count", flat=True)) == [1, 3, 3]


class TestRuns:
    def test_twice_for_one_moment_is_once(self, alice: Actor, time: Stopped) -> None:
        known = stored(alice, "known", tier="episodic", importance=0.9)
        stored(alice, "faint", tier="episodic", importance=0.1)
        for name in ("Al", "Bo", "Cy"):
            merge_entity(actor=alice, draft=EntityDraft(name=name, type="person"), memory_id=known)
        draft = RelationDraft(source=Reference(name="Al"), label="knows", target=Reference(name="Bo"), weight=0.9)
        add_relation(actor=alice, draft=draft, memory_id=known)
        at = time.pass_(days=200)
        forgetting(alice, at, retention_policy="prax")
        before = state(alice)
        assert archived(alice) == {"faint", "known"}
        for _ in range(3):
            forgetting(alice, at, retention_policy="prax")
        assert state(alice) == before

    def test_it_depends_on_the_moment_and_not_on_the_number_of_runs(self, alice: Actor, time: Stopped) -> None:
        stored(alice, "usual", tier="episodic", importance=0.5)
        for _ in range(99):
            forgetting(alice, time.pass_(days=1))
        assert archived(alice) == set()

    def test_once_a_day_unless_somebody_asks(self, alice: Actor, time: Stopped) -> None:
        stored(alice, "faint", tier="episodic", importance=0.1)
        time.pass_(days=89.5)
        assert forgetting(alice, time.at, by_hand=False)[1]["decay"].state == "done"
        reports = forgetting(alice, time.pass_(hours=23.9), by_hand=False)[1]
        assert (reports["decay"].state, reports["decay"].skipped_reason) == ("skipped", "not.due")
        assert archived(alice) == set()
        assert forgetting(alice, time.at, by_hand=True)[1]["decay"].counts == {"archived": 1}
        with owner_scope(alice.owner_id):
            assert OwnerActivity.objects.get().last_forgotten_at == time.at

    @pytest.mark.parametrize(
        ("settings", "reason"),
        [({"forgetting": False}, "forgetting.off"), ({"retention_policy": "keep"}, "policy.keeps")],
    )
    def test_what_is_switched_off_does_nothing(
        self, alice: Actor, time: Stopped, settings: dict[str, Any], reason: str
    ) -> None:
        stored(alice, "faint", tier="episodic", importance=0.1)
        assert forgetting(alice, time.pass_(days=400), **settings)[1]["decay"].skipped_reason == reason
        assert archived(alice) == set()

    def test_a_run_is_taken_back_and_what_came_back_stays(self, alice: Actor, time: Stopped) -> None:
        stored(alice, "The ferry to Orkney was late.", tier="episodic", importance=0.1)
        run_id, _ = forgetting(alice, time.pass_(days=100))
        ferry = RecallRequest(query="ferry Orkney")
        assert recall(actor=alice, request=ferry).hits == []
        assert restore_run(actor=alice, run_id=run_id).restored == 1
        assert [hit.memory.text for hit in recall(actor=alice, request=ferry).hits] == ["The ferry to Orkney was late."]
        forgetting(alice, time.pass_(days=400))
        assert archived(alice) == set()


class TestGraph:
    def related(self, owner: Actor, *, weight: float = 0.5, memory_id: UUID | None) -> tuple[UUID, UUID]:
        """Relate two entities and give the relation and the first of them."""
        al = merge_entity(actor=owner, draft=EntityDraft(name="Al", type="person"), memory_id=memory_id).entity_id
        merge_entity(actor=owner, draft=EntityDraft(name="Lisbon", type="concept"), memory_id=memory_id)
        draft = RelationDraft(
            source=Reference(name="Al"), label="lives_in", target=Reference(name="Lisbon"), weight=weight
        )
        return add_relation(actor=owner, draft=draft, memory_id=memory_id).relation.pk, al

    def test_a_relation_that_nobody_speaks_of_is_no_longer_believed(self, alice: Actor, time: Stopped) -> None:
        fact = stored(alice, "Al lives in Lisbon.")
        relation, al = self.related(alice, memory_id=fact)
        # 0.5 × 0.5^(d/60) falls below 0.025 after 259.3 days.
        assert forgetting(alice, time.pass_(days=259))[1]["graph_decay"].counts == {"relations": 0}
        known = time.at
        run_id, reports = forgetting(alice, time.pass_(days=1))
        assert reports["graph_decay"].counts == {"relations": 1}
        assert relations_of(actor=alice, entity_id=al) == []
        then = relations_of(actor=alice, entity_id=al, known_at=known)
        assert [(row.pk, row.valid_until) for row in then] == [(relation, None)]
        with owner_scope(alice.owner_id):
            assert AuditEvent.objects.filter(object_id=run_id, verb="retract", object_kind="relation", count=1).exists()
            assert Entity.objects.count() == 2

    def test_a_run_gives_relations_back_but_none_that_was_replaced(self, alice: Actor, time: Stopped) -> None:
        fact = stored(alice, "Al lives in Lisbon.")
        relation, al = self.related(alice, memory_id=fact)
        run_id, _ = forgetting(alice, time.pass_(days=300))
        assert restore_run(actor=alice, run_id=run_id).relations == 1
        assert [row.pk for row in relations_of(actor=alice, entity_id=al)] == [relation]
        assert forgetting(alice, time.pass_(days=1))[1]["graph_decay"].counts == {"relations": 0}
        run_id, _ = forgetting(alice, time.pass_(days=300))
        merge_entity(actor=alice, draft=EntityDraft(name="Porto", type="concept"))
        draft = RelationDraft(source=Reference(name="Al"), label="lives_in", target=Reference(name="Porto"))
        moved = add_relation(actor=alice, draft=draft).relation.pk
        assert restore_run(actor=alice, run_id=run_id).relations == 0
        assert [row.pk for row in relations_of(actor=alice, entity_id=al)] == [moved]

    def test_what_somebody_has_stated_does_not_fade(self, alice: Actor, time: Stopped) -> None:
        _, al = self.related(alice, memory_id=None, weight=0.1)
        forgetting(alice, time.pass_(days=4_000))
        assert len(get_neighbours(actor=alice, entity_id=al).relations) == 1

    def test_bare_entities_go_and_come_back_with_what_speaks_of_them(self, alice: Actor, time: Stopped) -> None:
        memories = {name: stored(alice, f"about {name}", tier="episodic", importance=0.1) for name in ("Faro", "Braga")}
        memories["Evora"] = stored(alice, "about Evora")
        for name, memory_id in memories.items():
            draft = EntityDraft(name=name, type="concept", importance=0.3)
            merge_entity(actor=alice, draft=draft, memory_id=memory_id)
        merge_entity(actor=alice, draft=EntityDraft(name="stated", type="concept", importance=0.0))
        merge_entity(
            actor=alice, draft=EntityDraft(name="Braga", type="concept", importance=0.9), memory_id=memories["Faro"]
        )
        # 0.3 × 0.5^(d/60) falls below 0.05 after 155.1 days, 0.9 after 250.2.
        run_id, reports = forgetting(alice, time.pass_(days=160))
        assert reports["decay"].counts == {"archived": 2}
        assert reports["graph_garbage"].counts == {"entities": 1}
        with owner_scope(alice.owner_id):
            assert {row.name for row in Entity.objects.all()} == {"Braga", "Evora", "stated"}
            assert AuditEvent.objects.filter(object_id=run_id, object_kind="entity", verb="delete", count=1).exists()
            assert EntityMention.objects.filter(memory_id=memories["Faro"]).count() == 1
        restore_run(actor=alice, run_id=run_id)
        with owner_scope(alice.owner_id):
            unread = Memory.objects.filter(status=Status.LIVE, extracted_at=None)
            assert [row.pk for row in unread] == [memories["Faro"]]

    def test_policies_without_a_graph_leave_it_alone(self, alice: Actor, time: Stopped) -> None:
        fact = stored(alice, "Al lives in Lisbon.")
        _, al = self.related(alice, memory_id=fact)
        reports = forgetting(alice, time.pass_(days=4_000), retention_policy="praxis")[1]
        assert set(reports) == {"decay"}
        assert len(relations_of(actor=alice, entity_id=al)) == 1

    def test_nothing_to_let_go_changes_no_version(self, alice: Actor, time: Stopped) -> None:
        self.related(alice, memory_id=stored(alice, "Al lives in Lisbon."))
        before = state(alice)
        forgetting(alice, time.pass_(days=10))
        assert state(alice) == before


def test_a_policy_that_is_named_is_there() -> None:
    assert policy_named("cortex").tiers[Tier.EPISODIC].older_than_days == 30
