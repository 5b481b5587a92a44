"""The coverage page in the palace and in the admin: what it shows, what it hides, what it refuses."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from memory.models import AuditEvent, owner_scope
from memory.services.actors import Actor
from telemetry.models import TurnEvent
from telemetry.palace import coverage_view
from telemetry.services.turns import test_mode as modes
from telemetry.services.turns.drafts import TurnDraft
from telemetry.services.turns.recording import record_events
from telemetry.services.turns.test_mode import set_test_mode
from tests.integration.palace.conftest import HTMX, client_of
from tests.integration.telemetry.telling import tell, tell_a_week

PAGE = "/telemetry/coverage/"
REQUESTS = "/telemetry/coverage/requests/"
HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>\"'&{{ 7*7 }}"


@pytest.fixture(autouse=True)
def by_meaning(settings: Any) -> None:
    """Group requests by what they mean, as an installation does."""
    settings.EMBEDDING_PROVIDER = "local"


@pytest.fixture
def palace(alice: Actor) -> Client:
    """Alice's browser."""
    return client_of(alice)


def html(answer: Any) -> str:
    return str(answer.content.decode())


def links(answer: Any) -> list[str]:
    """List the addresses of the bars."""
    found = re.findall(r'<a class="bar-link" href="([^"]+)"', html(answer))
    return [one.replace("&amp;", "&") for one in found]


def test_the_section_leads_to_the_coverage(palace: Client) -> None:
    assert 'href="/telemetry/">Telemetry</a>' in html(palace.get("/"))
    assert palace.get("/telemetry/")["Location"] == PAGE
    page = html(palace.get(PAGE))
    assert '<a href="/telemetry/" aria-current="page">Telemetry</a>' in page
    assert '<a href="/telemetry/coverage/" aria-current="page">Coverage</a>' in page


def test_without_turns_it_says_how_to_send_the_first(palace: Client) -> None:
    page = html(palace.get(PAGE))
    assert "No turns in these days" in page
    assert "curl http://testserver/api/v1/telemetry/pipeline-coverage/events" in page
    assert "<svg class" not in page


def test_an_agent_without_turns_is_told_from_an_owner_without_any(
    palace: Client, alice: Actor, make_agent: Callable[..., Any]
) -> None:
    agent, _ = make_agent(alice, "scribe")
    tell(alice, "A question of another")
    page = html(palace.get(f"/telemetry/coverage/?agent={agent.agent_id}&days=7"))
    assert "This agent has no turns in these days" in page
    assert "Let one report a first turn" not in page
    assert 'href="/telemetry/coverage/?days=7"' in page


def test_the_curl_of_the_empty_page_records_a_turn(
    palace: Client, alice: Actor, make_agent: Callable[..., Any]
) -> None:
    page = html(palace.get(PAGE))
    written = re.search(r"-d &#x27;(.*?)&#x27;|-d '(.*?)'", page, re.DOTALL)
    assert written is not None
    address = re.search(r"curl http://testserver(\S+)", page)
    assert address is not None
    _, secret = make_agent(alice)
    body = (written[1] or written[2]).replace("&quot;", '"')
    answer = Client().post(
        address[1], body, content_type="application/json", headers={"Authorization": f"Bearer {secret}"}
    )
    assert answer.status_code in (200, 201), answer.content
    assert "No turns in these days" not in html(palace.get(PAGE))


def test_it_shows_numbers_bars_trend_spokes_and_failures(palace: Client, alice: Actor) -> None:
    tell_a_week(alice)
    answer = palace.get(PAGE)
    page = html(answer)
    assert ("turns", "33") in answer.context["figures"]
    assert ("no spoke fitted", "42 %") in answer.context["figures"]
    assert "Collect more data: 33 turns are too few to decide." in page
    bars = [(bar.label, bar.fallbacks, bar.share, bar.cumulative) for bar, _ in answer.context["bars"]]
    assert bars == [
        ("Translate this letter into Portuguese", "9", "64 %", "64 %"),
        ("Water the plants on the balcony", "4", "29 %", "93 %"),
        ("Play some quiet music", "1", "7.1 %", "100 %"),
    ]
    assert "The 2 largest groups make up 93 % of all turns that no spoke fitted." in page
    assert "for requests like “Translate this letter into Portuguese”, would cover 9 fallbacks" in page
    assert len(answer.context["trend"].points) == 7
    assert {spoke["name"] for spoke in answer.context["spokes"]} == {"travel", "fallback", "invoices"}
    assert [(one["group"].label, one["missed"]) for one in answer.context["failures"]] == [
        ("What does the invoice of March say?", "3"),
        ("Book a train from Lisbon to Porto", "1"),
    ]


def test_every_chart_is_there_as_a_table_too(palace: Client, alice: Actor) -> None:
    tell_a_week(alice)
    answer = palace.get(PAGE)
    page = html(answer)
    table = page[page.index('<caption class="hidden-text">Requests that no spoke fitted') :]
    table = table[: table.index("</table>")]
    for bar, row in answer.context["bars"]:
        assert bar.label in table
        assert row.width in page
    assert len(answer.context["days"]) == 15
    assert page.count('<svg class="chart"') == 2
    assert page.count("<desc") == 2


def test_a_bar_leads_to_its_requests_and_back(palace: Client, alice: Actor) -> None:
    tell_a_week(alice)
    address = links(palace.get(PAGE, {"days": "7"}))[0]
    assert address.startswith(f"{REQUESTS}?days=7&key=")
    answer = palace.get(address)
    assert [row["request"] for row in answer.context["rows"]] == ["Translate this letter into Portuguese"] * 9
    assert {row["agent"] for row in answer.context["rows"]} == {"you"}
    assert 'href="/telemetry/coverage/?days=7"' in html(answer)


def test_requests_come_in_pages(palace: Client, alice: Actor) -> None:
    for number in range(53):
        tell(alice, "Translate this letter", days_ago=number / 1000, matched_spoke="fallback")
    answer = palace.get(links(palace.get(PAGE))[0])
    assert len(answer.context["rows"]) == 50
    following = palace.get(answer.context["addresses"]["next"])
    assert len(following.context["rows"]) == 3
    assert following.context["addresses"]["next"] == ""
    assert "Newest" in html(following)


def test_hostile_requests_are_shown_as_text(palace: Client, alice: Actor) -> None:
    tell(alice, HOSTILE, matched_spoke="fallback", outcome="failed")
    tell(alice, HOSTILE, matched_spoke="<script>alert(3)</script>", outcome="failed")
    answer = palace.get(PAGE)
    requests = palace.get(links(answer)[0])
    for page in (html(answer), html(requests)):
        assert "<img src=x" not in page
        assert "<script>alert" not in page
        assert "49" not in re.sub(r"[\w-]*\d[\w.%-]*", "", page)
        assert "&lt;img src=x onerror=alert(1)&gt;" in page


def test_personal_data_is_masked_everywhere(palace: Client, alice: Actor) -> None:
    tell(alice, "Write to anna.silva@example.org about the invoice", matched_spoke="fallback", outcome="failed")
    answer = palace.get(PAGE)
    for page in (html(answer), html(palace.get(links(answer)[0]))):
        assert "anna.silva" not in page
        assert "[EMAIL]" in page


def test_a_duration_that_was_not_told_is_a_dash(palace: Client, alice: Actor) -> None:
    for milliseconds in (0, 1, 2156):
        tell(alice, "Translate this letter", matched_spoke="fallback", duration_ms=milliseconds)
    requests = palace.get(links(palace.get(PAGE))[0])
    assert [row["took"] for row in requests.context["rows"]] == ["2.2 s", "1 ms", "–"]
    said = io.StringIO()
    call_command("telemetry", "events", stdout=said)
    assert re.findall("fallback  (.+)  Translate", said.getvalue()) == ["2156 ms", "1 ms", "–"]


def test_a_row_that_does_not_open_spoils_no_page(palace: Client, alice: Actor) -> None:
    tell(alice, "Translate this letter", matched_spoke="fallback")
    tell(alice, "Translate this letter", days_ago=1, matched_spoke="fallback")
    with owner_scope(alice.owner_id), connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {TurnEvent._meta.db_table} SET request = %s WHERE occurred_at < now() - interval '12 hours'",  # noqa: S608
            [b"\x01garbled"],
        )
    answer = palace.get(PAGE)
    assert answer.status_code == 200
    requests = palace.get(links(answer)[0])
    assert requests.status_code == 200
    assert len(requests.context["rows"]) == 2


def test_window_and_agent_choose_the_turns(palace: Client, alice: Actor, make_agent: Callable[..., Any]) -> None:
    agent, _ = make_agent(alice, "scribe & <b>son</b>")
    tell(alice, "An old question", days_ago=10)
    tell(agent, "A question to the scribe")
    page = palace.get(PAGE, {"days": "7"})
    assert ("turns", "1") in page.context["figures"]
    assert "scribe &amp; &lt;b&gt;son&lt;/b&gt;" in html(page)
    narrowed = palace.get(PAGE, {"agent": str(agent.agent_id)})
    assert ("turns", "1") in narrowed.context["figures"]
    assert f'<option dir="auto" value="{agent.agent_id}" selected>' in html(narrowed)
    for window in narrowed.context["windows"]:
        assert parse_qs(urlsplit(window["address"]).query)["agent"] == [str(agent.agent_id)]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({"days": "none"}, "days.out_of_range"),
        ({"days": "0"}, "days.out_of_range"),
        ({"days": "99999"}, "days.out_of_range"),
        ({"days": "٣"}, "days.out_of_range"),
        ({"days": "-1"}, "days.out_of_range"),
        ({"stream": "other"}, "stream.invalid"),
        ({"agent": "nobody"}, "id.invalid"),
        ({"agent": "x\x00y"}, "id.invalid"),
        ({"agent": "0190aaaa-0000-7000-8000-000000000000"}, "agent.unknown"),
    ],
)
@pytest.mark.parametrize("page", [PAGE, REQUESTS])
def test_what_is_no_choice_is_refused_with_a_sentence(
    palace: Client, page: str, query: dict[str, str], code: str
) -> None:
    answer = palace.get(page, query)
    assert answer.status_code == (404 if code == "agent.unknown" else 422)
    assert code in html(answer)


@pytest.mark.parametrize("key", ["", "nothing", "r-zz", "r-0", "s-1", "x-0000000000000000", "x" * 5000, "<b>"])
def test_a_group_that_there_is_not_is_not_found(palace: Client, alice: Actor, key: str) -> None:
    tell(alice, "Translate this letter", matched_spoke="fallback")
    answer = palace.get(REQUESTS, {"key": key})
    assert answer.status_code == 404
    assert "coverage.cluster_unknown" in html(answer)


def test_a_group_that_is_gone_says_that_the_report_has_changed(palace: Client, alice: Actor, settings: Any) -> None:
    settings.EMBEDDING_PROVIDER = "none"
    tell(alice, "Translate this letter", matched_spoke="fallback")
    address = links(palace.get(PAGE, {"days": "7"}))[0]
    assert "key=s-" in address
    assert len(palace.get(address).context["rows"]) == 1
    settings.EMBEDDING_PROVIDER = "stub"
    assert "key=r-" in links(palace.get(PAGE, {"days": "7"}))[0]
    for gone in (address, f"{REQUESTS}?days=7&key=r-0000000000000000"):
        answer = palace.get(gone)
        assert answer.status_code == 200
        assert "The report has changed since" in html(answer)
        assert 'href="/telemetry/coverage/?days=7"' in html(answer)


@pytest.mark.parametrize(
    "after", ["nothing", "2026-01-01_x", "2026-01-01T00:00:00_0190aaaa-0000-7000-8000-000000000000"]
)
def test_a_place_that_is_none_is_refused(palace: Client, alice: Actor, after: str) -> None:
    tell(alice, "Translate this letter", matched_spoke="fallback")
    address = links(palace.get(PAGE))[0]
    assert palace.get(f"{address}&after={after}").status_code == 422


def test_only_the_part_that_changes_is_given_where_only_that_is_asked_for(palace: Client, alice: Actor) -> None:
    tell(alice, "Translate this letter", matched_spoke="fallback")
    part = html(palace.get(PAGE, headers=HTMX))
    assert "<html" not in part
    assert 'id="coverage"' in part
    assert 'id="test-mode" hx-swap-oob="true"' in part


def test_nothing_is_given_to_whoever_has_the_same_report(palace: Client, alice: Actor) -> None:
    tell(alice, "Sort my stamps.", matched_spoke="fallback")
    version = re.search(r'data-version="(\d+)"', html(palace.get("/telemetry/coverage/")))
    assert version
    known = {"known": version[1]}
    assert palace.get("/telemetry/coverage/", known, headers=HTMX).status_code == 204
    assert palace.get("/telemetry/coverage/", known).status_code == 200, "a page is always given whole"
    tell(alice, "Sort my coins.", matched_spoke="fallback")
    assert "Sort my coins." in html(palace.get("/telemetry/coverage/", known, headers=HTMX))


def test_the_table_can_be_downloaded(palace: Client, alice: Actor) -> None:
    tell_a_week(alice)
    page = html(palace.get(PAGE, {"days": "7"}))
    address = re.search(r'href="(/api/[^"]+)" download>Download as CSV', page)
    assert address is not None
    answer = palace.get(address[1].replace("&amp;", "&"))
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/csv")
    assert "Translate this letter" in answer.getvalue().decode()


def test_switching_test_mode_is_confirmed_and_told(palace: Client, alice: Actor) -> None:
    assert "Whatever the test stream holds is erased." in html(palace.get("/telemetry/test-mode/"))
    assert not modes.test_mode(actor=alice).enabled
    answer = palace.post("/telemetry/test-mode/", {"enabled": "true"}, follow=True)
    assert modes.test_mode(actor=alice).enabled
    assert "Test mode is on: turn events go to the test stream." in html(answer)
    with owner_scope(alice.owner_id):
        assert AuditEvent.objects.filter(verb="enable").count() == 1


@pytest.mark.parametrize("enabled", ["", "yes", "1", "TRUE"])
def test_test_mode_is_on_or_off(palace: Client, alice: Actor, enabled: str) -> None:
    assert palace.post("/telemetry/test-mode/", {"enabled": enabled}).status_code == 422
    assert not modes.test_mode(actor=alice).enabled


def test_test_mode_is_said_on_every_page_of_telemetry(palace: Client, alice: Actor) -> None:
    tell(alice, "A live question", matched_spoke="fallback")
    set_test_mode(actor=alice, enabled=True)
    tell(alice, "A question of a test", matched_spoke="fallback")
    answer = palace.get(PAGE)
    page = html(answer)
    assert "Test mode is on." in page
    assert "A question of a test" in page
    assert "A live question" not in page
    live = palace.get(PAGE, {"stream": "live"})
    assert "A live question" in html(live)
    assert "Test mode is on." in html(live)
    for address in (links(answer)[0], "/telemetry/test-mode/"):
        assert "Test mode is on." in html(palace.get(address))


@pytest.mark.parametrize("address", ["/", "/remember/", "/archive/", "/privacy/", PAGE])
def test_test_mode_is_said_once_on_every_page_of_the_palace(palace: Client, alice: Actor, address: str) -> None:
    assert "Test mode is on." not in html(palace.get(address))
    set_test_mode(actor=alice, enabled=True)
    page = html(palace.get(address))
    assert page.count("Test mode is on.") == 1
    assert 'href="/telemetry/test-mode/"' in page
    set_test_mode(actor=alice, enabled=False)
    assert "Test mode is on." not in html(palace.get(address))


def test_switched_off_it_says_so(palace: Client, settings: Any) -> None:
    settings.TELEMETRY_ENABLED = False
    assert "Turn events are switched off on this server" in html(palace.get(PAGE))


def test_without_an_embedder_it_goes_by_spokes_and_says_why(palace: Client, alice: Actor, settings: Any) -> None:
    settings.EMBEDDING_PROVIDER = "none"
    tell_a_week(alice)
    page = html(palace.get(PAGE))
    assert "Requests handed to fallback" in page
    assert "Requests cannot be read for meaning now" in page


def test_groups_by_spoke_are_named_in_the_language_of_the_page(
    palace: Client, alice: Actor, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.EMBEDDING_PROVIDER = "none"
    tell_a_week(alice)
    german = {"Requests handed to %(spoke)s": "Anfragen an %(spoke)s"}
    monkeypatch.setattr(coverage_view, "_", lambda text: german.get(text, text))
    page = html(palace.get(PAGE))
    assert page.count("Anfragen an fallback") >= 3
    assert "Requests handed to" not in page


def test_shares_in_the_hint_are_written_as_on_the_page(palace: Client, alice: Actor) -> None:
    record_events(actor=alice, events=[TurnDraft(request="Translate this letter") for _ in range(60)])
    assert "(L0): Nur 0,0" in html(palace.get(PAGE, headers={"Accept-Language": "de"}))


def test_it_says_how_many_requests_are_still_to_be_read(palace: Client, alice: Actor) -> None:
    turns = [TurnDraft(request=f"Question number {number}", matched_spoke="fallback") for number in range(70)]
    record_events(actor=alice, events=turns)
    page = html(palace.get(PAGE))
    assert "Requests are being read for meaning: 70 left." in page
    assert "Requests handed to fallback" in page


def test_a_stranger_sees_nothing_of_it(alice: Actor, mallory: Actor) -> None:
    tell(alice, "Translate this letter", matched_spoke="fallback")
    address = links(client_of(alice).get(PAGE))[0]
    stranger = client_of(mallory)
    assert "No turns in these days" in html(stranger.get(PAGE))
    answer = html(stranger.get(address))
    assert "The report has changed" in answer, "as of a group that is there no more"
    assert "Translate" not in answer


def test_more_turns_take_no_more_queries(palace: Client, alice: Actor, make_agent: Callable[..., Any]) -> None:
    agent, _ = make_agent(alice)
    tell(agent, "Translate this letter", matched_spoke="fallback")
    palace.get(PAGE)

    def queries(page: str) -> int:
        with CaptureQueriesContext(
            connection,
        ) as captured:
            assert palace.get(page).status_code == 200
        return len(captured)

    tell(agent, "Translate this letter at once", matched_spoke="fallback")
    palace.get(PAGE)
    address = links(palace.get(PAGE))[0]
    few = queries(PAGE), queries(address)
    tell_a_week(alice)
    palace.get(PAGE)
    many = queries(PAGE), queries(address)
    assert many <= few


class TestAdmin:
    """The same page in the admin."""

    PAGE = "/admin/telemetry/coverage/"

    @pytest.fixture
    def boss(self, make_owner: Callable[..., Actor]) -> Actor:
        return make_owner("boss", staff=True)

    def test_staff_see_their_own_owner_and_no_other(self, alice: Actor, boss: Actor) -> None:
        tell(alice, "A question of Alice", matched_spoke="fallback")
        tell(boss, "A question of the boss", matched_spoke="fallback")
        staff = client_of(boss)
        assert f'href="{self.PAGE}">Coverage</a>' in html(staff.get("/admin/"))
        answer = staff.get(self.PAGE)
        page = html(answer)
        assert "A question of the boss" in page
        assert "A question of Alice" not in page
        assert "Loci administration" in page
        assert " style=" not in page
        assert "<style" not in page
        address = links(answer)[0]
        assert address.startswith("/admin/telemetry/coverage/requests/")
        requests = staff.get(address)
        assert [row["request"] for row in requests.context["rows"]] == ["A question of the boss"]
        assert f'href="{self.PAGE}"' in html(requests)

    def test_test_mode_is_said_there_too(self, boss: Actor) -> None:
        set_test_mode(actor=boss, enabled=True)
        assert "Test mode is on." in html(client_of(boss).get(self.PAGE))

    def test_of_another_owner_nothing_leads_to_the_own_one(self, alice: Actor, boss: Actor) -> None:
        set_test_mode(actor=alice, enabled=True)
        tell(alice, "A question of Alice", matched_spoke="fallback")
        tell(boss, "A question of the boss", matched_spoke="fallback")
        staff, own = client_of(boss), ("format=csv", "/telemetry/test-mode/", "palace/coverage")
        assert all(one in html(staff.get(self.PAGE)) for one in own)
        staff.post("/admin/owners/", {"chosen": str(alice.owner_id)})
        answer = staff.get(self.PAGE)
        assert "A question of Alice" in html(answer)
        for address in (self.PAGE, links(answer)[0], "/admin/"):
            page = html(staff.get(address))
            assert "Test mode is on." in page
            assert not [one for one in own if one in page], address

    def test_others_get_nothing(self, alice: Actor, boss: Actor) -> None:
        tell(boss, "A question of the boss", matched_spoke="fallback")
        address = links(client_of(boss).get(self.PAGE))[0]
        for page in (self.PAGE, address):
            refused = client_of(alice).get(page)
            assert refused.status_code == 403
            assert "A question" not in html(refused)
            assert Client().get(page)["Location"].startswith("/login/?next=/admin/telemetry/coverage/")


def test_the_admins_front_page_draws_the_largest_groups(alice: Actor, make_owner: Callable[..., Actor]) -> None:
    boss = make_owner("boss", staff=True)
    browser, part = client_of(boss), "/admin/telemetry/coverage/front/"
    front = html(browser.get("/admin/"))
    assert f'hx-get="{part}"' in front
    assert browser.get(part)["Location"] == "/admin/telemetry/coverage/"
    assert "No agent has reported a turn in these days" in html(browser.get(part, headers=HTMX))
    tell_a_week(boss)
    tell(alice, "Sail to Oslo", matched_spoke="fallback")
    answer = browser.get(part, headers=HTMX)
    page = html(answer)
    assert 'class="cumulative"' in page
    assert "<caption" in page
    assert "Oslo" not in page
    assert 1 <= len(links(answer)) <= 5
    assert browser.get(links(answer)[0]).status_code == 200
    assert page.count('<th scope="row"') >= len(links(answer))


def test_the_part_of_the_front_page_asks_no_more_for_more_turns(make_owner: Callable[..., Actor]) -> None:
    boss = make_owner("boss", staff=True)
    browser, part = client_of(boss), "/admin/telemetry/coverage/front/"
    tell(boss, "Write to anna.silva@example.org about the invoice", matched_spoke="fallback")
    shown = html(browser.get(part, headers=HTMX))
    assert "about the invoice" in shown
    assert "anna.silva" not in shown
    with CaptureQueriesContext(connection) as few:
        browser.get(part, headers=HTMX)
    tell_a_week(boss)
    browser.get(part, headers=HTMX)
    with CaptureQueriesContext(connection) as many:
        browser.get(part, headers=HTMX)
    assert len(many) <= len(few)
