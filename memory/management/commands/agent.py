"""`manage.py agent`: list agents and their keys, create agents and keys, pause, resume, revoke, tokens, trust."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.core.management.base import BaseCommand

from memory.crypto.capabilities import RANKS
from memory.errors import InvalidInput, NotFound
from memory.management.agents import agent_named, id_or_none
from memory.management.answers import answer, errors_for_operators
from memory.management.owners import acting_for
from memory.models import Agent, AgentKey
from memory.services.actors import UNSET, Actor, Permission
from memory.services.agents import create_agent, create_key, list_agents, list_keys, pause_agent, revoke_key
from memory.services.bus.capabilities import Grant, end_capabilities, issue_capability
from memory.services.bus.trusting import set_trust
from memory.services.clock import now
from memory.services.legible import UNREADABLE, legible
from memory.text.limits import checked_moment

UNSET_TRUST: Final = "unset"


class Command(BaseCommand):
    """Look after the agents of an owner and the keys they come with."""

    help = "List agents, create agents and keys, pause and resume agents, revoke keys; tokens for the bus, and trust."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the actions."""
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        listing = actions.add_parser("list", help="list agents and their keys")
        creating = actions.add_parser("create", help="create an agent with a first key")
        key = actions.add_parser("key", help="make another key for an agent")
        pausing = actions.add_parser("pause", help="stop an agent's keys from working for a while")
        resuming = actions.add_parser("resume", help="let a paused agent's keys work again")
        revoking = actions.add_parser("revoke", help="stop a key from working for good")
        capability = actions.add_parser("capability", help="issue a token for the bus, or end all of an agent's")
        trusting = actions.add_parser("trust", help="say how far what an agent says is trusted")
        for action in (creating, key, pausing, resuming, capability, trusting):
            action.add_argument("agent", metavar="AGENT", help="name or id of the agent")
        revoking.add_argument("key", metavar="KEY", help="id of the key, or its beginning loci_…")
        for action in (creating, key):
            action.add_argument("--label", help="a name for the key")
            action.add_argument(
                "--scopes",
                action="append",
                help="what the key may do, separated by commas, or given several times; without it the key reads, "
                f"writes and deletes memories and reads files: {', '.join(Permission)}",
            )
            action.add_argument("--default-scope", help="where its memories go: owner, agent, squad:ID or project:ID")
        for action in (creating, key, capability):
            action.add_argument("--expires", help="when it stops working, in UTC: 2030-01-31 or 2030-01-31T12:00:00Z")
        capability.add_argument("--max-scope", choices=list(RANKS), help="the widest scope, owner when left out")
        capability.add_argument("--max-importance", type=float, metavar="NUMBER", help="0 to 1, 1 when left out")
        capability.add_argument("--rate", type=int, metavar="N", help="messages within an hour, 50 when left out")
        capability.add_argument("--read-only", action="store_true", help="for reading, not for publishing")
        capability.add_argument("--end", action="store_true", help="end all tokens of the agent instead")
        trusting.add_argument("trust", metavar="TRUST", help="0 to 1, or unset to take it back")
        for action in (listing, creating, key, pausing, resuming, revoking, capability, trusting):
            action.add_argument("--owner", metavar="LOGIN", help="the owner's login, where there are several owners")
            action.add_argument("--json", action="store_true", help="as one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Carry out one action."""
        actions = {
            "list": self._list,
            "create": self._create,
            "key": self._key,
            "pause": self._pause,
            "resume": self._pause,
            "revoke": self._revoke,
            "capability": self._capability,
            "trust": self._trust,
        }
        with errors_for_operators():
            if options.get("expires") is not None:
                # Before anything is made: an agent without the key that was asked for would be half of it.
                options["expires"] = _moment(options["expires"])
            actions[options["action"]](acting_for(options["owner"]), options)

    def _list(self, actor: Actor, options: dict[str, Any]) -> None:
        value, lines = [], []
        for agent in list_agents(actor=actor):
            keys = [_described(key) for key in list_keys(actor=actor, agent_id=agent.pk)]
            paused = agent.paused_at is not None
            value.append(
                {"id": agent.pk, "name": legible(agent, "name"), "paused": paused, "trust": agent.trust, "keys": keys}
            )
            trust = "" if agent.trust is None else f"  (trust {agent.trust:g})"
            lines.append(f"{_shown(agent)}{'  (paused)' if paused else ''}{trust}  {agent.pk}")
            lines += [
                f"  {key['beginning']}…  {key['label'] or UNREADABLE}  {key['state']}  {key['id']}" for key in keys
            ]
        answer(self.stdout.write, {"agents": value}, as_json=options["json"], lines=lines or ["There are no agents."])

    def _create(self, actor: Actor, options: dict[str, Any]) -> None:
        agent = create_agent(actor=actor, name=options["agent"])
        self._make_key(actor, agent, options, [f"Agent {_shown(agent)} was created: {agent.pk}"])

    def _key(self, actor: Actor, options: dict[str, Any]) -> None:
        self._make_key(actor, agent_named(actor, options["agent"]), options, [])

    def _make_key(self, actor: Actor, agent: Agent, options: dict[str, Any], lines: list[str]) -> None:
        label = options["label"] or f"made {now():%Y-%m-%d %H:%M}"
        made = create_key(
            actor=actor,
            agent_id=agent.pk,
            label=label,
            scopes=None if options["scopes"] is None else _words(options["scopes"]),
            default_scope=UNSET if options["default_scope"] is None else options["default_scope"],
            expires_at=options["expires"],
        )
        value = {"agent_id": agent.pk, "name": legible(agent, "name"), "key_id": made.key_id, "key": made.secret}
        lines.append(f"Key of {_shown(agent)}, shown once: {made.secret}")
        answer(self.stdout.write, value, as_json=options["json"], lines=lines)

    def _pause(self, actor: Actor, options: dict[str, Any]) -> None:
        paused = options["action"] == "pause"
        agent = pause_agent(actor=actor, agent_id=agent_named(actor, options["agent"]).pk, paused=paused)
        lines = [f"{_shown(agent)} is paused; its keys do not work." if paused else f"{_shown(agent)} works again."]
        value = {"agent_id": agent.pk, "name": legible(agent, "name"), "paused": paused}
        answer(self.stdout.write, value, as_json=options["json"], lines=lines)

    def _revoke(self, actor: Actor, options: dict[str, Any]) -> None:
        key_id = _key_id(actor, options["key"])
        revoke_key(actor=actor, key_id=key_id)
        answer(self.stdout.write, {"revoked": key_id}, as_json=options["json"], lines=[f"Key {key_id} is revoked."])

    def _capability(self, actor: Actor, options: dict[str, Any]) -> None:
        agent = agent_named(actor, options["agent"])
        if options["end"]:
            end_capabilities(actor=actor, agent_id=agent.pk)
            value: dict[str, Any] = {"agent_id": agent.pk, "name": legible(agent, "name"), "ended": True}
            lines = [f"All tokens of {_shown(agent)} have ended."]
        else:
            grant = Grant(
                max_scope=options["max_scope"],
                max_importance=options["max_importance"],
                can_publish=False if options["read_only"] else None,
                publish_rate=options["rate"],
                expires_at=options["expires"],
            )
            issued = issue_capability(actor=actor, agent_id=agent.pk, grant=grant)
            expires_at = issued.capability.expires_at
            value = {
                "agent_id": agent.pk,
                "name": legible(agent, "name"),
                "token": issued.token,
                "expires_at": expires_at,
            }
            lines = [f"Token of {_shown(agent)} until {expires_at:%Y-%m-%d %H:%M} UTC, shown once: {issued.token}"]
        answer(self.stdout.write, value, as_json=options["json"], lines=lines)

    def _trust(self, actor: Actor, options: dict[str, Any]) -> None:
        agent = set_trust(
            actor=actor, agent_id=agent_named(actor, options["agent"]).pk, trust=_trust_value(options["trust"])
        )
        value = {"agent_id": agent.pk, "name": legible(agent, "name"), "trust": agent.trust}
        if agent.trust is None:
            lines = [f"Nobody says how far {_shown(agent)} is trusted."]
        else:
            lines = [f"{_shown(agent)} is trusted {agent.trust:g} of 1."]
        answer(self.stdout.write, value, as_json=options["json"], lines=lines)


def _shown(agent: Agent) -> str:
    return legible(agent, "name") or UNREADABLE


def _trust_value(text: str) -> float | None:
    if text.casefold() == UNSET_TRUST:
        return None
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(
            f"TRUST is a number from 0 to 1, or {UNSET_TRUST}. Nothing was changed.", code="trust.out_of_range"
        ) from None


def _words(given: list[str]) -> list[str]:
    return [word for text in given for word in text.replace(",", " ").split()]


def _moment(text: str) -> datetime:
    try:
        return checked_moment(text, field="--expires")
    except InvalidInput as error:
        raise InvalidInput(
            "--expires takes a day or a moment between 1900 and 2199, for example 2030-01-31 or "
            "2030-01-31T12:00:00+01:00; without a zone it is in UTC. Nothing was made.",
            code=error.machine_code,
        ) from error


def _key_id(actor: Actor, named: str) -> UUID:
    wanted = id_or_none(named)
    if wanted is not None:
        return wanted
    keys = [key for agent in list_agents(actor=actor) for key in list_keys(actor=actor, agent_id=agent.pk)]
    found = [key.pk for key in keys if named.startswith(_beginning(key))]
    if not found:
        raise NotFound("There is no key with this id or beginning here. `manage.py agent list` shows them.")
    if len(found) > 1:
        raise InvalidInput("Several keys begin like this. Name the key by its id.", code="key.ambiguous")
    return found[0]


def _beginning(key: AgentKey) -> str:
    return f"loci_{key.prefix}"


def _described(key: AgentKey) -> dict[str, Any]:
    expired = key.expires_at is not None and key.expires_at <= now()
    state = "revoked" if key.revoked_at else "expired" if expired else "works"
    return {
        "id": key.pk,
        "beginning": _beginning(key),
        "label": legible(key, "label"),
        "scopes": key.scopes,
        "state": state,
        "expires_at": key.expires_at,
        "last_used_at": key.last_used_at,
    }
