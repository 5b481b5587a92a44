"""Two owners with marked rows of every kind in every scope, and all who might read them.

Every word that is planted begins with the mark of its scope, so that one look at an answer tells what it must not
hold. The lure stands in all texts and tells nothing: who asks for it would be given everything.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.core.cache import caches
from django.db import transaction

from memory.crypto.keyring import keyring
from memory.ids import new_id
from memory.models import ExtractionFailure, Memory, Owner, User, owner_scope
from memory.services.actors import AGENT_DEFAULT, Actor, Permission, Target, person
from memory.services.agents import authenticate, create_agent, create_group, create_key, set_membership
from memory.services.clock import now
from memory.services.drafts import Draft
from memory.services.purge.partial_requests import PartialRequest, begin_partial
from memory.services.purge.runner import run_purge
from memory.services.remember import remember
from memory.services.review_decisions import reject
from memory.services.saved_searches import save_search
from memory.services.settings import change_settings
from telemetry.models import TunerChange
from telemetry.services.costs.budgets import BudgetDraft, set_budget
from telemetry.services.coverage.reporting import ReportRequest, coverage_report
from telemetry.services.recalls.experiments import ExperimentDraft, end_experiment, start_experiment
from telemetry.services.turns.drafts import TurnDraft
from telemetry.services.turns.recording import record_events
from tests.integration.api.conftest import Client, bearing, client_of, logged_in
from tests.integration.consolidation.reviewing import fact, opened

LURE = "kettle"
# The beginning of all marks; asking for it gives nothing away.
STEM = "xq"
SCOPES = ("owner", "agent", "squad", "project")
MARKS = {name: f"{STEM}{name}" for name in (*SCOPES, "admin", "foreign")}
OLD = "2020-05-01T10:00:00Z"

Rows = dict[str, str]


@dataclass(slots=True)
class Reader:
    """Somebody who asks, and what must never stand in an answer to that one."""

    name: str
    client: Client
    hidden: frozenset[str]
    may: frozenset[Permission] = frozenset()
    # The token of a purge of this one's own owner, for the receipts.
    purge_token: str = ""

    @property
    def marks(self) -> list[str]:
        """List the beginnings of words that this one may not read."""
        return sorted(MARKS[name] for name in self.hidden)


@dataclass(slots=True)
class World:
    """All of it; `rows` by scope for the first owner, `foreign` for the other."""

    owner: Actor
    other: Actor
    insider: Actor
    rows: dict[str, Rows]
    foreign: Rows
    readers: dict[str, Reader]

    def hidden_ids(self, reader: Reader) -> set[str]:
        """List the ids of rows that a reader may not read."""
        ids: set[str] = set()
        for scope in reader.hidden:
            rows = self.foreign if scope == "foreign" else self.rows.get(scope, {})
            ids |= {value for name, value in rows.items() if name in SCOPED_ROWS}
        return ids


# What follows the mark in the words that are planted for each scope.
PLANTED = (
    "text", "town", "tag", "topic", "source", "chat", "speaker", "name", "value", "other", "changed", "relationship",
    "turn", "talker", "tool", "toolname", "call", "session", "goal", "entity", "alias", "property", "eyes", "thing",
    "spare", "label", "said", "event", "rain", "mud", "skill", "step", "description", "skilltag", "doubt", "refusal",
    "evidence", "news", "newstopic", "path", "soul", "former", "virtue", "model",
)  # fmt: skip
# Rows that belong to a scope; the others are the owner's.
SCOPED_ROWS = (
    "memory", "other", "edge", "entity", "second", "third", "merge", "relation", "event", "cause", "session", "skill",
    "tool", "spare", "review", "decided", "summary", "message", "file",
)  # fmt: skip


@contextmanager
def undone() -> Iterator[None]:
    """Undo what a block does in the database, and forget throttles."""
    caches["default"].clear()
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def done(response: Any) -> Any:
    """Give the body of a request that must succeed."""
    assert 200 <= response.status_code < 300, response.content
    return response.json()


def make_world() -> World:
    """Make both owners, their agents and groups, and rows in every scope."""
    owner, other = make_owner("first"), make_owner("foreign")
    squad = create_group(actor=owner, kind="squad", name=f"{MARKS['admin']} squad").pk
    project = create_group(actor=owner, kind="project", name=f"{MARKS['admin']} project").pk
    everything = frozenset(Permission)
    insider, inside = make_agent(owner, "insider", everything, squad, project)
    _, half = make_agent(owner, "half", everything, squad)
    outsider, outside = make_agent(owner, "outsider", everything)
    _, plain = make_agent(owner, "plain", AGENT_DEFAULT)
    stranger, spy = make_agent(other, "spy", everything, mark="foreign")
    woman, man = logged_in(owner), logged_in(other)
    written = {"owner": "owner", "agent": "agent", "squad": f"squad:{squad}", "project": f"project:{project}"}
    rows = {scope: plant(inside, woman, insider, scope, written[scope]) for scope in SCOPES}
    foreign = plant(spy, man, stranger, "foreign", "owner")
    _, teller = make_agent(owner, "teller", everything, squad, project)
    _, elsewhere_told = make_agent(other, "teller", everything, mark="foreign")
    heard = {**written, "agent": f"agent:{insider.agent_id}"}
    for scope in SCOPES:
        rows[scope]["message"] = tell(teller, MARKS[scope], heard[scope])
    foreign["message"] = tell(elsewhere_told, MARKS["foreign"], "owner")
    elsewhere = create_group(actor=other, kind="project", name=f"{MARKS['foreign']} project").pk
    group_rows = {"group": str(project), "squad": str(squad), "agent": str(outsider.agent_id)}
    key = create_key(actor=owner, agent_id=outsider.agent_id, label=f"{MARKS['admin']} label")  # type: ignore[arg-type]
    for scope in SCOPES:
        rows[scope] |= {**group_rows, "key": str(key.key_id), "scope": written[scope]}
    own = create_key(actor=other, agent_id=stranger.agent_id, label=f"{MARKS['foreign']} label")  # type: ignore[arg-type]
    foreign |= {"group": str(elsewhere), "agent": str(stranger.agent_id), "key": str(own.key_id), "scope": "owner"}
    for asked, mark in ((insider, MARKS["admin"]), (stranger, MARKS["foreign"])):
        turn = TurnDraft(
            request=f"{mark}request for a {LURE}", matched_spoke=f"{mark}spoke", delegations=[f"{mark}part"],
            extra={f"{mark}extra": f"{mark}detail"}, id=f"{mark}event",
        )  # fmt: skip
        record_events(actor=asked, events=[turn])
    cluster, cluster_elsewhere = (
        coverage_report(actor=one, request=ReportRequest()).clusters[0].key for one in (owner, other)
    )
    for scope in SCOPES:
        rows[scope]["cluster"] = cluster
    foreign["cluster"] = cluster_elsewhere
    for asked, agent in ((owner, outsider), (other, stranger)):
        for agent_id in (None, agent.agent_id):
            set_budget(actor=asked, draft=BudgetDraft(period="day", hard=900, agent_id=agent_id))
    compared, compared_elsewhere = compare(owner, MARKS["admin"]), compare(other, MARKS["foreign"])
    for scope in SCOPES:
        rows[scope] |= compared
    foreign |= compared_elsewhere
    purged, purged_elsewhere = purge_one(owner), purge_one(other)
    for scope in SCOPES:
        rows[scope] |= purged
    foreign |= purged_elsewhere
    others = frozenset({"agent", "squad", "project", "foreign"})
    readers = [
        Reader("person", woman, frozenset({"foreign"}), everything),
        Reader("insider", inside, frozenset({"foreign"}), everything),
        Reader("half inside", half, others - {"squad"}, everything),
        Reader("outsider", outside, others, everything),
        Reader("plain outsider", plain, others | {"admin"}, AGENT_DEFAULT),
        Reader("foreign person", man, frozenset({*SCOPES, "admin"}), everything),
        Reader("foreign agent", spy, frozenset({*SCOPES, "admin"}), everything),
        Reader("anonymous", Client(), frozenset(MARKS)),
    ]
    for reader in readers[:-1]:
        reader.purge_token = (purged_elsewhere if reader.name.startswith("foreign") else purged)["token"]
    return World(owner, other, insider, rows, foreign, {reader.name: reader for reader in readers})


def compare(owner: Actor, mark: str) -> Rows:
    """Compare profiles for a while, note a change of the tuner and keep a search; gives their ids."""
    draft = ExperimentDraft(label=f"{mark}compared {LURE}", control="default", variant="prax", share=0.0)
    made = start_experiment(actor=owner, draft=draft)
    end_experiment(actor=owner, experiment_id=made.pk)
    change_settings(actor=owner, changes={"recall_threshold": 0.29})
    with owner_scope(owner.owner_id):
        change = TunerChange.objects.create(
            setting="recall_threshold",
            before=0.3,
            after=0.29,
            ndcg=0.2,
            recalls=5,
            reason="quality.low",
            created_at=now(),
        )
    saved = save_search(actor=owner, name=f"{mark}saved {LURE}", question=f"{mark}saved").pk
    return {"experiment": str(made.pk), "change": str(change.pk), "saved": str(saved)}


def purge_one(owner: Actor) -> Rows:
    """Purge one memory to the end; gives the ids of the purge and the token of its receipt."""
    memory_id = remember(actor=owner, draft=Draft(text=f"Purged {LURE}.")).memory_id
    made = begin_partial(actor=owner, request=PartialRequest(memories=[memory_id]))
    run_purge(purge_id=made.purge.pk)
    return {"purge": str(made.purge.pk), "token": made.token}


def make_owner(username: str) -> Actor:
    """Make an owner with a login."""
    owner_id = new_id()
    keyring().create(owner_id)
    user = User(username=username)
    user.set_unusable_password()
    user.save()
    Owner.objects.create(id=owner_id, user=user)
    return person(owner_id)


def make_agent(
    owner: Actor, name: str, scopes: frozenset[Permission], *groups: UUID, mark: str = "admin"
) -> tuple[Actor, Client]:
    """Make an agent in some groups, and a client with its key."""
    agent = create_agent(actor=owner, name=f"{MARKS[mark]} {name}")
    for group in groups:
        set_membership(actor=owner, group_id=group, agent_id=agent.pk, member=True)
    made = create_key(actor=owner, agent_id=agent.pk, label=f"{MARKS[mark]} key", scopes=sorted(scopes))
    actor, client = authenticate(made.secret), client_of(made.secret)
    client.actor = actor
    return actor, bearing(client)


def plant(client: Client, woman: Client, actor: Actor, name: str, scope: str) -> Rows:
    """Store rows of every kind for one scope through the interface; gives their ids by name."""
    mark = MARKS[name]
    rows = _memories(client, mark, scope)
    rows |= _graph(client, mark, scope, rows["memory"])
    rows |= _skills(client, mark, scope)
    target = _target(actor, scope, rows["memory"])
    evidence = [(UUID(rows["memory"]), f"{mark}evidence")]
    rows["review"] = str(opened(actor, payload=fact(f"A {LURE} {mark}doubt."), target=target, evidence=evidence).pk)
    refused = opened(actor, payload=fact(f"No {LURE} {mark}refusal."), target=target, evidence=evidence)
    rows["decided"] = str(reject(actor=actor, item_id=refused.pk).item.pk)
    with owner_scope(actor.owner_id):
        ExtractionFailure.objects.create(
            owner_id=actor.owner_id, memory_id=UUID(rows["memory"]), code="llm.unusable", failed_at=now()
        )
    done(woman.json("post", "/graph/communities"))
    rows["number"] = "1"
    rows["run"] = done(client.json("post", "/consolidation/run", {}))["id"]
    asked = {"query": f"{LURE} {mark}question", "scope": scope}
    rows["recall"] = done(client.json("post", "/recall", asked))["recall_id"]
    done(client.json("post", f"/recalls/{rows['recall']}/feedback", {"helpful": True}))
    rows["file"] = _file(client, mark, name)
    rows["asked"] = done(woman.json("post", "/recall", {"query": f"{LURE} {mark}text"}))["recall_id"]
    return rows


def _file(client: Client, mark: str, name: str) -> str:
    """Write a file twice, of all agents or, since groups have none, of the agent alone."""
    scope = "owner" if name in ("owner", "foreign") else "agent"
    place = path_of(mark)
    draft = {"path": f"{place}path/{place}soul.md", "content": f"The {LURE} {mark}former is kind.", "scope": scope}
    made = done(client.json("post", "/files", {**draft, "model": "".join(filter(str.isalnum, f"{mark}model"))}))
    changed = {"content": f"The {LURE} {mark}virtue is kind."}
    done(client.json("put", f"/files/{made['id']}", changed, **{"If-Match": "*"}))
    return str(made["id"])


def path_of(words: str) -> str:
    """Give words without the signs that the path of a file may not have."""
    kept = (sign for sign in words if sign not in '/\\:*?"<>|' and unicodedata.category(sign) not in ("Cc", "Cf"))
    return "".join(kept).strip()


def tell(client: Client, mark: str, target: str) -> str:
    """Publish a message on the bus, and give its id."""
    body = {"text": f"The {LURE} {mark}news is out.", "topics": [f"{mark}newstopic"], "target": target}
    return str(done(client.json("post", "/bus/messages", body))["id"])


def _memories(client: Client, mark: str, scope: str) -> Rows:
    draft: dict[str, Any] = {
        "text": f"The {LURE} {mark}text whistles in {mark.capitalize()}town.",
        "tags": [f"{mark}tag"],
        "topics": [f"{mark}topic"],
        "source": f"user:{mark}source/{mark}chat",
        "speaker": f"{mark.capitalize()}speaker",
        "metadata": {f"{mark}name": f"{mark}value"},
        "occurred_at": "2024-03-05T10:00:00Z",
    }
    kept = {"Idempotency-Key": f"{mark}once"}
    first = done(client.json("post", "/memories", {**draft, "scope": scope}, **kept))["id"]
    other = done(client.json("post", "/memories", {"text": f"No {LURE} {mark}other is cold.", "scope": scope}))["id"]
    done(client.json("patch", f"/memories/{first}", {"text": draft["text"] + f" Now {mark}changed."}))
    link = {"target": other, "kind": "supports", "relationship": f"{mark}relationship"}
    edge = done(client.json("post", f"/memories/{first}/edges", link))["id"]
    turns = [
        {"text": f"The {LURE} {mark}turn, you said?", "role": "user", "speaker": f"{mark}talker"},
        {"text": f"It {LURE} {mark}tool.", "role": "tool", "tool_name": f"{mark}toolname", "call_id": f"{mark}call"},
    ]
    told = done(client.json("post", "/turns", {"session": f"{mark}session", "turns": turns, "scope": scope}))
    for number in range(2):
        text = f"A {LURE} {mark}goal number {number}."
        done(client.json("post", "/memories", {"text": text, "category": "goal", "occurred_at": OLD, "scope": scope}))
    wanted = {"category": "goal", "least": 2, "scope": scope}
    made = done(client.json("post", "/memories/compress", wanted))["made"]
    return {
        "memory": first, "other": other, "edge": edge, "session": told["session_id"], "summary": made[0]["summary_id"],
        "turn": told["results"][0]["id"],
    }  # fmt: skip


def _graph(client: Client, mark: str, scope: str, memory: str) -> Rows:
    common = {"memory": memory, "scope": scope}
    entity = {
        "name": f"{mark.capitalize()}entity {LURE}",
        "type": "person",
        "aliases": [f"{mark}alias"],
        "properties": {f"{mark}property": f"{mark}eyes"},
        **common,
    }
    first = done(client.json("post", "/graph/entities", entity))["id"]
    second = done(client.json("post", "/graph/entities", {"name": f"{mark}thing", **common}))["id"]
    third = done(client.json("post", "/graph/entities", {"name": f"{mark}leaves", **common}))["id"]
    fourth = done(client.json("post", "/graph/entities", {"name": f"{mark}spare", **common}))["id"]
    relation = {
        "source": f"{mark}entity {LURE}",
        "source_type": "person",
        "label": f"{mark}label",
        "target": f"{mark}thing",
        "evidence": f"{mark}said",
        **common,
    }
    stated = done(client.json("post", "/graph/relations", relation))["id"]
    event = {"text": f"the {LURE} {mark}event", "occurred_at": "2026-01-01", "participants": [f"{mark}thing"], **common}
    happened = done(client.json("post", "/graph/events", event))
    cause = {"cause": f"{LURE} {mark}rain", "effect": f"{mark}mud", "cause_entity": f"{mark}thing", **common}
    caused = done(client.json("post", "/graph/causes", cause))
    merged = done(client.json("post", f"/graph/entities/{second}/merge", {"other": third}))["id"]
    return {
        "entity": first, "second": second, "third": fourth, "relation": stated, "merge": merged,
        "event": happened["id"], "cause": caused["id"],
    }  # fmt: skip


def _skills(client: Client, mark: str, scope: str) -> Rows:
    ids = []
    for number in range(3):
        skill = {
            "name": f"{mark}skill {LURE} {number}",
            "steps": [f"{mark}step."],
            "description": f"{mark}description",
            "tags": [f"{mark}skilltag"],
            "scope": scope,
        }
        ids.append(done(client.json("post", "/skills", skill))["id"])
    needs = client.json("post", f"/skills/{ids[0]}/dependencies", {"needs": ids[1]})
    assert needs.status_code < 300, needs.content
    return dict(zip(("skill", "tool", "spare"), ids, strict=True))


def _target(actor: Actor, scope: str, memory: str) -> Target:
    with owner_scope(actor.owner_id):
        row = Memory.objects.get(pk=memory)
        return Target(row.visibility, row.scope, row.group_id)
