"""An owner of whom every word that a person or an agent can write is hostile to a page that shows it."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

import pytest

from memory.models import User
from memory.services.actors import Actor, Permission, Target
from memory.services.agents import create_group, create_key
from memory.services.saved_searches import save_search
from telemetry.services.costs.budgets import BudgetDraft, set_budget
from telemetry.services.coverage.reporting import ReportRequest, coverage_report
from telemetry.services.turns.drafts import TurnDraft
from telemetry.services.turns.recording import record_events
from tests.integration.api.conftest import Client, logged_in
from tests.integration.consolidation.reviewing import fact, opened
from tests.integration.leaks import world
from tests.integration.leaks.world import (
    LURE,
    Rows,
    compare,
    done,
    make_agent,
    make_owner,
    path_of,
    plant,
    purge_one,
    tell,
)

# Short enough for a tag, and in small letters, which tags are brought into.
IMAGE = "<img src=q onerror=planted()>"
SCRIPT = "<script>planted()</script>"
LINK = "[x](javascript:planted()) javascript:planted() <a href='javascript:planted()' data-planted>"
BIDI = "\u202etxet desrever \u2067"
UNBROKEN = "unbroken" * 25
BROKEN_OUT = "\"'></title></textarea></option><b data-planted> &lt;script&gt; &#60;b&#62; &amp;nbsp;"
TEMPLATE = "{{ 7|add:7 }} {% now 'Y' %} {{7*7}} ${7*7} #{7*7}"
EMPTY_LIKE = "null None undefined NaN nil \ufeff\u200b"
WRITTEN = {
    "script": SCRIPT, "link": LINK, "bidi": BIDI, "unbroken": UNBROKEN, "broken out": BROKEN_OUT,
    "template": TEMPLATE, "empty-like": EMPTY_LIKE,
}  # fmt: skip
NAME = "hostile"


@dataclass(frozen=True, slots=True)
class Hostile:
    """The owner, and the ids of rows of every kind by their names."""

    owner: Actor
    rows: Rows


def plant_hostile(monkeypatch: pytest.MonkeyPatch) -> Hostile:
    """Make an owner with hostile words in everything that takes words."""
    monkeypatch.setitem(world.MARKS, NAME, IMAGE)
    owner = make_owner(f"{UNBROKEN[:100]}")
    User.objects.filter(owner__id=owner.owner_id).update(is_staff=True)
    woman = logged_in(owner)
    squad = create_group(actor=owner, kind="squad", name=f"{SCRIPT} {BIDI}").pk
    project = create_group(actor=owner, kind="project", name=UNBROKEN[:100]).pk
    writer, client = make_agent(owner, f"{BIDI} scribe", frozenset(Permission), squad, project, mark=NAME)
    rows = plant(client, woman, writer, NAME, "owner")
    for name, written in WRITTEN.items():
        _write(client, woman, name, written, rows["memory"])
        _ask(writer, owner, written)
    rows["message"] = tell(client, IMAGE, "owner")
    key = create_key(actor=owner, agent_id=writer.agent_id, label=f"{SCRIPT} {BIDI}")  # type: ignore[arg-type]
    rows |= {"agent": str(writer.agent_id), "key": str(key.key_id), "group": str(project), "squad": str(squad)}
    rows |= purge_one(owner) | compare(owner, f"{SCRIPT} ")
    set_budget(actor=owner, draft=BudgetDraft(period="day", hard=1, agent_id=writer.agent_id))
    rows["cluster"] = coverage_report(actor=owner, request=ReportRequest()).clusters[0].key
    return Hostile(owner, rows)


def _write(client: Client, woman: Client, name: str, written: str, memory: str) -> None:
    """Say the same hostile words in each field that takes them."""
    short, shorter = written[:100], written[:40].strip()
    draft = {
        "text": f"The {LURE} says {written}\n{written}",
        "tags": [f"{number} {short}" for number in range(50)],
        "topics": [f"{number} {short}" for number in range(50)],
        "source": f"user:{short}",
        "speaker": short,
        "metadata": {short: written},
        "occurred_at": "2024-03-05T10:00:00Z",
    }
    first = done(client.json("post", "/memories", draft))["id"]
    done(client.json("patch", f"/memories/{first}", {"text": f"{draft['text']} again", "category": shorter}))
    done(client.json("post", f"/memories/{first}/edges", {"target": memory, "kind": "supports", "relationship": short}))
    turns = [
        {"text": f"{LURE} {written}", "role": "user", "speaker": short},
        {"text": written, "role": "tool", "tool_name": short, "call_id": short},
    ]
    done(client.json("post", "/turns", {"session": f"{short}", "turns": turns}))
    entity = {"name": f"{LURE} {short}", "type": "person", "aliases": [short], "properties": {short: written}}
    done(client.json("post", "/graph/entities", {**entity, "memory": first}))
    relation = {"source": entity["name"], "source_type": "person", "label": shorter, "target": f"{IMAGE}spare"}
    done(client.json("post", "/graph/relations", {**relation, "evidence": short, "memory": first}))
    steps = {"name": short, "steps": [written], "description": written, "tags": [short]}
    done(client.json("post", "/skills", steps))
    done(client.json("post", "/files", {"path": f"{name}/{path_of(short)}.md", "content": written, "scope": "owner"}))
    save_search(actor=woman.actor, name=written[:80], question=written)
    evidence = [(UUID(first), written)]
    target = Target("owner", woman.actor.owner_id)
    opened(client.actor, payload=fact(f"{LURE} {written}"), target=target, evidence=evidence)
    made = done(woman.json("post", "/agents", {"name": short}))
    done(woman.json("post", f"/agents/{made['id']}/keys", {"label": short, "scopes": ["memory:read"]}))


def _ask(agent: Actor, owner: Actor, written: str) -> None:
    """Tell telemetry of a turn in hostile words."""
    turn = TurnDraft(
        request=f"{written} {LURE}",
        matched_spoke=written[:60],
        delegations=[written[:60]],
        extra={written[:60]: written},
    )
    record_events(actor=agent, events=[turn])
