"""Which hosts may be configured, and which addresses their names may lead to."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.providers.json_over_http import JsonOverHttp, Limits, Unreachable
from memory.providers.language_model import ChatLanguageModel
from memory.providers.llm_routes import Routes
from memory.providers.misconfigured import ProviderMisconfigured
from memory.providers.outbound.addresses import Nearness, is_disguised, may_lead_to, nearness, normal_host
from memory.providers.outbound.policy import OutboundPolicy
from tests.contract.providers.loopback_server import LoopbackServer, Reply

PUBLIC_NAME = "provider.example"
LIMITS = Limits(connect_seconds=0.5, read_seconds=2.0, total_seconds=3.0)

PLACES = [
    ("8.8.8.8", Nearness.PUBLIC),
    ("2606:4700:4700::1111", Nearness.PUBLIC),
    ("127.0.0.1", Nearness.LOOPBACK),
    ("127.255.255.254", Nearness.LOOPBACK),
    ("::1", Nearness.LOOPBACK),
    ("::ffff:127.0.0.1", Nearness.LOOPBACK),
    ("64:ff9b::7f00:1", Nearness.LOOPBACK),
    ("::7f00:1", Nearness.LOOPBACK),
    ("2002:7f00:1::", Nearness.LOOPBACK),
    ("10.1.2.3", Nearness.PRIVATE),
    ("172.31.0.1", Nearness.PRIVATE),
    ("192.168.1.1", Nearness.PRIVATE),
    ("100.64.0.1", Nearness.PRIVATE),
    ("198.18.0.1", Nearness.PRIVATE),
    ("fc00::1", Nearness.PRIVATE),
    ("fec0::1", Nearness.PRIVATE),
    ("::ffff:10.0.0.1", Nearness.PRIVATE),
    ("64:ff9b::a00:1", Nearness.PRIVATE),
    ("64:ff9b::808:808", Nearness.PUBLIC),
    ("169.254.1.1", Nearness.LINK_LOCAL),
    ("fe80::1", Nearness.LINK_LOCAL),
    ("fe80::1%eth0", Nearness.LINK_LOCAL),
    ("::ffff:169.254.1.1", Nearness.LINK_LOCAL),
    ("0.0.0.0", Nearness.NOWHERE),
    ("0.1.2.3", Nearness.NOWHERE),
    ("::", Nearness.NOWHERE),
    ("::ffff:0.0.0.0", Nearness.NOWHERE),
    ("224.0.0.1", Nearness.NOWHERE),
    ("ff02::1", Nearness.NOWHERE),
    ("255.255.255.255", Nearness.NOWHERE),
    ("240.0.0.1", Nearness.NOWHERE),
    ("169.254.169.254", Nearness.NOWHERE),
    ("::ffff:169.254.169.254", Nearness.NOWHERE),
    ("64:ff9b::a9fe:a9fe", Nearness.NOWHERE),
    ("169.254.170.2", Nearness.NOWHERE),
    ("fd00:ec2::254", Nearness.NOWHERE),
    ("100.100.100.200", Nearness.NOWHERE),
    ("168.63.129.16", Nearness.NOWHERE),
]


@pytest.mark.parametrize(("address", "near"), PLACES, ids=[place[0] for place in PLACES])
def test_where_an_address_is(address: str, near: Nearness) -> None:
    assert nearness(address) is near


@given(st.ip_addresses())
def test_no_address_is_public_that_the_registries_do_not_call_global(address: Any) -> None:
    if nearness(str(address)) is Nearness.PUBLIC and address.version == 4:
        assert address.is_global
        assert not address.is_multicast


@given(st.ip_addresses(v=4))
def test_an_address_inside_another_is_where_it_is_by_itself(address: Any) -> None:
    for carrier in (f"::ffff:{address}", f"64:ff9b::{address}"):
        assert nearness(carrier) is nearness(str(address))


WAYS = [
    # host, address, allowed without and with OUTBOUND_PRIVATE_HOSTS
    (PUBLIC_NAME, "8.8.8.8", True, True),
    (PUBLIC_NAME, "10.0.0.1", False, True),
    (PUBLIC_NAME, "127.0.0.1", False, True),
    (PUBLIC_NAME, "fe80::1", False, True),
    (PUBLIC_NAME, "169.254.169.254", False, False),
    (PUBLIC_NAME, "0.0.0.0", False, False),
    ("localhost", "127.0.0.1", True, True),
    ("localhost", "::1", True, True),
    ("localhost", "8.8.8.8", False, True),
    ("api.localhost", "10.0.0.1", False, True),
    ("ollama", "172.18.0.2", True, True),
    ("ollama", "127.0.0.1", True, True),
    ("ollama", "8.8.8.8", True, True),
    ("ollama", "169.254.1.1", False, True),
    ("ollama", "169.254.169.254", False, False),
    ("gpu.local", "192.168.1.9", True, True),
    ("gpu.internal", "10.9.9.9", True, True),
    ("gpu.home.arpa", "192.168.1.9", True, True),
    ("internal", "10.9.9.9", True, True),
    ("notinternal.example", "10.9.9.9", False, True),
    ("10.0.0.1", "10.0.0.1", True, True),
    ("127.0.0.1", "127.0.0.1", True, True),
    ("::1", "::1", True, True),
    ("169.254.169.254", "169.254.169.254", False, False),
    ("0.0.0.0", "0.0.0.0", False, False),
]


@pytest.mark.parametrize(("host", "address", "plainly", "listed"), WAYS, ids=[f"{way[0]}-{way[1]}" for way in WAYS])
def test_where_a_host_may_lead(host: str, address: str, plainly: bool, listed: bool) -> None:
    assert may_lead_to(host, address, trusted=False) is plainly
    assert may_lead_to(host, address, trusted=True) is listed


@pytest.mark.parametrize("host", ["2130706433", "0x7f000001", "0x7f.1", "127.1", "0177.0.0.1", "017700000001", "1.2.3"])
def test_an_address_in_disguise_cannot_be_configured(host: str) -> None:
    assert is_disguised(host)
    with pytest.raises(ProviderMisconfigured, match="four decimal numbers") as caught:
        JsonOverHttp(f"http://{host}:8000", kind="llm", setting="LLM_BASE_URL")
    assert host not in caught.value.message


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "a1", "4chan.example", "x7f", "1.example"])
def test_what_is_no_disguise(host: str) -> None:
    assert not is_disguised(host)


@pytest.mark.parametrize(
    ("given", "normal"),
    [("API.Example.", "api.example"), ("Bücher.example", "xn--bcher-kva.example"), ("[::1]", "::1"), ("::0:1", "::1")],
)
def test_hosts_are_compared_in_one_form(given: str, normal: str) -> None:
    assert normal_host(given) == normal


def policy(**given: Any) -> OutboundPolicy:
    return OutboundPolicy.of(**{"hosts": (), "private_hosts": (), "pins": {}, "ca_file": "", **given})


class TestConfiguring:
    def test_only_listed_hosts_can_be_configured(self) -> None:
        listed = policy(hosts=["API.example", "localhost"])
        for address in ("https://api.example/v1", "https://API.EXAMPLE:8443", "http://localhost:11434"):
            JsonOverHttp(address, kind="llm", policy=listed)
        for address in ("https://example", "https://xapi.example", "https://api.example.evil.example", "http://[::1]"):
            with pytest.raises(ProviderMisconfigured, match="OUTBOUND_HOSTS"):
                JsonOverHttp(address, kind="llm", policy=listed)

    def test_routes_are_checked_before_they_are_used(self) -> None:
        routes = Routes(
            {"recall_expand": {"base_url": "https://elsewhere.example"}}, model="m", base_url="https://api.example"
        )
        with pytest.raises(ProviderMisconfigured, match="recall_expand"):
            ChatLanguageModel(routes, base_url="https://api.example", policy=policy(hosts=["api.example"]))

    @pytest.mark.parametrize("name", ["hosts", "private_hosts"])
    @pytest.mark.parametrize("host", ["https://api.example", "*", "a b", "*.example", "a/b"])
    def test_what_is_no_host_is_refused(self, name: str, host: str) -> None:
        with pytest.raises(ProviderMisconfigured, match="OUTBOUND_"):
            policy(**{name: [host]})


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Give a function that decides what the system's name server says; it gives the names that were asked for."""
    real = socket.getaddrinfo

    def become(**answers: list[str]) -> list[str]:
        asked: list[str] = []

        def resolve(host: Any, port: Any, *rest: Any, **options: Any) -> Any:
            text = host.decode() if isinstance(host, bytes) else host
            found = {name.replace("_", "."): addresses for name, addresses in answers.items()}.get(text)
            if found is None:
                return real(host, port, *rest, **options)
            asked.append(text)
            return [one for address in found for one in real(address, port, *rest, **options)]

        monkeypatch.setattr(socket, "getaddrinfo", resolve)
        return asked

    return become


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackServer]:
    for name in ("ALL_PROXY", "all_proxy", "http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with LoopbackServer(lambda _: Reply(body=b'{"ok": true}')) as made:
        yield made


def port_of(server: LoopbackServer) -> str:
    return server.address.rpartition(":")[2]


def ask(host: str, server: LoopbackServer, **given: Any) -> Any:
    address = f"http://{host}:{port_of(server)}"
    with closing(JsonOverHttp(address, kind="llm", limits=LIMITS, policy=policy(**given))) as provider:
        return provider.post(address, {"text": "violet"}).value()


class TestConnecting:
    @pytest.mark.parametrize(
        "answers",
        [["127.0.0.1"], ["::ffff:127.0.0.1"], ["127.0.0.1", "10.0.0.1"], ["169.254.169.254"], ["0.0.0.0"], ["fe80::1"]],
        ids=lambda answers: "+".join(answers),
    )
    def test_a_public_name_that_leads_here_is_refused(
        self, names: Callable[..., list[str]], server: LoopbackServer, answers: list[str]
    ) -> None:
        asked = names(provider_example=answers)
        with pytest.raises(Unreachable, match="OUTBOUND_PRIVATE_HOSTS"):
            ask(PUBLIC_NAME, server)
        assert asked == [PUBLIC_NAME], "a refusal is not tried again"
        assert server.connections == 0

    def test_a_listed_one_is_not(self, names: Callable[..., list[str]], server: LoopbackServer) -> None:
        names(provider_example=["127.0.0.1"])
        assert ask(PUBLIC_NAME, server, private_hosts=["Provider.Example"]) == {"ok": True}

    def test_a_name_of_one_word_may_lead_into_the_private_network(
        self, names: Callable[..., list[str]], server: LoopbackServer
    ) -> None:
        names(ollama=["127.0.0.1"])
        assert ask("ollama", server) == {"ok": True}

    def test_localhost_and_addresses_need_no_setting(self, server: LoopbackServer) -> None:
        assert ask("localhost", server) == {"ok": True}
        assert ask("127.0.0.1", server) == {"ok": True}

    def test_localhost_must_be_this_machine(self, names: Callable[..., list[str]], server: LoopbackServer) -> None:
        """What goes to `localhost` is not redacted."""
        names(localhost=["192.0.2.1"])
        with pytest.raises(Unreachable, match="nothing was sent"):
            ask("localhost", server)

    def test_what_is_checked_is_what_is_connected_to(
        self, names: Callable[..., list[str]], server: LoopbackServer
    ) -> None:
        """A name server that answers differently each time is asked once."""
        first = names(provider_example=["192.0.2.1", "127.0.0.1"])
        with pytest.raises(Unreachable):
            ask(PUBLIC_NAME, server)
        assert set(first) == {PUBLIC_NAME}
        assert server.connections == 0

    def test_no_other_host_is_connected_to(self, server: LoopbackServer) -> None:
        provider = JsonOverHttp("http://localhost:1", kind="llm", limits=LIMITS)
        with closing(provider), pytest.raises(Unreachable, match="another host"):
            provider.post(server.address, {})
        assert server.connections == 0

    def test_many_threads_are_held_to_it_alike(self, names: Callable[..., list[str]], server: LoopbackServer) -> None:
        names(provider_example=["127.0.0.1"])
        refused: list[Unreachable] = []

        def one() -> None:
            try:
                ask(PUBLIC_NAME, server)
            except Unreachable as error:
                refused.append(error)

        threads = [threading.Thread(target=one) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(refused) == 8
        assert server.connections == 0
