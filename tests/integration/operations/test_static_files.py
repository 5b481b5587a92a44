"""Static files by the asynchronous door: whole, in part, and without a warning."""

from __future__ import annotations

import asyncio
import warnings
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import AsyncClient

ADDRESS = "/static/palace/main.js"


def got(**headers: str) -> Any:
    return asyncio.run(_got(AsyncClient(), headers))


async def _got(client: AsyncClient, headers: dict[str, str]) -> Any:
    return await client.get(ADDRESS, headers={name.replace("_", "-"): value for name, value in headers.items()})


@pytest.fixture
def content() -> bytes:
    return (Path(settings.BASE_DIR) / ADDRESS.removeprefix("/")).read_bytes()


def test_a_file_comes_whole_and_nothing_is_warned_of(content: bytes) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answer = got()
    assert (answer.status_code, answer.content) == (200, content)
    assert answer["Content-Type"].startswith("text/javascript")
    assert not answer.streaming


def test_a_part_of_a_file(content: bytes) -> None:
    answer = got(range="bytes=3-9")
    assert (answer.status_code, answer.content) == (206, content[3:10])
    assert answer["Content-Range"] == f"bytes 3-9/{len(content)}"
    assert answer["Content-Length"] == "7"


def test_what_has_not_changed_is_not_sent_again() -> None:
    answer = got(if_none_match=got()["ETag"])
    assert (answer.status_code, answer.content) == (304, b"")


def test_the_head_alone(content: bytes) -> None:
    answer = asyncio.run(_head())
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer["Content-Length"] == str(len(content))


async def _head() -> Any:
    return await AsyncClient().head(ADDRESS)
