"""Which requests go through a proxy: of the setting, of the environment, or none."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from memory.providers.json_over_http import JsonOverHttp, Limits, Unreachable
from memory.providers.misconfigured import ProviderMisconfigured
from memory.providers.outbound.policy import OutboundPolicy
from tests.contract.providers.loopback_server import LoopbackServer, Received, Reply, Script, as_json

Serve = Callable[[Script], LoopbackServer]
FAR = "http://provider.example"
QUICK = Limits(connect_seconds=2.0, read_seconds=2.0, total_seconds=4.0)


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def proxy(serve: Serve) -> LoopbackServer:
    """A proxy that answers itself, and tells what it was asked for."""
    return serve(lambda request: as_json({"asked": request.path}))


def policy(**given: Any) -> OutboundPolicy:
    return OutboundPolicy.of(**{"hosts": (), "private_hosts": (), "pins": {}, "ca_file": "", **given})


def post(address: str, **given: Any) -> Any:
    with closing(JsonOverHttp(address, kind="llm", limits=QUICK, policy=policy(**given))) as provider:
        return provider.post(f"{address}/v1/x", {"text": "x"}).value()


def test_the_setting_names_the_proxy_for_far_hosts(proxy: LoopbackServer) -> None:
    assert post(FAR, proxy=proxy.address) == {"asked": f"{FAR}/v1/x"}


def test_a_password_for_the_proxy_stays_with_it(proxy: LoopbackServer) -> None:
    post(FAR, proxy=proxy.address.replace("://", "://al:hush@"))
    (request,) = proxy.received
    assert request.headers["Proxy-Authorization"].startswith("Basic ")
    assert "hush" not in repr(policy(proxy="http://al:hush@proxy.example"))


def test_loopback_never_has_a_proxy(proxy: LoopbackServer, serve: Serve) -> None:
    near = serve(lambda _: as_json({"near": True}))
    assert post(near.address, proxy=proxy.address) == {"near": True}
    assert not proxy.received


def test_none_takes_no_notice_of_the_environment(proxy: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy.address)
    assert post(FAR) == {"asked": f"{FAR}/v1/x"}
    with pytest.raises(Unreachable, match="cannot be reached"):
        post(FAR, proxy="none")
    assert len(proxy.received) == 1


def test_the_setting_comes_before_the_environment(proxy: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "provider.example")
    assert post(FAR, proxy=proxy.address) == {"asked": f"{FAR}/v1/x"}


@pytest.mark.parametrize("address", ["socks5://127.0.0.1:9", "gopher://127.0.0.1:9"])
def test_a_proxy_of_the_environment_that_cannot_be_used_is_named(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", address)
    with pytest.raises(Unreachable, match="Set OUTBOUND_PROXY") as caught:
        post(FAR)
    assert address not in str(caught.value)


def test_a_proxy_that_refuses_is_told(serve: Serve) -> None:
    def refuse(_: Received) -> Reply:
        return Reply(407)

    with closing(JsonOverHttp(FAR, kind="llm", limits=QUICK, policy=policy(proxy=serve(refuse).address))) as provider:
        assert provider.post(f"{FAR}/v1/x", {}).status == 407


@pytest.mark.parametrize(
    ("host", "proxied"),
    [
        ("api.openai.com", True),
        ("8.8.8.8", True),
        ("10.1.2.3", False),
        ("127.0.0.1", False),
        ("::1", False),
        ("localhost", False),
        ("x.localhost", False),
        ("ollama", False),
        ("models.internal", False),
        ("models.local", False),
        ("models.example", False),
    ],
)
def test_hosts_of_this_network_have_no_proxy(host: str, proxied: bool) -> None:
    made = policy(proxy="http://proxy.example:3128", private_hosts=("models.example",))
    assert bool(made.proxy_for(host)) is proxied
    assert policy().proxy_for(host) is None


@pytest.mark.parametrize(
    "text", ["proxy.example:3128", "socks5://proxy.example", "http://", "http://a:0", "http://a/x", "http://a b", "off"]
)
def test_what_is_no_proxy_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(ProviderMisconfigured, match="OUTBOUND_PROXY") as caught:
        policy(proxy=text)
    assert text not in str(caught.value)
