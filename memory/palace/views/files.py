"""The tab of files: the tree, the editor, and what becomes of two changes at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from memory.errors import Conflict, LociError, NotFound
from memory.models import Agent, AgentFile, MediaType
from memory.palace.access import person_page
from memory.palace.errors import add_to_form, problem_of
from memory.palace.file_forms import EditForm, NewFileForm
from memory.palace.file_templates import TEMPLATES, template_of
from memory.palace.file_view import (
    OF_ALL,
    ShownComparison,
    agent_name,
    entry,
    places,
    shown_comparison,
    version_rows,
    who,
)
from memory.palace.presenters import label
from memory.palace.surroundings import surroundings
from memory.services.actors import Actor
from memory.services.agent_files.keeping import MOST_FILES
from memory.services.agent_files.reading import (
    file_difference,
    file_history,
    former_content,
    list_files,
    read_file,
)
from memory.services.agent_files.writing import (
    create_file,
    delete_file,
    erase_file,
    rename_file,
    restore_file,
    write_file,
)
from memory.services.agents import list_agents
from memory.services.clock import now
from memory.text.differences import compare_lines, merge

# Most files in the tree, and most deleted ones below it; of more agents than that a person opens one after another.
MOST_SHOWN: Final = 5 * MOST_FILES
MOST_DELETED: Final = 50
KEPT_VERSIONS: Final = 50


@dataclass(frozen=True, slots=True)
class Clash:
    """Two changes of one version: what each side changed, and which version stands now."""

    who: str
    theirs: ShownComparison
    yours: ShownComparison | None


@person_page("GET", "HEAD")
def page(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Show the tree of files, those that were deleted, and what new files may begin with."""
    tree = _tree(actor)
    moment = now()
    deleted = list_files(actor=actor, deleted=True, size=MOST_DELETED)
    gone = request.GET.get("deleted", "")
    context = {
        **tree,
        "deleted": [entry(row, moment) for row in deleted],
        "undo": next((entry(row, moment) for row in deleted if str(row.pk) == gone), None),
        "templates": TEMPLATES,
        **surroundings(request, actor),
    }
    return render(request, "palace/files/page.html", context)


@person_page("GET", "HEAD", "POST")
def new(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Show the form of a new file, begun with a template where one is named; create what was sent."""
    agents = list_agents(actor=actor)
    choices = [(OF_ALL, _("All agents")), *((f"agent:{one.pk}", agent_name(one)) for one in agents)]
    status = 200
    if request.method == "POST":
        form = NewFileForm(choices, request.POST, request.FILES)
        status = 422
        if form.is_valid():
            try:
                made = create_file(actor=actor, **form.draft())
            except LociError as error:
                add_to_form(form, error)
                status = problem_of(error).status
            else:
                messages.success(request, _("Created."))
                return HttpResponseRedirect(_address("file", made.pk))
    else:
        begun = template_of(request.GET.get("template", ""))
        initial = {
            "scope": request.GET.get("for", OF_ALL),
            "path": begun.path if begun else "",
            "content": str(begun.content) if begun else "",
        }
        form = NewFileForm(choices, initial=initial)
    context = {
        "form": form,
        "draft": _draft_of_new(actor),
        **_counts(str(form["content"].value() or "")),
        **_tree(actor, agents=agents),
        **surroundings(request, actor),
    }
    return render(request, "palace/files/new.html", context, status=status)


@person_page("GET", "HEAD", "POST")
def file(request: HttpRequest, actor: Actor, file_id: UUID) -> HttpResponse:
    """Show a file in its editor; keep what was changed as a new version.

    Where somebody else has changed it meanwhile, the editor comes back with what was typed, and both changes are
    compared with the version that they were made from.
    """
    row = read_file(actor=actor, file_id=file_id)
    if row.deleted_at is not None:
        return HttpResponseRedirect(f"{reverse('palace:files')}?deleted={row.pk}")
    if request.method != "POST":
        initial = {"content": _typed(row.content), "version": row.version}
        return _editor(request, actor, row, EditForm(initial=initial), text=_typed(row.content))
    form = EditForm(request.POST, request.FILES)
    typed = str(form.data.get("content", "")).replace("\r\n", "\n")
    if not form.is_valid():
        return _editor(request, actor, row, form, text=typed, status=422)
    try:
        typed = form.text()
        if request.POST.get("how") == "merge":
            return _merged(request, actor, row, form, typed)
        written = write_file(
            actor=actor,
            file_id=row.pk,
            content=_as_stored(row, typed),
            expected_version=form.cleaned_data["version"],
        )
    except Conflict as error:
        newer = read_file(actor=actor, file_id=file_id)
        base = form.cleaned_data["version"]
        return _clashing(request, actor, newer, base=base, typed=typed, status=error.status)
    except LociError as error:
        add_to_form(form, error)
        return _editor(request, actor, row, form, text=typed, status=problem_of(error).status)
    if written.version == row.version:
        messages.info(request, _("Nothing was different, so nothing was changed."))
    else:
        messages.success(request, _("Saved. What it said before stands in its history."))
    return HttpResponseRedirect(_address("file", row.pk))


@person_page("GET", "HEAD")
def history(request: HttpRequest, actor: Actor, file_id: UUID) -> HttpResponse:
    """Show the versions of a file, and what changed between two of them."""
    row = read_file(actor=actor, file_id=file_id)
    states = file_history(actor=actor, file_id=file_id)
    agents = list_agents(actor=actor)
    names = {one.pk: agent_name(one) for one in agents}
    after = _number(request.GET.get("to"), row.version)
    before = _number(request.GET.get("from"), max(after - 1, 1))
    kept = {one.number for one in states}
    if not {before, after} <= kept:
        raise NotFound(_("This version of the file is not kept."), code="file.version_unknown")
    shown = _number(request.GET.get("page"), 1)
    first = (shown - 1) * KEPT_VERSIONS
    rows = version_rows(states, names, now())
    context = {
        **_about(row, agents),
        "versions": rows[first : first + KEPT_VERSIONS],
        "newer": str(shown - 1) if first > 0 else "",
        "older": str(shown + 1) if len(rows) > first + KEPT_VERSIONS else "",
        "before": str(before),
        "after": str(after),
        "content": former_content(actor=actor, file_id=file_id, number=after),
        "difference": shown_comparison(
            file_difference(actor=actor, file_id=file_id, before=before, after=after), before, after
        ),
        "restorable": after != row.version,
        **_tree(actor, current=row, agents=agents),
        **surroundings(request, actor),
    }
    return render(request, "palace/files/history.html", context)


@person_page("POST")
def rename(request: HttpRequest, actor: Actor, file_id: UUID) -> HttpResponse:
    """Give a file another name."""
    path = request.POST.get("path", "").strip()
    try:
        rename_file(actor=actor, file_id=file_id, path=path)
    except LociError as error:
        if error.status not in (409, 422):
            raise
        row = read_file(actor=actor, file_id=file_id)
        form = EditForm(initial={"content": _typed(row.content), "version": row.version})
        wrong = {"rename_error": problem_of(error).message, "rename_path": path}
        return _editor(request, actor, row, form, text=_typed(row.content), status=error.status, more=wrong)
    messages.success(request, _("Renamed."))
    return HttpResponseRedirect(_address("file", file_id))


@person_page("POST")
def delete(request: HttpRequest, actor: Actor, file_id: UUID) -> HttpResponse:
    """Delete a file and offer to undo that."""
    delete_file(actor=actor, file_id=file_id)
    return HttpResponseRedirect(f"{reverse('palace:files')}?deleted={file_id}")


@person_page("POST")
def restore(request: HttpRequest, actor: Actor, file_id: UUID) -> HttpResponse:
    """Bring a deleted file back, or what it said at an earlier version."""
    number = request.POST.get("number")
    restore_file(actor=actor, file_id=file_id, number=_number(number, 0) if number else None)
    messages.success(request, _("It is back, as a new version."))
    return HttpResponseRedirect(_address("file", file_id))


@person_page("POST")
def erase(request: HttpRequest, actor: Actor, file_id: UUID) -> HttpResponse:
    """Erase a deleted file for good."""
    erase_file(actor=actor, file_id=file_id)
    messages.success(request, _("Erased, with its history."))
    return HttpResponseRedirect(reverse("palace:files"))


@person_page("GET", "HEAD")
def download(request: HttpRequest, actor: Actor, file_id: UUID) -> HttpResponse:
    """Give a file to be saved, as the text that it is, or what it said at the version that the address names."""
    row = read_file(actor=actor, file_id=file_id)
    number = _number(request.GET.get("version"), row.version)
    content = row.content if number == row.version else former_content(actor=actor, file_id=file_id, number=number)
    name = row.path.rsplit("/", 1)[-1]
    kind = row.media_type if row.media_type in MediaType.values else MediaType.PLAIN
    return HttpResponse(
        content,
        content_type=f"{kind}; charset=utf-8",
        headers={"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"},
    )


def _clashing(
    request: HttpRequest,
    actor: Actor,
    newer: AgentFile,
    *,
    base: int,
    typed: str,
    status: int,
    merged: str | None = None,
) -> HttpResponse:
    """Show both changes of one version, with what was typed, or what both make together, in the editor."""
    theirs = _typed(newer.content)
    try:
        before: str | None = _typed(former_content(actor=actor, file_id=newer.pk, number=base))
    except NotFound:
        before = None
    agents = {one.pk: agent_name(one) for one in list_agents(actor=actor)}
    clash = Clash(
        who=who(newer.changed_by, agents),
        theirs=shown_comparison(compare_lines(typed, theirs), newer.version)
        if before is None
        else shown_comparison(compare_lines(before, theirs), base, newer.version),
        yours=None if before is None else shown_comparison(compare_lines(before, typed), base),
    )
    text = typed if merged is None else merged
    form = EditForm(initial={"content": text, "version": newer.version, "base": base})
    more = {"clash": clash, "theirs": theirs, "typed": typed if merged is not None else ""}
    return _editor(request, actor, newer, form, text=text, status=status, more=more)


def _merged(request: HttpRequest, actor: Actor, row: AgentFile, form: EditForm, typed: str) -> HttpResponse:
    """Put what was typed and what stands now together, over the version that both were made from."""
    base = form.cleaned_data["base"] or form.cleaned_data["version"]
    before = _typed(former_content(actor=actor, file_id=row.pk, number=base))
    joined = merge(before, _typed(row.content), typed)
    if joined.conflicts:
        messages.warning(request, _("Both changed the same lines. They stand between marks; choose what stays."))
    else:
        messages.info(request, _("Both changes are put together below. Look at it, then save."))
    return _clashing(request, actor, row, base=base, typed=typed, status=200, merged=joined.text)


def _editor(
    request: HttpRequest,
    actor: Actor,
    row: AgentFile,
    form: EditForm,
    *,
    text: str,
    status: int = 200,
    more: dict[str, Any] | None = None,
) -> HttpResponse:
    agents = list_agents(actor=actor)
    context = {
        "form": form,
        "text": text,
        "draft": str(row.pk),
        "draft_new": _draft_of_new(actor),
        **_counts(text),
        **_about(row, agents),
        **_tree(actor, current=row, agents=agents),
        **(more or {}),
        **surroundings(request, actor),
    }
    return render(request, "palace/files/edit.html", context, status=status)


def _about(row: AgentFile, agents: list[Agent]) -> dict[str, Any]:
    """Give what stands above a file."""
    names = {one.pk: agent_name(one) for one in agents}
    return {
        "file": entry(row, now(), current=True),
        "version": str(row.version),
        "whose": names.get(row.agent_id, "") if row.agent_id else _("all agents"),
        "changed_by": who(row.changed_by, names),
        "model": row.language_model or "",
        "marks": [label(kind) for kind in row.injection_kinds],
    }


def _tree(actor: Actor, *, current: AgentFile | None = None, agents: list[Agent] | None = None) -> dict[str, Any]:
    """Give the tree of files."""
    known = list_agents(actor=actor) if agents is None else agents
    rows = list_files(actor=actor, size=MOST_SHOWN + 1)
    return {
        "places": places(known, rows[:MOST_SHOWN], current=current, now=now()),
        "more_files": len(rows) > MOST_SHOWN,
        "empty": not rows,
    }


def _draft_of_new(actor: Actor) -> str:
    """Name the draft of a file that there is not yet; browsers are shared."""
    return f"new:{actor.owner_id}"


def _counts(text: str) -> dict[str, str]:
    return {"lines": str(text.count("\n") + 1 if text else 0), "characters": str(len(text))}


def _typed(text: str) -> str:
    """Give a text as browsers type it: their forms know one sort of line end."""
    return text.replace("\r\n", "\n")


def _as_stored(row: AgentFile, text: str) -> str:
    """Give a typed text the line ends that the file had, where it had those of Windows throughout."""
    had = row.content
    return text.replace("\n", "\r\n") if "\r\n" in had and had.count("\n") == had.count("\r\n") else text


def _number(value: str | None, otherwise: int) -> int:
    return int(value) if value and value.isascii() and value.isdecimal() and len(value) <= 9 else otherwise


def _address(name: str, file_id: UUID) -> str:
    return reverse(f"palace:{name}", args=[file_id])
