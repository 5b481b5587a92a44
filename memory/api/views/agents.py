"""`/agents`, `/keys` and `/groups`: who acts for the owner."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.actions import Action
from memory.api.idempotency import idempotent
from memory.api.serializers.agents import (
    AgentSerializer,
    AgentsSerializer,
    ChangeAgentSerializer,
    ChangeKeySerializer,
    GroupSerializer,
    GroupsSerializer,
    KeySerializer,
    KeysSerializer,
    MadeKeySerializer,
    NewAgentSerializer,
    NewGroupSerializer,
    NewKeySerializer,
)
from memory.api.views.base import LociView, path_id
from memory.errors import InvalidInput
from memory.models import AgentGroup
from memory.services.actors import Permission
from memory.services.agents import (
    change_key,
    create_agent,
    create_group,
    create_key,
    list_agents,
    list_groups,
    list_keys,
    pause_agent,
    rename_agent,
    revoke_key,
    set_membership,
)


class _ManageView(LociView):
    needs_memory = False


class AgentsView(_ManageView):
    """All agents."""

    actions = {
        "GET": Action(id="list_agents", permission=Permission.AGENTS, answers={200: AgentsSerializer}),
        "POST": Action(
            id="create_agent",
            permission=Permission.AGENTS,
            rate="write",
            body=NewAgentSerializer,
            answers={201: AgentSerializer},
        ),
    }

    def get(self, request: Request) -> Response:
        """List the owner's agents, oldest first."""
        return Response({"items": AgentSerializer(list_agents(actor=self.actor), many=True).data})

    @idempotent
    def post(self, request: Request) -> Response:
        """Create an agent."""
        agent = create_agent(actor=self.actor, **self.body())
        return Response(AgentSerializer(agent).data, status=201)


class AgentView(_ManageView):
    """One agent."""

    actions = {
        "PATCH": Action(
            id="rename_agent",
            permission=Permission.AGENTS,
            rate="write",
            body=ChangeAgentSerializer,
            answers={200: AgentSerializer},
        )
    }

    @idempotent
    def patch(self, request: Request, agent_id: str) -> Response:
        """Give an agent another name."""
        found = path_id(agent_id)
        return Response(AgentSerializer(rename_agent(actor=self.actor, agent_id=found, **self.body())).data)


class PauseView(_ManageView):
    """Pausing one agent."""

    actions = {
        "POST": Action(id="pause_agent", permission=Permission.AGENTS, rate="write", answers={200: AgentSerializer})
    }

    @idempotent
    def post(self, request: Request, agent_id: str) -> Response:
        """Stop an agent's keys from working until it is resumed."""
        return Response(AgentSerializer(pause_agent(actor=self.actor, agent_id=path_id(agent_id), paused=True)).data)


class ResumeView(_ManageView):
    """Resuming one agent."""

    actions = {
        "POST": Action(id="resume_agent", permission=Permission.AGENTS, rate="write", answers={200: AgentSerializer})
    }

    @idempotent
    def post(self, request: Request, agent_id: str) -> Response:
        """Let the keys of a paused agent work again."""
        return Response(AgentSerializer(pause_agent(actor=self.actor, agent_id=path_id(agent_id), paused=False)).data)


class KeysView(_ManageView):
    """Keys of one agent."""

    actions = {
        "GET": Action(id="list_keys", permission=Permission.AGENTS, answers={200: KeysSerializer}),
        "POST": Action(
            id="create_key",
            permission=Permission.AGENTS,
            rate="write",
            body=NewKeySerializer,
            answers={201: MadeKeySerializer},
        ),
    }

    def get(self, request: Request, agent_id: str) -> Response:
        """List an agent's keys, newest first, without their secrets."""
        rows = list_keys(actor=self.actor, agent_id=path_id(agent_id))
        return Response({"items": KeySerializer(rows, many=True).data})

    @idempotent
    def post(self, request: Request, agent_id: str) -> Response:
        """Make a key for an agent. Its secret is shown in this answer only. A key can give no permission that its
        maker lacks.
        """
        found = path_id(agent_id)
        key = create_key(actor=self.actor, agent_id=found, **self.body())
        return Response({"id": str(key.key_id), "secret": key.secret}, status=201)

    def kept_answer(self, body: Any) -> Any:
        """Keep no secret: the answer that is given again says which key was made."""
        return {**body, "secret": None} if isinstance(body, dict) and "secret" in body else body


class KeyView(_ManageView):
    """One key."""

    actions = {
        "PATCH": Action(
            id="change_key",
            permission=Permission.AGENTS,
            rate="write",
            body=ChangeKeySerializer,
            answers={200: KeySerializer},
        ),
        "DELETE": Action(id="revoke_key", permission=Permission.AGENTS, rate="write", answers={204: None}),
    }

    @idempotent
    def patch(self, request: Request, key_id: str) -> Response:
        """Change what a key may do, from the agent's next request on. Its secret stays. Nobody can give it, or leave it
        with, a permission that he lacks.
        """
        found = path_id(key_id)
        changes = self.body(partial=True)
        if not changes:
            raise InvalidInput("Name at least one field to change.", code="change.empty")
        return Response(KeySerializer(change_key(actor=self.actor, key_id=found, **changes)).data)

    @idempotent
    def delete(self, request: Request, key_id: str) -> Response:
        """Stop a key from working for good."""
        revoke_key(actor=self.actor, key_id=path_id(key_id))
        return Response(status=204)


class GroupsView(_ManageView):
    """All projects and squads."""

    actions = {
        "GET": Action(id="list_groups", permission=Permission.AGENTS, answers={200: GroupsSerializer}),
        "POST": Action(
            id="create_group",
            permission=Permission.AGENTS,
            rate="write",
            body=NewGroupSerializer,
            answers={201: GroupSerializer},
        ),
    }

    def get(self, request: Request) -> Response:
        """List the owner's projects and squads with their agents, oldest first."""
        found = [_group(group, agents) for group, agents in list_groups(actor=self.actor)]
        return Response({"items": GroupSerializer(found, many=True).data})

    @idempotent
    def post(self, request: Request) -> Response:
        """Create a project or squad."""
        group = create_group(actor=self.actor, **self.body())
        return Response(GroupSerializer(_group(group, [])).data, status=201)


def _group(group: AgentGroup, agent_ids: list[Any]) -> dict[str, Any]:
    return {
        "id": group.pk,
        "kind": group.kind,
        "name": group.name,
        "agent_ids": agent_ids,
        "created_at": group.created_at,
    }


class MembershipView(_ManageView):
    """One agent's place in one group."""

    actions = {
        "PUT": Action(id="join_group", permission=Permission.AGENTS, rate="write", answers={204: None}),
        "DELETE": Action(id="leave_group", permission=Permission.AGENTS, rate="write", answers={204: None}),
    }

    @idempotent
    def put(self, request: Request, group_id: str, agent_id: str) -> Response:
        """Put an agent into a group."""
        return self._set(group_id, agent_id, member=True)

    @idempotent
    def delete(self, request: Request, group_id: str, agent_id: str) -> Response:
        """Take an agent out of a group."""
        return self._set(group_id, agent_id, member=False)

    def _set(self, group_id: str, agent_id: str, *, member: bool) -> Response:
        set_membership(actor=self.actor, group_id=path_id(group_id), agent_id=path_id(agent_id), member=member)
        return Response(status=204)
