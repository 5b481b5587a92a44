"""TLS to providers: whom it trusts, and that a server with another key than the pinned one gets nothing to read."""

from __future__ import annotations

import base64
import ssl
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from memory.providers.json_over_http import JsonOverHttp, Limits, Unreachable
from memory.providers.misconfigured import ProviderMisconfigured
from memory.providers.outbound.policy import OutboundPolicy
from memory.providers.outbound.tls import client_context
from tests.contract.providers.tls_server import (
    Authority,
    Identity,
    Listener,
    make_authority,
    make_identity,
    tls_server,
    tunnel,
)

LIMITS = Limits(connect_seconds=5.0, read_seconds=5.0, total_seconds=10.0)
TEXT = "the violet cushion"
OTHER_PIN = base64.b64encode(bytes(32)).decode()


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return make_authority(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def identity(authority: Authority) -> Identity:
    return make_identity(authority, "server", "localhost", "127.0.0.1", "provider.example")


@pytest.fixture
def server(identity: Identity) -> Iterator[Listener]:
    with tls_server(identity) as listener:
        yield listener


def policy(**given: Any) -> OutboundPolicy:
    return OutboundPolicy.of(**{"hosts": (), "private_hosts": (), "pins": {}, "ca_file": "", **given})


def post(address: str, **given: Any) -> Any:
    with closing(JsonOverHttp(address, kind="llm", limits=LIMITS, policy=policy(**given))) as provider:
        return provider.post(f"{address}/v1/x", {"text": TEXT}).value()


def refused(address: str, **given: Any) -> str:
    with pytest.raises(Unreachable) as caught:
        post(address, **given)
    assert "127.0.0.1" not in str(caught.value)
    return str(caught.value)


class TestTrust:
    def test_an_authority_of_ones_own_is_trusted_when_it_is_named(self, server: Listener, authority: Authority) -> None:
        assert post(f"https://localhost:{server.port}", ca_file=authority.file) == {"ok": True}
        assert TEXT.encode() in server.received

    @pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"])
    def test_no_other_place_adds_one(
        self, server: Listener, authority: Authority, monkeypatch: pytest.MonkeyPatch, variable: str
    ) -> None:
        monkeypatch.setenv(variable, authority.file if variable != "SSL_CERT_DIR" else str(authority.folder))
        assert "not trusted" in refused(f"https://localhost:{server.port}")
        assert server.received == b""
        assert server.handshakes == 0

    def test_a_certificate_of_another_host_is_refused(self, authority: Authority) -> None:
        with tls_server(make_identity(authority, "other", "elsewhere.example")) as server:
            assert "not trusted" in refused(f"https://localhost:{server.port}", ca_file=authority.file)
            assert server.received == b""

    def test_an_older_tls_is_refused(self, identity: Identity, authority: Authority) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            stack = ExitStack()
            server = stack.enter_context(tls_server(identity, newest=ssl.TLSVersion.TLSv1_1))
        with stack:
            refused(f"https://localhost:{server.port}", ca_file=authority.file)
            assert (bytes(server.received), server.handshakes) == (b"", 0)
        assert server.connections

    def test_keys_of_a_connection_are_written_nowhere(
        self, server: Listener, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SSLKEYLOGFILE", str(tmp_path / "keys"))
        client_context.__globals__["_context"].cache_clear()
        assert post(f"https://localhost:{server.port}", ca_file=authority.file) == {"ok": True}
        assert not (tmp_path / "keys").exists()

    def test_a_file_without_certificates_is_a_mistake_in_the_settings(self, tmp_path: Path) -> None:
        for content in (None, "nothing"):
            path = tmp_path / "authority.pem"
            if content is not None:
                path.write_text(content)
            with pytest.raises(ProviderMisconfigured, match="OUTBOUND_CA_FILE"):
                policy(ca_file=str(path))


class TestPins:
    def test_the_pinned_key_is_accepted(self, server: Listener, authority: Authority, identity: Identity) -> None:
        pins = {"LocalHost.": [OTHER_PIN, f"sha256/{identity.pin}"]}
        assert post(f"https://localhost:{server.port}", ca_file=authority.file, pins=pins) == {"ok": True}

    def test_another_key_is_sent_nothing(self, server: Listener, authority: Authority) -> None:
        pins = {"localhost": OTHER_PIN}
        reason = refused(f"https://localhost:{server.port}", ca_file=authority.file, pins=pins)
        assert "OUTBOUND_PINS" in reason
        assert server.connections == 1, "a refusal is not tried again"
        assert server.received == b""

    def test_a_pin_does_not_replace_trust(self, server: Listener, identity: Identity) -> None:
        assert "not trusted" in refused(f"https://localhost:{server.port}", pins={"localhost": identity.pin})
        assert server.received == b""

    def test_an_address_is_pinned_like_a_name(self, server: Listener, authority: Authority, identity: Identity) -> None:
        address = f"https://127.0.0.1:{server.port}"
        assert post(address, ca_file=authority.file, pins={"127.0.0.1": identity.pin}) == {"ok": True}
        server.received.clear()
        assert "OUTBOUND_PINS" in refused(address, ca_file=authority.file, pins={"127.0.0.1": OTHER_PIN})
        assert server.received == b""

    def test_pins_of_other_hosts_do_not_count(self, server: Listener, authority: Authority) -> None:
        pins = {"provider.example": OTHER_PIN}
        assert post(f"https://localhost:{server.port}", ca_file=authority.file, pins=pins) == {"ok": True}

    def test_a_pinned_host_must_be_addressed_with_tls(self) -> None:
        with pytest.raises(ProviderMisconfigured, match="https"):
            policy(pins={"provider.example": OTHER_PIN}).admit("http://provider.example", setting="LLM_BASE_URL")

    @pytest.mark.parametrize(
        "pins",
        [{"a.example": "short"}, {"a.example": 7}, {"a.example": []}, {"a.example": [None]}, {"a b": OTHER_PIN}],
        ids=["short", "number", "none", "null", "host"],
    )
    def test_what_is_no_pin_is_refused(self, pins: dict[str, Any]) -> None:
        with pytest.raises(ProviderMisconfigured, match="OUTBOUND_PINS"):
            policy(pins=pins)


@pytest.mark.parametrize("over_tls", [False, True], ids=["plain", "tls"])
class TestProxies:
    """A proxy of the environment sees a tunnel only, and neither trust nor pins end at it."""

    @pytest.fixture
    def proxy(
        self, server: Listener, identity: Identity, over_tls: bool, monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[Listener]:
        for name in ("NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy", "http_proxy", "https_proxy"):
            monkeypatch.delenv(name, raising=False)
        with tunnel(server.port, identity=identity if over_tls else None) as listener:
            scheme = "https" if over_tls else "http"
            monkeypatch.setenv("HTTPS_PROXY", f"{scheme}://localhost:{listener.port}")
            yield listener

    def test_the_pinned_key_is_accepted(
        self, proxy: Listener, server: Listener, authority: Authority, identity: Identity
    ) -> None:
        pins = {"provider.example": identity.pin}
        assert post("https://provider.example", ca_file=authority.file, pins=pins) == {"ok": True}
        assert proxy.asked == ["CONNECT provider.example:443 HTTP/1.1"]
        assert TEXT.encode() in server.received

    def test_another_key_is_sent_nothing(self, proxy: Listener, server: Listener, authority: Authority) -> None:
        pins = {"provider.example": OTHER_PIN}
        assert "OUTBOUND_PINS" in refused("https://provider.example", ca_file=authority.file, pins=pins)
        assert proxy.asked == ["CONNECT provider.example:443 HTTP/1.1"]
        assert server.received == b""

    def test_an_unknown_authority_is_refused(
        self,
        proxy: Listener,
        server: Listener,
        authority: Authority,
        over_tls: bool,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setenv("SSL_CERT_FILE", authority.file)
        assert "not trusted" in refused("https://provider.example")
        assert server.received == b""
        # A proxy with TLS is refused by its own certificate already.
        assert bool(proxy.asked) is not over_tls
