"""The page of one entity, and what can be done with it and with its relations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memory.errors import InvalidInput, LociError
from memory.models import Entity
from memory.palace.access import person_page, safe_next
from memory.palace.entity_view import Candidate, candidates, entity_view, merge_views, relation_views
from memory.palace.errors import problem_of
from memory.palace.graph_words import TYPES
from memory.palace.numbers import whole
from memory.palace.places import place_of, written_place
from memory.palace.presenters import card
from memory.palace.surroundings import surroundings
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.facts import facts
from memory.services.graph.entities import add_alias, get_entity
from memory.services.graph.entity_changes import change_entity, delete_entity, memories_of
from memory.services.graph.merging import list_merges, merge_two
from memory.services.graph.relations import get_relation, relations_of, retract_relation, supersede_relation
from memory.services.graph.searching import search_entities
from memory.services.resolution import find_duplicates, keep_apart
from memory.services.review_decisions import undo_merge_by_id

PAGE: Final = 25
MOST_CANDIDATES: Final = 12
MOST_FACTS: Final = 10
MOST_TYPED: Final = 500
PREVIEWED: Final = 160


@person_page("GET", "HEAD")
def page(request: HttpRequest, actor: Actor, entity_id: UUID) -> HttpResponse:
    """Show an entity: its names, relations with both times, the facts about it and the memories that speak of it."""
    moment = now()
    row = get_entity(actor=actor, entity_id=entity_id)
    relations = relations_of(
        actor=actor,
        entity_id=entity_id,
        superseded=True,
        after=place_of(request.GET.get("relations", "")),
        size=PAGE + 1,
    )
    mentions = memories_of(
        actor=actor, entity_id=entity_id, after=place_of(request.GET.get("mentions", "")), size=PAGE + 1
    )
    word = request.GET.get("same", "").strip()[:MOST_TYPED]
    context = {
        "entity": entity_view(row, now=moment),
        "types": [{"value": value, "word": str(name)} for value, name in TYPES.items()],
        "relations": relation_views(relations[:PAGE], entity_id, now=moment),
        "more_relations": _following(relations, lambda one: one.recorded_at),
        "mentions": [card(one, moment, characters=PREVIEWED) for one in mentions[:PAGE]],
        "more_mentions": _following(mentions, lambda one: one.created_at),
        "facts": [
            card(one.memory, moment, characters=PREVIEWED)
            for one in facts(actor=actor, about=entity_id, size=MOST_FACTS)
        ],
        "merges": merge_views(list_merges(actor=actor, entity_id=entity_id, size=PAGE), now=moment),
        "candidates": _candidates(actor, row, word),
        "same": word,
        **surroundings(request, actor),
    }
    return render(request, "palace/graph/entity.html", context)


@person_page("POST")
def change(request: HttpRequest, actor: Actor, entity_id: UUID) -> HttpResponse:
    """Give an entity another name or type; under its former name it is still found."""
    typed = {name: request.POST.get(name, "").strip()[:MOST_TYPED] for name in ("name", "type")}
    changes: dict[str, Any] = {name: value for name, value in typed.items() if value}
    return _done(
        request,
        entity_id,
        lambda: change_entity(actor=actor, entity_id=entity_id, changes=changes),
        _("Changed. Its former name still finds it."),
    )


@person_page("POST")
def alias(request: HttpRequest, actor: Actor, entity_id: UUID) -> HttpResponse:
    """Let an entity be found by another name too."""
    typed = request.POST.get("alias", "")[:MOST_TYPED]
    return _done(
        request,
        entity_id,
        lambda: add_alias(actor=actor, entity_id=entity_id, alias=typed),
        _("It is found by that name too."),
    )


@person_page("POST")
def merge(request: HttpRequest, actor: Actor, entity_id: UUID) -> HttpResponse:
    """Let this entity stand for another one too."""

    return _done(
        request,
        entity_id,
        lambda: merge_two(actor=actor, kept_id=entity_id, merged_id=_other(request)),
        _("They are one now. You can take them apart again below."),
    )


@person_page("POST")
def apart(request: HttpRequest, actor: Actor, entity_id: UUID) -> HttpResponse:
    """Say that two entities are not the same, so that they are not proposed again."""
    return _done(
        request,
        entity_id,
        lambda: keep_apart(actor=actor, first_id=entity_id, second_id=_other(request)),
        _("They stay two, and I shall not ask again."),
    )


@person_page("POST")
def unmerge(request: HttpRequest, actor: Actor, merge_id: UUID) -> HttpResponse:
    """Take a merge back."""
    row = undo_merge_by_id(actor=actor, merge_id=merge_id)
    messages.success(request, _("They are two again."))
    return _to(request, row.kept_id)


@person_page("POST")
def forget(request: HttpRequest, actor: Actor, entity_id: UUID) -> HttpResponse:
    """Forget an entity with its relations; asked twice, since it cannot be undone."""
    if request.POST.get("sure") != "yes":
        messages.error(request, _("Tick that you are sure. Nothing was forgotten."))
        return _to(request, entity_id)
    gone = delete_entity(actor=actor, entity_id=entity_id)
    said = ngettext(
        "Forgotten, with %(count)s relation. The memories stay.",
        "Forgotten, with %(count)s relations. The memories stay.",
        gone,
    )
    messages.success(request, said % {"count": whole(gone)})
    return HttpResponseRedirect(reverse("palace:graph"))


@person_page("POST")
def end_relation(request: HttpRequest, actor: Actor, relation_id: UUID) -> HttpResponse:
    """Say that a relation held and has ended."""
    row, _reasons = get_relation(actor=actor, relation_id=relation_id)
    return _done(
        request,
        row.source_id,
        lambda: supersede_relation(actor=actor, relation_id=relation_id),
        _("It has ended. It stays in the history."),
    )


@person_page("POST")
def retract(request: HttpRequest, actor: Actor, relation_id: UUID) -> HttpResponse:
    """Say that a relation never held."""
    row, _reasons = get_relation(actor=actor, relation_id=relation_id)
    return _done(
        request,
        row.source_id,
        lambda: retract_relation(actor=actor, relation_id=relation_id),
        _("Taken back: it never held."),
    )


def _done(request: HttpRequest, entity_id: UUID, act: Callable[[], Any], said: str) -> HttpResponse:
    """Do something and show the entity again, with what went well or why not."""
    try:
        act()
    except LociError as error:
        if error.status == 404:
            raise
        problem = problem_of(error)
        messages.error(request, f"{problem.message} {problem.advice}".strip())
    else:
        messages.success(request, said)
    return _to(request, entity_id)


def _other(request: HttpRequest) -> UUID:
    try:
        return UUID(request.POST.get("other", ""))
    except ValueError as error:
        raise InvalidInput(_("Choose another name first."), code="entities.pair", field="other") from error


def _candidates(actor: Actor, row: Entity, word: str) -> list[Candidate]:
    """Give entities that may be the same, the likely ones first."""
    alike = _alike(actor, word or row.name, row.type)
    likely: dict[UUID, float] = {}
    asked = {one.pk: one for one in [row, *alike]}
    for pair in find_duplicates(actor=actor, entities=list(asked.values())):
        if row.pk in (pair.first.pk, pair.second.pk):
            other = pair.second if pair.first.pk == row.pk else pair.first
            likely[other.pk] = pair.judgement.score
            alike.append(other)
    found = {one.pk: one for one in alike if one.pk != row.pk}
    ranked = sorted(found.values(), key=lambda one: -likely.get(one.pk, 0.0))
    return candidates(ranked[:MOST_CANDIDATES], likely)


def _alike(actor: Actor, words: str, type_: str) -> list[Any]:
    """Find entities of a type whose names hold the words, or one of them where none holds all."""
    found: dict[UUID, Any] = {}
    for asked in dict.fromkeys((words, *sorted(words.split(), key=len, reverse=True)[:2])):
        try:
            rows = search_entities(actor=actor, query=asked, types=[type_], size=MOST_CANDIDATES + 1)
        except InvalidInput:
            # Signs without a word name nothing.
            continue
        found |= {row.pk: row for row in rows if row.pk not in found}
    return list(found.values())


def _following(rows: list[Any], at: Callable[[Any], Any]) -> str:
    return written_place(at(rows[PAGE - 1]), rows[PAGE - 1].pk) if len(rows) > PAGE else ""


def _to(request: HttpRequest, entity_id: UUID) -> HttpResponseRedirect:
    return HttpResponseRedirect(safe_next(request, reverse("palace:entity", args=[entity_id])))
