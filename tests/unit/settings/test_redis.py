"""What REDIS_URL may look like, and what is said where it cannot be used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from config.settings import redis
from config.settings.env import SettingError
from config.settings.redis import check_broker, redis_parameters

TIMES = {"socket_timeout": 2.0, "socket_connect_timeout": 2.0}


def parameters(url: str, *, password: str = "", ca_file: str = "") -> dict[str, Any]:
    return redis_parameters(url, password=password, ca_file=ca_file, timeout=2.0)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("redis://localhost", {"host": "localhost", "port": 6379, "db": 0}),
        ("redis://redis:6380/3", {"host": "redis", "port": 6380, "db": 3}),
        ("redis://[::1]:6380", {"host": "::1", "port": 6380, "db": 0}),
        ("redis://:p%40ss@r/1", {"host": "r", "port": 6379, "db": 1, "password": "p@ss"}),
        ("redis://loci:word@r", {"host": "r", "port": 6379, "db": 0, "username": "loci", "password": "word"}),
        ("unix:///run/redis/redis.sock", {"unix_socket_path": "/run/redis/redis.sock"}),
        (
            "rediss://r",
            {
                "host": "r",
                "port": 6379,
                "db": 0,
                "ssl": True,
                "ssl_cert_reqs": "required",
                "ssl_check_hostname": True,
            },
        ),
    ],
)
def test_addresses(url: str, expected: dict[str, Any]) -> None:
    assert parameters(url) == {**expected, **TIMES}


def test_a_password_of_its_own() -> None:
    assert parameters("redis://r", password="word")["password"] == "word"
    with pytest.raises(SettingError, match="Keep one of them"):
        parameters("redis://:other@r", password="word")


def test_an_authority_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    file.touch()
    assert parameters("rediss://r", ca_file=str(file))["ssl_ca_certs"] == str(file)
    with pytest.raises(SettingError, match="no such file"):
        parameters("rediss://r", ca_file=str(tmp_path / "none.pem"))
    with pytest.raises(SettingError, match="nothing is checked"):
        parameters("redis://r", ca_file=str(file))


@pytest.mark.parametrize(
    "url",
    [
        "localhost:6379",
        "http://localhost",
        "redis://",
        "redis:///0",
        "redis://r:port",
        "redis://r:99999",
        "redis://r/name",
        "redis://r/-1",
        "redis://r/1/2",
        "redis://r/²",
        "redis://r/9999999",
        "rediss://r?ssl_cert_reqs=none",
        "redis://r#1",
        "unix://",
        "unix://host/path",
        "redis://[",
    ],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(SettingError, match="REDIS_URL cannot be used: "):
        parameters(url)


@pytest.mark.parametrize(
    "url", ["http://:hush@r", "redis://:hush@r/name", "redis://:hush@r:port", "redis://:hush@r?a=1"]
)
def test_no_password_is_repeated(url: str) -> None:
    with pytest.raises(SettingError) as raised:
        parameters(url)
    assert "hush" not in str(raised.value)


def test_without_an_address_there_is_no_redis() -> None:
    assert parameters("") == {}
    with pytest.raises(SettingError, match="nothing without REDIS_URL"):
        parameters("", password="word")


def test_without_the_package_nothing_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis, "find_spec", lambda name: None)
    with pytest.raises(SettingError, match=r"-r requirements/redis\.txt\. Nothing was started\."):
        parameters("redis://r")
    assert parameters("") == {}


def test_a_queue_in_redis_needs_redis() -> None:
    assert check_broker("orm", url="") == "orm"
    assert check_broker("redis", url="redis://r") == "redis"
    with pytest.raises(SettingError, match="needs the address of Redis"):
        check_broker("redis", url="")
