"""A real browser before a real server, which runs in a thread of this process so that tests share its state."""

from __future__ import annotations

import gc
import os
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, expect
from pytest_django.plugin import DjangoDbBlocker

from memory.management.chromium import chromium
from memory.models import Owner
from memory.services.actors import Actor
from tests.browser.furniture import furnish
from tests.browser.looking import SIZES
from tests.live_server import serving

# Playwright's loop runs in this thread, and Django would refuse the database beside it. This process runs nothing else.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"

QUIET = [
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--no-first-run",
]
# An end to waiting, not a measurement; slow machines get there too.
WAIT_MS = 20_000
# What htmx says of a request that a newer one of the same field replaced, as the page asks it to. Of one that failed it
# says `htmx:sendError` or `htmx:timeout` as well.
REPLACED = ("htmx:afterRequest", "htmx:sendAbort")
# A load that the browser broke off by itself, which Chromium does now and then on a busy machine: once in a test is not
# complained of. A server that refuses, resets or is not there has names of its own (ERR_CONNECTION_…, ERR_EMPTY_…, a
# status), and so has what a policy forbids.
BROKEN_OFF = "Failed to load resource: net::ERR_FAILED"
# What stands in for an answer while the database is away: a page, whatever was asked for.
NO_DATABASE = "<!doctype html><html><body><main><h1>The database does not answer</h1></main></body></html>"
# Longer than every delay after which a field sends what was typed.
QUIET_S = 0.4


def pytest_configure(config: pytest.Config) -> None:
    """Take two warnings for what they are: static files are read synchronously, which their server's author knows; and
    the connection of a thread that ends while its browser leaves is closed as the thread ends.
    """
    for passed_over in (
        "ignore:StreamingHttpResponse must consume synchronous iterators",
        "ignore:<psycopg.Connection .* was deleted while still open:ResourceWarning",
    ):
        config.addinivalue_line("filterwarnings", passed_over)
    expect.set_options(timeout=WAIT_MS)


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """Start the system's Chromium where there is one, without its conversations with the outside."""
    found = chromium()
    chosen = {"executable_path": found} if found else {}
    return {**browser_type_launch_args, **chosen, "args": QUIET}


@pytest.fixture(scope="session")
def base_url(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    """Run the web server on a free port and give its address.

    It may use the database between tests, too: what a page has asked for may be under way as a test ends.
    """
    with django_db_blocker.unblock(), serving() as address:
        yield f"http://{address}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture(autouse=True)
def committed(transactional_db: None) -> None:
    """Let the server's threads see what a test stores."""


@dataclass
class Watch:
    """What a browser complained of: errors on its console, exceptions and broken rules of the content policy."""

    complaints: list[str] = field(default_factory=list)
    under_way: set[Request] = field(default_factory=set)
    last_sign: float = field(default_factory=time.monotonic)
    broken_off: int = 0

    def listen(self, page: Page) -> None:
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.complaints.append(f"exception: {error}"))
        page.on("request", self._began)
        page.on("requestfinished", self._ended)
        page.on("requestfailed", self._ended)

    def wait_until_quiet(self, page: Page) -> None:
        """Wait until nothing is under way: a browser that leaves a page breaks off its requests, which htmx reports."""
        deadline = time.monotonic() + WAIT_MS / 1000
        while self.under_way or time.monotonic() - self.last_sign < QUIET_S:
            assert time.monotonic() < deadline, "requests are still under way"
            page.wait_for_timeout(50)

    def _began(self, request: Request) -> None:
        self.under_way.add(request)
        self.last_sign = time.monotonic()

    def _ended(self, request: Request) -> None:
        self.under_way.discard(request)
        self.last_sign = time.monotonic()

    def _console(self, message: ConsoleMessage) -> None:
        if message.type not in ("error", "warning") or message.text.startswith(REPLACED):
            return
        if message.text.startswith(BROKEN_OFF):
            self.broken_off += 1
        if not message.text.startswith(BROKEN_OFF) or self.broken_off > 1:
            self.complaints.append(f"{message.type}: {message.text} ({message.location['url']})")


def log_in(context: BrowserContext, actor: Actor, base_url: str) -> None:
    """Give a browser the cookie of a login."""
    client = Client()
    user = Owner.objects.get(pk=actor.owner_id).user
    assert user is not None
    client.force_login(user)
    context.add_cookies([{"name": "loci_session", "value": client.cookies["loci_session"].value, "url": base_url}])


@pytest.fixture
def watch() -> Watch:
    """Collect what the browser complains of."""
    return Watch()


@pytest.fixture
def palace(page: Page, context: BrowserContext, alice: Actor, base_url: str, watch: Watch) -> Page:
    """A page of Alice's browser, logged in."""
    log_in(context, alice, base_url)
    watch.listen(page)
    page.set_default_timeout(WAIT_MS)
    return page


@pytest.fixture
def plain_palace(browser: Browser, alice: Actor, base_url: str) -> Iterator[Page]:
    """A page of Alice's browser without scripts, logged in."""
    context = browser.new_context(java_script_enabled=False, base_url=base_url)
    log_in(context, alice, base_url)
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    yield page
    context.close()


@pytest.fixture
def furnished(alice: Actor, make_agent: Callable[..., Any]) -> dict[str, str]:
    """A palace with something in every room; gives the ids of a few memories by name."""
    agent, _ = make_agent(alice, "scribe")
    return furnish(alice, agent)


@pytest.fixture(params=["light", "dark"])
def scheme(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=list(SIZES))
def size(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def visitor(browser: Browser, alice: Actor, base_url: str, scheme: str, size: str, watch: Watch) -> Iterator[Page]:
    context = browser.new_context(
        base_url=base_url,
        viewport=SIZES[size],  # type: ignore[arg-type]
        color_scheme=scheme,  # type: ignore[arg-type]
        reduced_motion="reduce",
        has_touch=size == "narrow",
    )
    log_in(context, alice, base_url)
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    watch.listen(page)
    yield page
    context.close()
