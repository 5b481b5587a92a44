"""The installation: what runs when, what has failed, and how it is set up."""

from __future__ import annotations

import re
from typing import Any, Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext as _

from config.settings.chosen import env
from memory.admin import columns
from memory.admin.access import staff_page
from memory.admin.owner_choice import require_chooser
from memory.admin.views.frame import page
from memory.palace.numbers import whole
from memory.services.queue_state import failed_jobs, queue_state, run_now, schedules

# What stands before the host of an address may be a password, and so may be what follows a question mark.
_CREDENTIALS: Final = re.compile(r"//[^/@\s]*@|\?\S*")
MOST_CHARACTERS: Final = 200


@staff_page("GET", "HEAD", "POST")
def jobs(request: HttpRequest, actor: Any) -> HttpResponse:
    """Show schedules and failed jobs, and have a planned task run at once."""
    require_chooser(request)
    if request.method == "POST":
        run_now(task=request.POST.get("task", ""))
        messages.success(request, _("A worker was asked to run it."))
        return HttpResponseRedirect(request.path)
    queue = queue_state()
    context = {
        "queue": [
            (_("waiting"), "–" if queue.waiting is None else whole(queue.waiting)),
            (_("oldest"), columns.when(queue.oldest)),
            (_("failed within a day"), whole(queue.failed)),
            (_("a worker was last seen"), columns.when(queue.worker_seen)),
        ],
        "planned": [
            {
                "name": _(one.name),
                "task": one.task,
                "every": whole(one.minutes),
                "next": columns.when(one.next_run),
                "last": columns.when(one.last_ended),
                "ok": one.last_ok,
            }
            for one in schedules()
        ],
        "failed": [{"task": one.task, "ended": columns.when(one.ended), "error": one.error} for one in failed_jobs()],
    }
    return page(request, "jobs", _("Schedules and jobs"), context)


@staff_page("GET", "HEAD")
def settings(request: HttpRequest, actor: Any) -> HttpResponse:
    """Show how the installation is set up; of a secret only that it is one."""
    require_chooser(request)
    sections: dict[str, list[dict[str, Any]]] = {}
    for declared in env.declarations.values():
        line = {"name": declared.name, "value": _value(declared.name, declared.secret), "meaning": _(declared.meaning)}
        sections.setdefault(_(declared.section), []).append(line)
    return page(request, "settings", _("Settings"), {"sections": list(sections.items())})


def _value(name: str, secret: bool) -> Any:
    if secret:
        return _("secret, never shown")
    return columns.shortened(_CREDENTIALS.sub("", columns.plain(env.read[name])), MOST_CHARACTERS)
