"""Time and statements of the admin's pages over one owner with many memories."""

from __future__ import annotations

import secrets
import statistics
import time
from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext, override_settings
from django.urls import reverse

from bench.database import new_owner
from bench.synthetic import Generator, build_index, open_space, populate
from memory.admin.site import site
from memory.errors import InvalidInput
from memory.models import Memory, User, owner_scope
from memory.services.actors import Actor

MOST: Final = 1_000_000
ROUNDS: Final = 5
SLOWEST: Final = 12
OWN_PAGES: Final = (
    "review",
    "consolidation",
    "keys",
    "spaces",
    "storage",
    "logins",
    "owners",
    "jobs",
    "settings",
    "purge",
)


def measure(*, memories: int, tell: Callable[[str], None]) -> dict[str, Any]:
    """Store generated memories of one owner and time every page of the admin.

    Args:
        memories: of the owner.
        tell: told of progress.

    Returns:
        How many pages, the slowest with the median of five answers in milliseconds and their statements, and how many
        took more than 300 ms.

    Raises:
        InvalidInput: a number out of range, or a page did not answer.
    """
    if not 1 <= memories <= MOST:
        raise InvalidInput(f"memories is a number from 1 to {MOST}.", code="bench.range")
    generator = Generator()
    space = open_space()
    user = User.objects.create_user(f"bench-{secrets.token_hex(4)}", is_staff=True, is_superuser=True)
    actor = populate(generator, space, memories, actor=new_owner(user)).actor
    build_index(space)
    tell(f"{memories} memories stored, index built")
    # The pages are asked for as the server is asked, but for the host and the middleware of real connections.
    with override_settings(ALLOWED_HOSTS=["testserver"], SECURE_SSL_REDIRECT=False):
        client = Client()
        client.force_login(user)
        figures = [_timed(client, path) for path in _paths(actor, space.pk)]
    figures.sort(key=lambda one: one["ms"], reverse=True)
    return {
        "memories": memories,
        "pages": len(figures),
        "over_300_ms": sum(one["ms"] > 300 for one in figures),
        "most_queries": max(one["queries"] for one in figures),
        "slowest": figures[:SLOWEST],
    }


def _paths(actor: Actor, space_id: int) -> list[str]:
    """List the front page, the pages of the admin, the list of every model, and what is asked of the large ones."""
    paths = [reverse("admin:index"), *(reverse(f"loci-admin:{name}") for name in OWN_PAGES)]
    paths.append(reverse("loci-admin:space", args=[space_id]))
    for model in site._registry:
        paths.append(reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist"))
    large = reverse("admin:memory_memory_changelist")
    with owner_scope(actor.owner_id):
        one: UUID = Memory.objects.order_by("-created_at", "-id").values_list("pk", flat=True)[0]
    asked = ("p=100", "tier__exact=episodic", "category=general", "status__exact=archived", f"q={one}", "q=word")
    paths += [f"{large}?{query}" for query in asked]
    paths += [reverse(f"admin:memory_memory_{page}", args=[one]) for page in ("change", "history")]
    return paths


def _timed(client: Client, path: str) -> dict[str, Any]:
    times = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        answer = client.get(path)
        times.append((time.perf_counter() - begun) * 1000)
        if answer.status_code != 200:
            raise InvalidInput(f"{path} answered with {answer.status_code}.", code="bench.failed")
    with CaptureQueriesContext(connection) as caught:
        client.get(path)
    return {"page": path, "ms": round(statistics.median(times), 1), "queries": len(caught)}
