"""Every method of every endpoint, with the permission that it asks for: one table for the tests of who may use it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from memory.services.actors import Permission

# Always the same, since parallel test processes must name their tests alike.
NOTHING = UUID("0190aaaa-0000-7000-8000-000000000000")
# Method, path, body, permission. `{memory}` and the like are filled in with rows of Alice.
Entry = tuple[str, str, Any, Permission]
COMPARED = {"label": "x", "control": "default", "variant": "prax"}
ENDPOINTS: list[Entry] = [
    ("get", "/memories", None, Permission.READ),
    ("post", "/memories", {"text": "x"}, Permission.WRITE),
    ("post", "/memories/batch", {"items": [{"text": "x"}]}, Permission.WRITE),
    ("post", "/memories/purge", {"expired": True}, Permission.DELETE),
    ("post", "/memories/restore", {"ids": [str(NOTHING)]}, Permission.WRITE),
    ("get", "/retention-policies", None, Permission.READ),
    ("get", "/memories/{memory}", None, Permission.READ),
    ("patch", "/memories/{memory}", {"importance": 1}, Permission.WRITE),
    ("delete", "/memories/{memory}", None, Permission.DELETE),
    ("post", "/memories/{memory}/reveal", None, Permission.READ),
    ("post", "/memories/{memory}/archive", None, Permission.DELETE),
    ("post", "/memories/{memory}/restore", None, Permission.WRITE),
    ("get", "/memories/{memory}/history", None, Permission.READ),
    ("get", "/memories/{memory}/sources", None, Permission.READ),
    ("get", "/memories/{memory}/reads", None, Permission.PRIVACY),
    ("get", "/memories/{memory}/edges", None, Permission.READ),
    ("post", "/memories/{memory}/edges", {"target": "{other}"}, Permission.WRITE),
    ("delete", "/memories/{memory}/edges/{edge}", None, Permission.WRITE),
    ("get", "/graph/entities", None, Permission.READ),
    ("post", "/graph/entities", {"name": "Al"}, Permission.WRITE),
    ("get", "/graph/entities/{entity}", None, Permission.READ),
    ("patch", "/graph/entities/{entity}", {"importance": 1}, Permission.WRITE),
    ("delete", "/graph/entities/{entity}", None, Permission.REVIEW),
    ("get", "/graph/entities/{entity}/mentions", None, Permission.READ),
    ("post", "/graph/entities/{entity}/merge", {"other": "{thing}"}, Permission.REVIEW),
    ("post", "/graph/entities/{entity}/apart", {"other": "{thing}"}, Permission.REVIEW),
    ("get", "/graph/duplicates", None, Permission.READ),
    ("get", "/graph/merges", None, Permission.READ),
    ("post", "/graph/merges/{merge}/undo", None, Permission.REVIEW),
    ("get", "/reviews", None, Permission.READ),
    ("get", "/reviews/{review}", None, Permission.READ),
    ("post", "/reviews/{review}/approve", {}, Permission.REVIEW),
    ("post", "/reviews/{review}/reject", None, Permission.REVIEW),
    ("post", "/reviews/{review}/snooze", {"until": "2150-01-01"}, Permission.REVIEW),
    ("post", "/reviews/{decided}/undo", None, Permission.REVIEW),
    ("post", "/reviews/decide", {"ids": [str(NOTHING)], "decision": "reject"}, Permission.REVIEW),
    ("post", "/graph/entities/{entity}/aliases", {"alias": "Ally"}, Permission.WRITE),
    ("get", "/graph/entities/{entity}/neighbours", None, Permission.READ),
    ("get", "/graph/entities/{entity}/relations", None, Permission.READ),
    ("post", "/graph/relations", {"source": "Alice", "label": "likes", "target": "Tea"}, Permission.WRITE),
    ("get", "/graph/relations/{relation}", None, Permission.READ),
    ("post", "/graph/relations/{relation}/supersede", {}, Permission.WRITE),
    ("post", "/graph/relations/{relation}/retract", None, Permission.WRITE),
    ("get", "/graph/events", None, Permission.READ),
    ("post", "/graph/events", {"text": "x", "occurred_at": "2026-01-01"}, Permission.WRITE),
    ("get", "/graph/causes", None, Permission.READ),
    ("post", "/graph/causes", {"cause": "x", "effect": "y"}, Permission.WRITE),
    ("post", "/graph/query", {"question": "What about Alice?"}, Permission.READ),
    ("get", "/graph/stats", None, Permission.READ),
    ("get", "/facts", None, Permission.READ),
    ("get", "/graph/communities", None, Permission.READ),
    ("post", "/graph/communities", None, Permission.REVIEW),
    ("get", "/graph/communities/bridges", None, Permission.READ),
    ("get", "/graph/communities/{community}", None, Permission.READ),
    ("patch", "/graph/communities/{community}", {"name": "Kitchen"}, Permission.REVIEW),
    ("get", "/graph/communities/{community}/entities", None, Permission.READ),
    ("get", "/graph/communities/{community}/memories", None, Permission.READ),
    ("get", "/consolidation", None, Permission.READ),
    ("post", "/consolidation/run", {}, Permission.WRITE),
    ("get", "/consolidation/runs", None, Permission.READ),
    ("get", "/consolidation/runs/{run}", None, Permission.READ),
    ("get", "/consolidation/failures", None, Permission.READ),
    ("post", "/consolidation/failures/{memory}/retry", None, Permission.WRITE),
    ("post", "/memories/compress", {"dry_run": True}, Permission.DELETE),
    ("get", "/compressions", None, Permission.READ),
    ("post", "/compressions/{summary}/undo", None, Permission.DELETE),
    ("get", "/skills", None, Permission.READ),
    ("post", "/skills", {"name": "Brew the tea", "steps": ["Boil."]}, Permission.WRITE),
    ("get", "/skills/stats", None, Permission.READ),
    ("get", "/skills/{skill}", None, Permission.READ),
    ("patch", "/skills/{skill}", {"risk": 1}, Permission.WRITE),
    ("delete", "/skills/{skill}", None, Permission.DELETE),
    ("post", "/skills/{skill}/promote", None, Permission.WRITE),
    ("post", "/skills/{skill}/demote", None, Permission.WRITE),
    ("post", "/skills/{skill}/deprecate", None, Permission.WRITE),
    ("post", "/skills/{skill}/archive", None, Permission.DELETE),
    ("post", "/skills/{skill}/restore", None, Permission.WRITE),
    ("post", "/skills/{skill}/uses", {"success": True}, Permission.WRITE),
    ("get", "/skills/{skill}/dependencies", None, Permission.READ),
    ("post", "/skills/{skill}/dependencies", {"needs": "{tool}"}, Permission.WRITE),
    ("delete", "/skills/{skill}/dependencies/{tool}", None, Permission.WRITE),
    ("post", "/turns", {"session": "s", "turns": [{"text": "x"}]}, Permission.WRITE),
    ("get", "/sessions", None, Permission.READ),
    ("get", "/sessions/{session}", None, Permission.READ),
    ("post", "/sessions/{session}/close", None, Permission.WRITE),
    ("post", "/recall", {"query": "tea"}, Permission.READ),
    ("get", "/recalls/{recall}", None, Permission.READ),
    ("post", "/context", {"query": "tea"}, Permission.READ),
    ("get", "/settings", None, Permission.READ),
    ("patch", "/settings", {"recall_limit": 7}, Permission.SETTINGS),
    ("get", "/profiles", None, Permission.READ),
    ("get", "/profiles/default", None, Permission.READ),
    ("patch", "/profiles/default", {"limit": 7}, Permission.SETTINGS),
    ("delete", "/profiles/default", None, Permission.SETTINGS),
    ("get", "/access-log", None, Permission.PRIVACY),
    ("get", "/outbound", None, Permission.PRIVACY),
    ("get", "/stats", None, Permission.READ),
    ("get", "/export", None, Permission.TRANSFER),
    ("post", "/import", {"memories": [{"content": "x"}]}, Permission.TRANSFER),
    ("get", "/archive", None, Permission.PRIVACY),
    ("post", "/archive/import", "{archive}", Permission.PRIVACY),
    ("post", "/snapshots", {}, Permission.PRIVACY),
    ("post", "/snapshots/restore", "{snapshot}", Permission.PRIVACY),
    ("get", "/agents", None, Permission.AGENTS),
    ("post", "/agents", {"name": "new"}, Permission.AGENTS),
    ("post", "/agents/{agent}/pause", None, Permission.AGENTS),
    ("post", "/agents/{agent}/resume", None, Permission.AGENTS),
    ("get", "/agents/{agent}/keys", None, Permission.AGENTS),
    ("post", "/agents/{agent}/keys", {"label": "new"}, Permission.AGENTS),
    ("post", "/agents/{agent}/capabilities", {}, Permission.AGENTS),
    ("delete", "/agents/{agent}/capabilities", None, Permission.AGENTS),
    ("put", "/agents/{agent}/trust", {"trust": 0.5}, Permission.AGENTS),
    ("get", "/bus/messages", None, Permission.READ),
    ("post", "/bus/messages", {"text": "x", "target": "owner"}, Permission.WRITE),
    ("post", "/bus/messages/{message}/accept", {}, Permission.WRITE),
    ("post", "/purges/preview", {"source": "user:nobody"}, Permission.PRIVACY),
    ("get", "/purges", None, Permission.PRIVACY),
    ("post", "/purges", {"source": "user:nobody"}, Permission.PRIVACY),
    ("get", "/purges/{purge}", None, Permission.PRIVACY),
    ("delete", "/keys/{key}", None, Permission.AGENTS),
    ("get", "/groups", None, Permission.AGENTS),
    ("post", "/groups", {"kind": "squad", "name": "new"}, Permission.AGENTS),
    ("put", "/groups/{group}/members/{agent}", None, Permission.AGENTS),
    ("delete", "/groups/{group}/members/{agent}", None, Permission.AGENTS),
    ("post", "/recalls/{liked}/feedback", {"helpful": True}, Permission.TELEMETRY_WRITE),
    ("delete", "/recalls/{liked}/feedback", None, Permission.TELEMETRY_WRITE),
    ("get", "/telemetry/score-card", None, Permission.TELEMETRY_READ),
    ("get", "/telemetry/recall", None, Permission.TELEMETRY_READ),
    ("get", "/telemetry/recall/slow", None, Permission.TELEMETRY_READ),
    ("post", "/telemetry/recall/{recall}/explain", None, Permission.TELEMETRY_READ),
    ("get", "/telemetry/experiments", None, Permission.TELEMETRY_READ),
    ("post", "/telemetry/experiments", COMPARED, Permission.SETTINGS),
    ("get", "/telemetry/experiments/{experiment}", None, Permission.TELEMETRY_READ),
    ("post", "/telemetry/experiments/{experiment}/end", None, Permission.SETTINGS),
    ("get", "/telemetry/tuner/changes", None, Permission.TELEMETRY_READ),
    ("post", "/telemetry/tuner/changes/{change}/undo", None, Permission.SETTINGS),
    ("get", "/telemetry/usage", None, Permission.TELEMETRY_READ),
    ("get", "/telemetry/budgets", None, Permission.TELEMETRY_READ),
    ("put", "/telemetry/budgets/day", {"hard": "900"}, Permission.SETTINGS),
    ("get", "/telemetry/budgets/month", None, Permission.TELEMETRY_READ),
    ("delete", "/telemetry/budgets/month", None, Permission.SETTINGS),
    ("put", "/telemetry/budgets/day/agents/{agent}", {"soft": 5}, Permission.SETTINGS),
    ("get", "/telemetry/budgets/month/agents/{agent}", None, Permission.TELEMETRY_READ),
    ("delete", "/telemetry/budgets/month/agents/{agent}", None, Permission.SETTINGS),
    ("get", "/telemetry/pipeline-coverage", None, Permission.TELEMETRY_READ),
    ("get", "/telemetry/pipeline-coverage/clusters/{cluster}", None, Permission.TELEMETRY_READ),
    ("get", "/telemetry/pipeline-coverage/events", None, Permission.TELEMETRY_READ),
    ("post", "/telemetry/pipeline-coverage/events", {"request": "x"}, Permission.TELEMETRY_WRITE),
    ("get", "/telemetry/pipeline-coverage/test-mode", None, Permission.TELEMETRY_READ),
    ("post", "/telemetry/pipeline-coverage/test-mode", {"enabled": True}, Permission.SETTINGS),
]
# What no agent may do, whatever its key allows.
PERSONS_ONLY = {("put", "/agents/{agent}/trust"), ("post", "/memories/{memory}/reveal")}
# What gives all texts, hence asks for the permission to read them besides.
READS_TOO = [("get", "/export"), ("get", "/archive"), ("post", "/snapshots")]
# Open to everybody, or to whoever has a token; tested on their own.
PUBLIC = {"health", "purges/<str:purge_id>/receipt"}
# Parts of paths that name a row without its id.
LITERAL = {"default", "day", "month"}
WITH_ID = [entry for entry in ENDPOINTS if "{" in entry[1]]
WITHOUT_MEMORY = ("/access-log", "/outbound", "/settings", "/agents", "/keys", "/groups", "/purges", "/telemetry")


def code_of_unknown(entry: Entry) -> str:
    """Say how an endpoint calls what there is not: clusters come and go by themselves, and budgets name agents."""
    if "{cluster}" in entry[1]:
        return "coverage.cluster_unknown"
    return "agent.unknown" if entry[1].startswith("/telemetry/budgets/") else "not_found"


def needs_memory(entry: Entry) -> bool:
    """Tell whether an endpoint is refused while memory is switched off."""
    return not entry[1].startswith(WITHOUT_MEMORY) or entry[1].endswith("/explain")
