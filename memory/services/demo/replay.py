"""Replaying half a year: every conversation is stored at its time, and nights consolidate what the days left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from memory.models import Agent, AgentKey, RunState, RunTrigger, owner_scope
from memory.services.accounts import create_owner
from memory.services.actors import AGENT_DEFAULT, Actor, Permission, person
from memory.services.agents import authenticate, create_agent, create_key
from memory.services.clock import now, set_clock
from memory.services.consolidation.groups import MORE, Group
from memory.services.consolidation.runner import run_consolidation
from memory.services.demo.care import take_care
from memory.services.demo.files import Shelf, file_versions
from memory.services.demo.parts import DemoOwner, demo_parts
from memory.services.demo.script import PERSON, Conversation, conversations
from memory.services.drafts import Draft
from memory.services.gathering import write_gathered
from memory.services.questions import RecallRequest
from memory.services.recall import recall
from memory.services.remember import remember
from memory.services.settings import change_settings
from memory.services.turns import TurnDraft, ingest_turns

AGENTS: Final = ("assistant", "coder", "coach")
SPEAKER: Final = "Nora"
TURN_GAP: Final = timedelta(seconds=40)
NIGHT: Final = timedelta(hours=23, minutes=30)
BETWEEN_NIGHTS: Final = timedelta(days=7)
ROUNDS: Final = 20
"""Runs of the last night at most; each takes up what the one before has left."""

SCOPES: Final = AGENT_DEFAULT | {Permission.FILES_WRITE}
"""Of the agents' keys: they keep notes in files of their own."""

STRICT_FOR: Final = timedelta(days=60)
STRICT: Final = 0.85
"""From then on the owner wants to be asked about all that is less sure, so that something waits for review."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """What was made: the owner, and how much there is."""

    owner_id: UUID
    turns: int
    statements: int
    questions: int
    files: int
    runs: int
    parts: list[str]


class _ClockAt:
    """A clock that stands."""

    def __init__(self, moment: datetime) -> None:
        self.moment = moment

    def now(self) -> datetime:
        """Give the moment at which it stands."""
        return self.moment


def load_demo(*, username: str, password: str, progress: Callable[[int, int], None]) -> Loaded:
    """Make an owner with a login and replay the conversations of half a year up to the present.

    The clock of this process is moved along, so that dates, fading and summaries come out as if it had happened. Other
    processes keep theirs: the owner's consolidation is off for them until the replay has ended.

    Args:
        username: of the login, which must not be taken.
        password: of the login.
        progress: called with the conversations done and their number.

    Returns:
        What was made.

    Raises:
        InvalidInput, Conflict: the login cannot be made; nothing was.
    """
    present = now()
    said = conversations(present)
    owner = create_owner(username=username, password=password)
    speaker = person(owner.pk)
    try:
        set_clock(_ClockAt(said[0].at - timedelta(hours=1)))
        change_settings(actor=speaker, changes={"consolidation": False})
        keys = {name: _key(speaker, name) for name in AGENTS}
        agents = {name: authenticate(secret) for name, secret in keys.items()}
        replayed = _Replay(speaker, agents, keys, present)
        for place, conversation in enumerate(said, start=1):
            replayed.take(conversation)
            progress(place, len(said))
        replayed.settle()
        take_care(owner=speaker, agents=agents, go_back=lambda ago: set_clock(_ClockAt(present - ago)))
        set_clock(None)
        change_settings(actor=speaker, changes={"consolidation": True})
    finally:
        set_clock(None)
    shown = DemoOwner(speaker, agents, said, present)
    return Loaded(
        owner_id=owner.pk,
        turns=replayed.turns,
        statements=replayed.statements,
        questions=replayed.questions,
        files=replayed.shelf.size,
        runs=replayed.runs,
        parts=[part(shown) for part in demo_parts()],
    )


def _key(speaker: Actor, name: str) -> str:
    """Make an agent that is known by a key, as one that works from outside; gives the key."""
    agent = create_agent(actor=speaker, name=name)
    key = create_key(actor=speaker, agent_id=agent.pk, label="demonstration", scopes=sorted(SCOPES))
    with owner_scope(speaker.owner_id):
        # The database dates them by a clock of its own.
        Agent.objects.filter(pk=agent.pk).update(created_at=now())
        AgentKey.objects.filter(pk=key.key_id).update(created_at=now())
    return key.secret


class _Replay:
    """The replay so far."""

    def __init__(self, speaker: Actor, agents: dict[str, Actor], keys: dict[str, str], present: datetime) -> None:
        self.speaker = speaker
        self.agents = agents
        self._keys = keys
        self.present = present
        self.turns = self.statements = self.questions = self.runs = 0
        self._next_night: datetime | None = None
        self._is_strict = False
        self.shelf = Shelf(speaker, agents)
        self._versions = file_versions(present)

    def take(self, conversation: Conversation) -> None:
        """Store a conversation at its time, after the nights and the files that lie before it."""
        self._sleep_before(conversation.at)
        self._write_files(conversation.at)
        set_clock(_ClockAt(conversation.at))
        if not self._is_strict and self.present - conversation.at < STRICT_FOR:
            change_settings(actor=self.speaker, changes={"gate_confidence": STRICT})
            self._is_strict = True
        if conversation.agent == PERSON:
            self._write_down(conversation)
        else:
            self._come(conversation.agent)
            self._ask(conversation)
            self._talk(conversation)

    def settle(self) -> None:
        """Write and consolidate what is left, at the present."""
        self._write_files(self.present)
        set_clock(None)
        for _ in range(ROUNDS):
            if not self._consolidate():
                break

    def _come(self, name: str) -> None:
        """Let an agent show its key, which notes when it was used; a person has none."""
        if name in self._keys:
            authenticate(self._keys[name])

    def _write_down(self, conversation: Conversation) -> None:
        for said in conversation.statements:
            draft = Draft(text=said.text, kind=said.kind, category=said.category, importance=said.importance / 10)
            remember(actor=self.speaker, draft=draft)
            self.statements += 1

    def _ask(self, conversation: Conversation) -> None:
        for question in conversation.questions:
            recall(actor=self.agents[conversation.agent], request=RecallRequest(query=question))
            self.questions += 1
        # While the clock stands at the time of the questions, which is that of the uses.
        write_gathered()

    def _talk(self, conversation: Conversation) -> None:
        if not conversation.lines:
            return
        agent = self.agents[conversation.agent]
        at = conversation.at
        turns = []
        for line in conversation.lines:
            speaker = SPEAKER if line.role == "user" else None
            turns.append(TurnDraft(draft=Draft(text=line.text, role=line.role, speaker=speaker, occurred_at=at)))
            at += TURN_GAP
        session = f"{conversation.title}, {conversation.at:%Y-%m-%d}"
        ingest_turns(actor=agent, session=session, turns=turns)
        self.turns += len(turns)

    def _write_files(self, moment: datetime) -> None:
        """Write what agents and the person put into files up to a moment."""
        while self._versions and self._versions[0].at < moment:
            version = self._versions.pop(0)
            set_clock(_ClockAt(version.at))
            self._come(version.writer)
            self.shelf.put(version)

    def _sleep_before(self, moment: datetime) -> None:
        """Let a night pass once in a week; one for every day would take long and change little."""
        if self._next_night is None:
            self._next_night = moment.replace(hour=0, minute=0) + NIGHT + BETWEEN_NIGHTS
        while self._next_night < moment:
            set_clock(_ClockAt(self._next_night))
            self._consolidate()
            self._next_night += BETWEEN_NIGHTS

    def _consolidate(self) -> bool:
        """Run all stages once; tells whether they have left work."""
        run = run_consolidation(owner_id=self.speaker.owner_id, trigger=RunTrigger.HAND, groups=tuple(Group))
        self.runs += 1
        if run is None:
            return False
        return run.state == RunState.DEFERRED or any(MORE in report["notes"] for report in run.stages)
