"""Whoever tries logins, with whatever names, takes neither the processors nor the database from others."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from hashlib import sha256
from threading import Lock, Semaphore
from typing import Any

import pytest
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.hashers import PBKDF2PasswordHasher, check_password, make_password
from django.core.cache.backends.locmem import LocMemCache
from django.db import InterfaceError, OperationalError, connection, transaction
from django.test import Client, RequestFactory
from pytest_django import Settings

from config.middleware import server_error
from memory.errors import PasswordsBusy, PermissionRefused, RateLimited
from memory.models import User
from memory.palace.views.account import Login
from memory.services import login_attempts, password_hashing
from memory.services.actors import Actor
from memory.services.password_hashing import MOST_AT_ONCE, BoundedHasher, places
from memory.services.reauthentication import confirm_login
from tests.conftest import PASSWORD

MOST = 3
PLACE, OTHER = "203.0.113.7", "203.0.113.8"
HASHER = f"{BoundedHasher.__module__}.{BoundedHasher.__qualname__}"


class Noting(LocMemCache):
    """A cache that notes the keys it is asked for."""

    def __init__(self, kept: list[str]) -> None:
        super().__init__("noting", {})
        self._kept = kept

    def make_and_validate_key(self, key: Any, version: Any = None) -> str:
        self._kept.append(key)
        return super().make_and_validate_key(key, version)


@pytest.fixture(autouse=True)
def few(settings: Settings) -> None:
    settings.MOST_FAILED_LOGINS = MOST


def log_in(name: str = "alice", password: str = PASSWORD, *, place: str = PLACE) -> Any:
    return Client(REMOTE_ADDR=place).post("/login/", {"username": name, "password": password})


def flood(place: str = PLACE) -> None:
    for number in range(MOST):
        assert log_in(f"nobody{number}", "wrong", place=place).status_code == 200


class TestOneNetwork:
    def test_is_refused_after_some_failures_over_all_names(self, alice: Actor) -> None:
        flood()
        answer = log_in()
        assert (answer.status_code, answer["Retry-After"]) == (429, "60")
        assert "Too many log-ins from your network failed." in answer.content.decode()
        assert "auth.flood" in answer.content.decode()

    def test_others_go_on(self, alice: Actor) -> None:
        flood()
        assert log_in(place=OTHER).status_code == 302

    def test_names_that_were_logged_in_to_from_there_go_on(
        self, alice: Actor, make_owner: Callable[..., Actor]
    ) -> None:
        make_owner("bob")
        assert log_in().status_code == 302
        flood()
        assert log_in().status_code == 302
        assert log_in("bob").status_code == 429

    def test_what_is_kept_names_neither_network_nor_login(self, alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
        kept: list[str] = []
        monkeypatch.setattr(login_attempts, "caches", {login_attempts.CACHE: Noting(kept)})
        assert log_in().status_code == 302
        assert len(set(kept)) == 2
        guesses = [PLACE, *(sha256(text.encode()).hexdigest() for text in ("alice", PLACE, f"{PLACE}\0alice"))]
        assert not any(guess in key for key in kept for guess in guesses)

    def test_successes_do_not_count(self, alice: Actor) -> None:
        for _ in range(MOST * 2):
            assert log_in().status_code == 302
        flood()

    def test_forms_that_are_not_filled_in_do_not_count(self, alice: Actor) -> None:
        for _ in range(MOST * 2):
            assert log_in("alice", "").status_code == 200
        flood()

    def test_a_database_that_does_not_answer_does_not_count(
        self, alice: Actor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: Any, **__: Any) -> Any:
            raise OperationalError("no connection")

        with monkeypatch.context() as broken:
            broken.setattr(ModelBackend, "authenticate", fail)
            for _ in range(MOST * 2):
                with suppress(OperationalError):
                    assert log_in("nobody", "wrong").status_code == 503
        flood()

    def test_names_that_are_locked_count(self, alice: Actor, rf: RequestFactory, settings: Settings) -> None:
        settings.AXES_FAILURE_LIMIT = 1
        user, request = User.objects.get(username="alice"), rf.post("/", REMOTE_ADDR=PLACE)
        with pytest.raises(RateLimited, match="wrong passwords"):
            confirm_login(user=user, password="wrong", request=request)
        for number in range(MOST - 1):
            log_in(f"nobody{number}", "wrong")
        assert "auth.flood" in log_in("somebody", "wrong").content.decode()

    def test_the_question_for_the_password_counts_likewise(self, alice: Actor, rf: RequestFactory) -> None:
        user = User.objects.get(username="alice")
        request = rf.post("/", REMOTE_ADDR=PLACE)
        for _ in range(MOST):
            with pytest.raises(PermissionRefused):
                confirm_login(user=user, password="wrong", request=request)
        with pytest.raises(RateLimited):
            confirm_login(user=user, password=PASSWORD, request=request)
        assert log_in("bob", "wrong").status_code == 429


class TestHashing:
    @pytest.fixture(autouse=True)
    def real_hashes(self, settings: Settings) -> None:
        settings.PASSWORD_HASHERS = [HASHER]

    def test_is_what_the_settings_name(self) -> None:
        from config.settings import PASSWORD_HASHERS

        assert PASSWORD_HASHERS == [HASHER]

    def test_reads_the_hashes_of_djangos_own(self) -> None:
        assert check_password("tea", PBKDF2PasswordHasher().encode("tea", "a" * 22, 100))
        assert make_password("tea").startswith("pbkdf2_sha256$")

    @pytest.mark.parametrize(("processors", "most"), [(1, 1), (2, 1), (3, 2), (64, 2)])
    def test_a_processor_is_left_to_others(self, processors: int, most: int) -> None:
        assert places(processors) == most

    def test_only_a_few_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        lock, going, most, let_go = Lock(), 0, 0, Semaphore(0)

        def encode(*_: Any) -> str:
            nonlocal going, most
            with lock:
                going += 1
                most = max(most, going)
            assert let_go.acquire(timeout=30)
            with lock:
                going -= 1
            return "done"

        monkeypatch.setattr(PBKDF2PasswordHasher, "encode", encode)
        monkeypatch.setattr(password_hashing, "PATIENCE_SECONDS", 0.0)

        def hashed(_: int) -> str:
            try:
                return BoundedHasher().encode("tea", "salt")
            except PasswordsBusy:
                # Those that have a place are to keep it until the last one was turned away.
                return "busy"
            finally:
                connection.close()

        with ThreadPoolExecutor(MOST_AT_ONCE + 4) as threads:
            begun = [threads.submit(hashed, number) for number in range(MOST_AT_ONCE + 4)]
            while sum(one.done() for one in begun) < 4:
                continue
            let_go.release(MOST_AT_ONCE)
            found = sorted(one.result() for one in begun)
        assert most == MOST_AT_ONCE
        assert found == ["busy"] * 4 + ["done"] * MOST_AT_ONCE

    def test_whoever_finds_no_place_is_told_so_and_not_counted(
        self, alice: Actor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(password_hashing, "PATIENCE_SECONDS", 0.0)
        for _ in range(MOST_AT_ONCE):
            password_hashing._places.acquire()
        try:
            for _ in range(MOST * 2):
                answer = log_in("nobody", "wrong")
                assert (answer.status_code, answer["Retry-After"]) == (503, "3")
                assert "auth.busy" in answer.content.decode()
        finally:
            password_hashing._places.release(MOST_AT_ONCE)
        flood()

    @pytest.mark.django_db(transaction=True)
    @pytest.mark.parametrize("name", ["alice", "nobody"])
    def test_no_connection_is_held_meanwhile(self, alice: Actor, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        held: list[bool] = []
        encode = PBKDF2PasswordHasher.encode

        def watched(*arguments: Any) -> Any:
            held.append(connection.connection is not None)
            return encode(*arguments)

        User.objects.filter(username="alice").update(password=make_password(PASSWORD))
        monkeypatch.setattr(PBKDF2PasswordHasher, "encode", watched)
        assert log_in(name).status_code == (302 if name == "alice" else 200)
        assert held == [False]

    def test_a_transaction_keeps_its_connection(self, db: None) -> None:
        with transaction.atomic():
            User.objects.create_user("carol", password=PASSWORD)
            assert User.objects.filter(username="carol").exists()


class TestTheDatabaseFails:
    @pytest.mark.parametrize("error", [OperationalError("no connection"), InterfaceError("it is closed")])
    def test_a_page_says_so(self, db: None, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
        def fail(*_: Any, **__: Any) -> Any:
            raise error

        monkeypatch.setattr(Login, "get_context_data", fail)
        answer = Client(raise_request_exception=False).get("/login/")
        assert (answer.status_code, answer["Retry-After"]) == (503, "2")
        assert "The database does not answer" in answer.content.decode()

    def test_so_does_the_interface_before_its_views(self, rf: RequestFactory) -> None:
        with suppress(OperationalError):
            try:
                raise OperationalError("no connection")
            finally:
                answer = server_error(rf.get("/api/v1/memories"))
        assert (answer.status_code, answer["Retry-After"]) == (503, "2")
        assert b"database.unavailable" in answer.content
