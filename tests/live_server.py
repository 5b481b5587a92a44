"""The web server as `up` runs it, in a thread of the tests' process, and clients of its websocket."""

from __future__ import annotations

import json
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from django.test import Client
from pytest_django import Settings
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from config.serving import MOST_SOCKET_BYTES
from config.settings.database import embedded
from memory.models import Owner
from memory.services.actors import Actor
from runtime.postgres.cluster import Cluster
from runtime.postgres.provision import provision

# An end to waiting, not a measurement.
PATIENCE = 30.0


@contextmanager
def serving() -> Iterator[str]:
    """Run the server on a free port and give its address without a scheme."""
    # Only now, since it looks at the directory of static files.
    from config.asgi import application

    server = uvicorn.Server(
        uvicorn.Config(
            application,
            host="127.0.0.1",
            port=0,
            lifespan="off",
            log_level="warning",
            ws="websockets-sansio",
            ws_max_size=MOST_SOCKET_BYTES,
            ws_per_message_deflate=False,
        )
    )
    thread = threading.Thread(target=server.run, name="web", daemon=True)
    thread.start()
    while not server.started:
        if not thread.is_alive():
            pytest.fail("the web server did not start")
        time.sleep(0.01)
    try:
        yield f"127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        assert not thread.is_alive(), "the web server did not end"


@pytest.fixture(scope="session")
def place(django_db_setup: None) -> Iterator[str]:
    """Run the web server for all tests of a session; gives its host and port."""
    with serving() as address:
        yield address


@pytest.fixture
def own_server(settings: Settings) -> Iterator[Cluster]:
    """A database server of a test's own, which it may stop; notices are awaited from there."""
    home = Path(tempfile.mkdtemp(prefix="loci-"))
    server = Cluster(home, {"fsync": "off"})
    server.start()
    provision(server.socket_directory, "loci")
    settings.LIVE_DATABASE = embedded(server.socket_directory, user="loci_app")
    yield server
    server.stop()
    shutil.rmtree(home)


def logged_in(actor: Actor) -> Client:
    """Give a browser that is logged in as an owner's person."""
    client = Client()
    user = Owner.objects.get(pk=actor.owner_id).user
    assert user is not None
    client.force_login(user)
    return client


def cookie_of(client: Client) -> dict[str, str]:
    """Give the header with a browser's session."""
    return {"Cookie": f"loci_session={client.cookies['loci_session'].value}"}


class Listener:
    """An open socket."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    def watch(self, *sorts: str) -> Any:
        """Say what is watched, and give the server's answer."""
        self.connection.send(json.dumps({"watch": list(sorts)}))
        while "watching" not in (answer := self.hear()):
            pass
        return answer

    def hear(self) -> Any:
        """Wait for the next message."""
        return json.loads(self.connection.recv(PATIENCE))

    def hear_of(self, version: int) -> Any:
        """Wait for the message about a version, and give all that came until then."""
        heard = [self.hear()]
        while heard[-1].get("version") != version:
            heard.append(self.hear())
        return heard

    def closed_with(self) -> int:
        """Wait until the server closes the socket, and give its code; what it says before is passed over."""
        while True:
            try:
                self.connection.recv(PATIENCE)
            except ConnectionClosed as error:
                assert error.rcvd is not None, "the server was gone without a word"
                return int(error.rcvd.code)

    def said_before_closing(self) -> list[Any]:
        """Give all that the server says until it closes the socket."""
        said = []
        while True:
            try:
                said.append(json.loads(self.connection.recv(PATIENCE)))
            except ConnectionClosed:
                return said


@contextmanager
def listening(place: str, headers: dict[str, str], *, origin: str | None = "own") -> Iterator[Listener]:
    """Open a socket; with the origin of a page of the server unless another is named."""
    named: Any = f"http://{place}" if origin == "own" else origin
    with connect(f"ws://{place}/live/", additional_headers=headers, origin=named, open_timeout=PATIENCE) as connection:
        yield Listener(connection)


@contextmanager
def as_person(place: str, actor: Actor) -> Iterator[Listener]:
    """Open the socket of an owner's person."""
    with listening(place, cookie_of(logged_in(actor))) as opened:
        yield opened


@contextmanager
def as_agent(place: str, key: str) -> Iterator[Listener]:
    """Open the socket of an agent, which has no page."""
    with listening(place, {"Authorization": f"Bearer {key}"}, origin=None) as opened:
        yield opened
