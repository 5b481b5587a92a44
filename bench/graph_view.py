"""How large the picture of a dense graph is, how long the server takes, and when a browser has painted it."""

from __future__ import annotations

import gzip
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final
from uuid import UUID

import numpy as np
import uvicorn
from django.db import connection, connections
from django.test import Client
from django.test.utils import CaptureQueriesContext
from playwright.sync_api import sync_playwright

from bench.graph_data import planted, store
from memory.errors import InvalidInput
from memory.management.chromium import chromium
from memory.models import Entity, Memory, MemoryEdge, Relation, User, owner_scope
from memory.models.encrypted import EncryptedField
from memory.palace.graph_payload import payload_text
from memory.recall.id_arrays import id_array
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.consolidation.communities import divide_graph
from memory.services.graph.edges import link_memories
from memory.services.graph.laying_out import lay_out_owner
from memory.services.graph_view.request import ViewRequest
from memory.services.graph_view.view import graph_view

# Drawing on the processor, as machines without a graphics card do.
ARGUMENTS: Final = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
PAINTED: Final = "loci-graph-painted"
PATIENCE_MS: Final = 120_000
ENTITIES: Final = 200
RELATIONS: Final = 600
RUNS: Final = 5
CHUNK: Final = 20_000
MEMORIES_EACH: Final = 100
"""Memories of a planted community, on average."""

LINKS: Final = """
    INSERT INTO memory_memoryedge (owner_id, id, source_id, target_id, kind, weight, relationship_hash, scope,
                                   created_at)
    SELECT g.owner_id, gen_random_uuid(), n.source, n.target, g.kind, n.weight, g.relationship_hash, g.scope,
           g.created_at
    FROM memory_memoryedge g,
         unnest(%(sources)s::uuid[], %(targets)s::uuid[], %(weights)s::float8[]) AS n (source, target, weight)
    WHERE g.owner_id = %(owner)s AND g.id = %(model)s
    ON CONFLICT DO NOTHING
"""


def measure(*, memories: int, links: int, depth: int, tell: Callable[[str], None]) -> dict[str, Any]:
    """Store memories with links, lay them out as the job does, and ask for the view around one of them.

    Args:
        memories: how many, 100 or more.
        links: how many.
        depth: steps of the view, 1 to 3.
        tell: told of progress.

    Returns:
        `payload_bytes` of the JSON that the page holds once, `payload_gzip_bytes`; `nodes` and `links` in it;
        `queries` of one view; `view_p50_ms` and `payload_ms` of the server; `layout_s` and `divide_s` of the jobs;
        `first_paint_ms`: from the navigation to the first drawn frame of the graph in a headless browser without a
        graphics card, None where there is none; `stored_memories`, `stored_links`.

    Raises:
        InvalidInput: a number below its bound.
    """
    if memories < MEMORIES_EACH or links < 1 or not 1 <= depth <= 3:
        raise InvalidInput("Memories start at 100, links at 1; depth lies between 1 and 3.", code="bench.range")
    user = User.objects.create_user("bench")
    actor, ids, stored = _store(memories, links, user)
    tell(f"{stored} links stored")
    begun = time.perf_counter()
    divide_graph(actor.owner_id, at=now())
    divided = time.perf_counter() - begun
    begun = time.perf_counter()
    lay_out_owner(owner_id=actor.owner_id, at=now())
    laid_out = time.perf_counter() - begun
    tell("laid out")
    request = ViewRequest(memory_id=ids[0], depth=depth, dated=False)
    spent = []
    for _ in range(RUNS):
        begun = time.perf_counter()
        view = graph_view(actor=actor, request=request)
        spent.append((time.perf_counter() - begun) * 1000)
    with CaptureQueriesContext(connection) as queries:
        graph_view(actor=actor, request=request)
    begun = time.perf_counter()
    written = payload_text(view).encode()
    wrote = (time.perf_counter() - begun) * 1000
    return {
        "payload_bytes": len(written),
        "payload_gzip_bytes": len(gzip.compress(written, 6)),
        "nodes": len(view.things),
        "links": len(view.links),
        "unseen": view.unseen,
        "queries": len(queries),
        "view_p50_ms": round(float(np.median(spent)), 1),
        "payload_ms": round(wrote, 1),
        "divide_s": round(divided, 2),
        "layout_s": round(laid_out, 2),
        "first_paint_ms": _first_paint(user, ids[0], depth, tell),
        "stored_memories": memories,
        "stored_links": stored,
    }


def _store(memories: int, links: int, user: User) -> tuple[Actor, list[UUID], int]:
    pairs = planted(nodes=memories, edges=links, communities=memories // MEMORIES_EACH)
    names = planted(nodes=ENTITIES, edges=RELATIONS, communities=ENTITIES // MEMORIES_EACH, seed=13)
    stored = store(names, nodes=ENTITIES, memories=memories, user=user)
    actor, ids = stored.actor, stored.memories
    with owner_scope(actor.owner_id):
        _write_words()
    model, _ = link_memories(actor=actor, source_id=ids[0], target_id=ids[1], kind="similar_to", weight=0.5)
    with owner_scope(actor.owner_id):
        with connection.cursor() as cursor:
            for start in range(0, len(pairs.weights), CHUNK):
                part = slice(start, start + CHUNK)
                cursor.execute(
                    LINKS,
                    {
                        "owner": actor.owner_id,
                        "model": model.edge.pk,
                        "sources": id_array(ids[one] for one in pairs.sources[part].tolist()),
                        "targets": id_array(ids[one] for one in pairs.targets[part].tolist()),
                        "weights": pairs.weights[part].tolist(),
                    },
                )
        stored_links: int = MemoryEdge.objects.count()
    with connections["schema"].cursor() as cursor:
        cursor.execute("VACUUM (ANALYZE) memory_memoryedge, memory_memory, memory_entity")
    connections["schema"].close()
    return actor, ids, stored_links


def _write_words() -> None:
    """Give the copied rows texts of their own, since what is sealed opens in its own row only."""
    for model, field, words in (
        (Memory, "text", "Memory {} says what somebody did, where it was, and why it matters to the others."),
        (Entity, "name", "Somebody {}"),
        (Relation, "label", "knows"),
    ):
        sealed = [one.attname for one in model._meta.local_fields if isinstance(one, EncryptedField)]
        for place, row in enumerate(model.objects.order_by("pk")):
            for name in sealed:
                setattr(row, name, words.format(place) if name == field else None)
            row.save(update_fields=sealed)


def _first_paint(user: User, memory_id: UUID, depth: int, tell: Callable[[str], None]) -> float | None:
    """Open the page in a browser and read when its first frame was drawn; None where there is no browser."""
    found = chromium()
    if found is None:
        tell("no browser")
        return None
    client = Client()
    client.force_login(user)
    cookie = client.cookies["loci_session"].value
    # Playwright's loop runs in this thread, and Django would refuse the database beside it.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    spent = []
    with _serving() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        for _ in range(RUNS):
            context = browser.new_context(viewport={"width": 1280, "height": 860})
            context.add_cookies([{"name": "loci_session", "value": cookie, "url": address}])
            page = context.new_page()
            page.goto(f"{address}/graph/?memory={memory_id}&depth={depth}")
            mark = f"() => performance.getEntriesByName('{PAINTED}')[0]?.startTime"
            spent.append(float(page.wait_for_function(mark, timeout=PATIENCE_MS).json_value()))
            context.close()
        browser.close()
    return round(float(np.median(spent)))


@contextmanager
def _serving() -> Iterator[str]:
    """Serve the palace on a free port of this machine; gives its address."""
    # Only now, since it looks at the directory of static files.
    from config.asgi import application

    config = uvicorn.Config(application, host="127.0.0.1", port=0, lifespan="off", log_level="warning", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, name="web", daemon=True)
    thread.start()
    while not server.started:
        if not thread.is_alive():
            raise InvalidInput("The web server did not start.", code="bench.server")
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
