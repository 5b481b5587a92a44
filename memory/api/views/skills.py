"""`/skills`: how to do something, with the life that skills have."""

from __future__ import annotations

from collections.abc import Mapping

from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.actions import Action
from memory.api.idempotency import idempotent
from memory.api.pagination import KeysetPagination
from memory.api.preconditions import etag, expected_version, outdated_is_412
from memory.api.serializers.skills import (
    BriefSkillSerializer,
    DeletedSkillSerializer,
    DependenciesSerializer,
    NeedAnswerSerializer,
    NeedSerializer,
    SkillBodySerializer,
    SkillChangeSerializer,
    SkillPageSerializer,
    SkillQuery,
    SkillSerializer,
    SkillStatsSerializer,
    UseSerializer,
)
from memory.api.views.base import LociView, path_id
from memory.errors import InvalidInput
from memory.models import Status
from memory.services.actors import UNSET, Permission
from memory.services.skill_drafts import SkillDraft
from memory.services.skill_life import (
    add_dependency,
    archive_skill,
    delete_skill,
    demote_skill,
    dependencies_of,
    deprecate_skill,
    promote_skill,
    record_use,
    remove_dependency,
    restore_skill,
)
from memory.services.skills import (
    Standing,
    change_skill,
    create_skill,
    get_skill,
    list_skills,
    search_skills,
    skill_stats,
    skill_version,
)


def brief(found: Standing, *, status: int = 200) -> Response:
    """Answer with how a skill stands."""
    return Response(BriefSkillSerializer(found).data, status=status, headers={"ETag": etag(found.skill.version)})


class SkillsView(LociView):
    """All skills."""

    actions = {
        "GET": Action(
            id="list_skills", permission=Permission.READ, query=SkillQuery, answers={200: SkillPageSerializer}
        ),
        "POST": Action(
            id="create_skill",
            permission=Permission.WRITE,
            rate="write",
            body=SkillBodySerializer,
            answers={201: BriefSkillSerializer},
            problems=(409,),
            locates=True,
        ),
    }

    def get(self, request: Request) -> Response:
        """List skills, the last changed first; or with `q` the ones that fit its words best, on one page."""
        query = self.query
        scope, only_reliable = query.get("scope", UNSET), query.get("reliable") == "true"
        if "q" in query:
            if "cursor" in query or "state" in query:
                raise InvalidInput("A search has one page and finds all states but archived.", code="query.unknown")
            found = search_skills(
                actor=self.actor,
                query=query["q"],
                only_reliable=only_reliable,
                scope=scope,
                limit=query.get("limit", 10),
            )
            return Response({"items": SkillSerializer(found, many=True).data, "next": None})
        rows, following = KeysetPagination().page(
            "skills",
            limit=query.get("limit"),
            cursor=query.get("cursor"),
            fetch=lambda after, size: list_skills(
                actor=self.actor,
                states=query.get("state", ()),
                only_reliable=only_reliable,
                scope=scope,
                after=after,
                size=size,
            ),
            position=lambda one: (one.skill.updated_at, one.skill.pk),
        )
        return Response({"items": SkillSerializer(rows, many=True).data, "next": following})

    @idempotent
    def post(self, request: Request) -> Response:
        """Store a skill. A person's is released at once, an agent's begins as a candidate."""
        values = self.body()
        scope = values.pop("scope", UNSET)
        found = create_skill(actor=self.actor, draft=SkillDraft(**values), scope=scope)
        response = brief(found, status=201)
        response["Location"] = reverse("api:skill", args=[found.skill.pk])
        return response


class SkillStatsView(LociView):
    """Counts."""

    actions = {"GET": Action(id="get_skill_stats", permission=Permission.READ, answers={200: SkillStatsSerializer})}

    def get(self, request: Request) -> Response:
        """Count the skills that the caller may read."""
        return Response(skill_stats(actor=self.actor))


class SkillView(LociView):
    """One skill."""

    actions = {
        "GET": Action(id="get_skill", permission=Permission.READ, answers={200: SkillSerializer}, versioned=True),
        "PATCH": Action(
            id="change_skill",
            permission=Permission.WRITE,
            rate="write",
            body=SkillChangeSerializer,
            answers={200: BriefSkillSerializer},
            versioned=True,
        ),
        "DELETE": Action(
            id="delete_skill",
            permission=Permission.DELETE,
            rate="write",
            answers={200: DeletedSkillSerializer, 202: DeletedSkillSerializer},
            versioned=True,
        ),
    }

    def get(self, request: Request, skill_id: str) -> Response:
        """Give one skill, whatever its state."""
        found = get_skill(actor=self.actor, skill_id=path_id(skill_id))
        return Response(SkillSerializer(found).data, headers={"ETag": etag(found.skill.version)})

    @idempotent
    def patch(self, request: Request, skill_id: str) -> Response:
        """Change what a skill says. Its version rises only when that makes a difference."""
        found = path_id(skill_id)
        changes = self.body(partial=True)
        if not changes:
            raise InvalidInput("Name at least one field to change.", code="change.empty")
        asked = expected_version(request, lambda: skill_version(actor=self.actor, skill_id=found))
        with outdated_is_412(asked):
            return brief(change_skill(actor=self.actor, skill_id=found, changes=changes, version=asked))

    @idempotent
    def delete(self, request: Request, skill_id: str) -> Response:
        """Delete a skill. An agent's delete archives it (200); a person's (202) erases it at `erase_at`, ten seconds
        later. Restoring undoes both. One that other skills need stays (409).
        """
        found = path_id(skill_id)
        asked = expected_version(request, lambda: skill_version(actor=self.actor, skill_id=found))
        with outdated_is_412(asked):
            memory = delete_skill(actor=self.actor, skill_id=found, version=asked)
        body = {"id": found, "memory_id": memory.pk, "status": memory.status, "erase_at": memory.erase_at}
        erasing = memory.status == Status.ERASING
        return Response(DeletedSkillSerializer(body).data, status=202 if erasing else 200)


def _moving(name: str, permission: Permission = Permission.WRITE) -> Mapping[str, Action]:
    return {
        "POST": Action(
            id=name, permission=permission, rate="write", answers={200: BriefSkillSerializer}, problems=(409,)
        )
    }


class PromoteView(LociView):
    """Promoting one skill."""

    actions = _moving("promote_skill")

    @idempotent
    def post(self, request: Request, skill_id: str) -> Response:
        """Move a skill up: candidate, verified, released; degraded to verified; deprecated and archived to degraded."""
        return brief(promote_skill(actor=self.actor, skill_id=path_id(skill_id)))


class DemoteView(LociView):
    """Demoting one skill."""

    actions = _moving("demote_skill")

    @idempotent
    def post(self, request: Request, skill_id: str) -> Response:
        """Move a skill down: released and verified to degraded, degraded and candidate to deprecated."""
        return brief(demote_skill(actor=self.actor, skill_id=path_id(skill_id)))


class DeprecateView(LociView):
    """Deprecating one skill."""

    actions = _moving("deprecate_skill")

    @idempotent
    def post(self, request: Request, skill_id: str) -> Response:
        """Say that a skill is no longer to be followed; without effect when that was said already."""
        return brief(deprecate_skill(actor=self.actor, skill_id=path_id(skill_id)))


class ArchiveSkillView(LociView):
    """Archiving one skill."""

    actions = _moving("archive_skill", Permission.DELETE)

    @idempotent
    def post(self, request: Request, skill_id: str) -> Response:
        """Take a skill and its memory out of use. It can be restored; without effect when it is archived already."""
        return brief(archive_skill(actor=self.actor, skill_id=path_id(skill_id)))


class RestoreSkillView(LociView):
    """Restoring one skill."""

    actions = _moving("restore_skill")

    @idempotent
    def post(self, request: Request, skill_id: str) -> Response:
        """Bring an archived skill back as a degraded one, or undo a person's deletion in time."""
        return brief(restore_skill(actor=self.actor, skill_id=path_id(skill_id)))


class UsesView(LociView):
    """Uses of one skill."""

    actions = {
        "POST": Action(
            id="record_skill_use",
            permission=Permission.WRITE,
            rate="write",
            body=UseSerializer,
            answers={200: BriefSkillSerializer},
            problems=(409,),
        )
    }

    @idempotent
    def post(self, request: Request, skill_id: str) -> Response:
        """Count a use. The success rate is the mean of all uses; utility rises by 0.1 or falls by 0.05."""
        found = path_id(skill_id)
        return brief(record_use(actor=self.actor, skill_id=found, success=self.body()["success"]))


class DependenciesView(LociView):
    """What one skill needs, and what needs it."""

    actions = {
        "GET": Action(id="list_skill_dependencies", permission=Permission.READ, answers={200: DependenciesSerializer}),
        "POST": Action(
            id="add_skill_dependency",
            permission=Permission.WRITE,
            rate="write",
            body=NeedSerializer,
            answers={201: NeedAnswerSerializer, 200: NeedAnswerSerializer},
            problems=(409,),
        ),
    }

    def get(self, request: Request, skill_id: str) -> Response:
        """List the skills that a skill needs, and those in use that need it."""
        found = dependencies_of(actor=self.actor, skill_id=path_id(skill_id))
        return Response(DependenciesSerializer(found).data)

    @idempotent
    def post(self, request: Request, skill_id: str) -> Response:
        """Say that a skill needs another one: 201 new, 200 known. A circle is refused."""
        found = path_id(skill_id)
        created = add_dependency(actor=self.actor, skill_id=found, needs_id=self.body()["needs"])
        return Response({"created": created}, status=201 if created else 200)


class DependencyView(LociView):
    """One dependency."""

    actions = {
        "DELETE": Action(id="remove_skill_dependency", permission=Permission.WRITE, rate="write", answers={204: None})
    }

    @idempotent
    def delete(self, request: Request, skill_id: str, needs_id: str) -> Response:
        """Say that a skill no longer needs another one."""
        remove_dependency(actor=self.actor, skill_id=path_id(skill_id), needs_id=path_id(needs_id))
        return Response(status=204)
