"""Addresses and keys are checked before anything is sent, and never repeated in a message."""

from __future__ import annotations

import pytest

from memory.providers.endpoints import checked_address, checked_key, is_loopback, joined, origin
from memory.providers.misconfigured import ProviderMisconfigured


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        (" https://models.example/api/v1/ ", "https://models.example/api/v1"),
        ("http://[::1]:11434/", "http://[::1]:11434"),
    ],
)
def test_usable_addresses(given: str, address: str) -> None:
    assert checked_address(given, setting="X") == address


@pytest.mark.parametrize(
    "given",
    [
        "",
        "models.example",
        "ftp://models.example",
        "file:///etc/passwd",
        "http://",
        "http://:8000",
        "http://al:hunter2@models.example",
        "http://al@models.example",
        "http://models.example/?key=hunter2",
        "http://models.example/#hunter2",
        "http://models.example:hunter2",
        "http://models.example:99999",
        "http://models.example:0",
        "http://models.example/a b",
        "http://models.example/\r\nX: hunter2",
        "http://[::1",
        "http://" + "x" * 3_000,
    ],
)
def test_unusable_addresses_are_refused_without_being_repeated(given: str) -> None:
    with pytest.raises(ProviderMisconfigured, match="THE_SETTING") as caught:
        checked_address(given, setting="THE_SETTING")
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("key", ["a b", "a\nb", "ключ", "a\0", "x" * 5_000])
def test_unusable_keys_are_refused_without_being_repeated(key: str) -> None:
    with pytest.raises(ProviderMisconfigured, match="THE_KEY") as caught:
        checked_key(key, setting="THE_KEY")
    assert key not in str(caught.value)


def test_keys_lose_the_blanks_around_them() -> None:
    assert checked_key(" sk-1\n", setting="X") == "sk-1"


@pytest.mark.parametrize(
    ("base", "path", "url"),
    [
        ("http://a", "/v1/embeddings", "http://a/v1/embeddings"),
        ("http://a/v1", "/v1/embeddings", "http://a/v1/embeddings"),
        ("http://a/v1", "/api/embed", "http://a/api/embed"),
        ("http://a/x/v1", "/v1/embeddings", "http://a/x/v1/embeddings"),
    ],
)
def test_joining(base: str, path: str, url: str) -> None:
    assert joined(base, path) == url


@pytest.mark.parametrize(
    ("address", "inside"),
    [
        ("http://127.0.0.1:1", True),
        ("http://127.9.9.9", True),
        ("http://[::1]:1", True),
        ("http://localhost", True),
        ("http://a.localhost", True),
        ("http://10.0.0.1", False),
        ("http://ollama:11434", False),
        ("http://localhost.example", False),
    ],
)
def test_only_loopback_counts_as_this_machine(address: str, inside: bool) -> None:
    assert is_loopback(address) is inside


def test_an_origin_is_scheme_host_and_port() -> None:
    assert origin("http://a:1/x") == origin("http://a:1/y") != origin("http://a:2/x")
