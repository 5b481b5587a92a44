"""`/settings` and `/profiles`: what an owner has chosen."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.actions import Action
from memory.api.idempotency import idempotent
from memory.api.preconditions import etag, expected_version, outdated_is_412
from memory.api.serializers.choices import (
    AgentSettingsSerializer,
    ChangeAgentSettingsSerializer,
    ChangeProfileSerializer,
    ChangeSettingsSerializer,
    ProfileSerializer,
    ProfilesSerializer,
    SettingsSerializer,
)
from memory.api.views.base import LociView, path_id
from memory.errors import InvalidInput
from memory.services.actors import Permission
from memory.services.agent_settings import agent_settings_version, change_agent_settings, get_agent_settings
from memory.services.profiles import change_profile, get_profile, list_profiles, reset_profile
from memory.services.settings import change_settings, get_settings, settings_version


class SettingsView(LociView):
    """The owner's settings."""

    needs_memory = False
    actions = {
        "GET": Action(id="get_settings", permission=Permission.READ, answers={200: SettingsSerializer}, versioned=True),
        "PATCH": Action(
            id="change_settings",
            permission=Permission.SETTINGS,
            rate="write",
            body=ChangeSettingsSerializer,
            answers={200: SettingsSerializer},
            versioned=True,
        ),
    }

    def get(self, request: Request) -> Response:
        """Give all settings, with defaults where nothing was chosen."""
        return _settings_answer(get_settings(actor=self.actor))

    @idempotent
    def patch(self, request: Request) -> Response:
        """Change settings. null gives one its default back."""
        changes = self.body(partial=True)
        if not changes:
            raise InvalidInput("Name at least one setting to change.", code="change.empty")
        asked = expected_version(request, lambda: settings_version(actor=self.actor))
        with outdated_is_412(asked):
            return _settings_answer(change_settings(actor=self.actor, changes=changes, version=asked))


class AgentSettingsView(LociView):
    """What is chosen for one agent."""

    needs_memory = False
    actions = {
        "GET": Action(
            id="get_agent_settings",
            permission=Permission.AGENTS,
            answers={200: AgentSettingsSerializer},
            versioned=True,
        ),
        "PATCH": Action(
            id="change_agent_settings",
            permission=Permission.SETTINGS,
            rate="write",
            body=ChangeAgentSettingsSerializer,
            answers={200: AgentSettingsSerializer},
            versioned=True,
        ),
    }

    def get(self, request: Request, agent_id: str) -> Response:
        """Give the settings that hold for an agent, and those of them that were chosen for it alone."""
        return _settings_answer(get_agent_settings(actor=self.actor, agent_id=path_id(agent_id)))

    @idempotent
    def patch(self, request: Request, agent_id: str) -> Response:
        """Choose settings for one agent. null gives one the owner's value back."""
        found = path_id(agent_id)
        changes = self.body(partial=True)
        if not changes:
            raise InvalidInput("Name at least one setting to change.", code="change.empty")
        asked = expected_version(request, lambda: agent_settings_version(actor=self.actor, agent_id=found))
        with outdated_is_412(asked):
            changed = change_agent_settings(actor=self.actor, agent_id=found, changes=changes, version=asked)
        return _settings_answer(changed)


def _settings_answer(found: dict[str, Any]) -> Response:
    return Response(found, headers={"ETag": etag(found["version"])})


class ProfilesView(LociView):
    """All recall profiles."""

    actions = {"GET": Action(id="list_profiles", permission=Permission.READ, answers={200: ProfilesSerializer})}

    def get(self, request: Request) -> Response:
        """Describe every profile as it stands for the owner."""
        return Response({"items": list_profiles(actor=self.actor)})


class ProfileView(LociView):
    """One recall profile."""

    actions = {
        "GET": Action(id="get_profile", permission=Permission.READ, answers={200: ProfileSerializer}),
        "PATCH": Action(
            id="change_profile",
            permission=Permission.SETTINGS,
            rate="write",
            body=ChangeProfileSerializer,
            answers={200: ProfileSerializer},
        ),
        "DELETE": Action(
            id="reset_profile", permission=Permission.SETTINGS, rate="write", answers={200: ProfileSerializer}
        ),
    }

    def get(self, request: Request, name: str) -> Response:
        """Describe one profile as it stands for the owner."""
        return Response(get_profile(actor=self.actor, name=name))

    @idempotent
    def patch(self, request: Request, name: str) -> Response:
        """Change fields of a profile for the owner, as a new version."""
        return Response(change_profile(actor=self.actor, name=name, changes=self.body(partial=True)))

    @idempotent
    def delete(self, request: Request, name: str) -> Response:
        """Give a profile back its shipped values, as a new version."""
        return Response(reset_profile(actor=self.actor, name=name))
