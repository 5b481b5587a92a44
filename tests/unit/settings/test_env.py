"""The readers of environment variables and database addresses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from config.settings.database import connection, from_url
from config.settings.env import Environment, SettingError
from config.settings.secrets import kept_secret


def test_defaults_and_values() -> None:
    env = Environment({"A": "text", "B": "yes", "C": "7", "D": "0.5", "E": "two", "F": "a, b,,c", "G": '{"x": 1}'})
    assert env.string("A", "d", meaning="") == "text"
    assert env.boolean("B", False, meaning="") is True
    assert env.integer("C", 1, meaning="") == 7
    assert env.number("D", 1, meaning="") == 0.5
    assert env.choice("E", "one", ("one", "two"), meaning="") == "two"
    assert env.words("F", meaning="") == ["a", "b", "c"]
    assert env.mapping("G", meaning="") == {"x": 1}
    assert env.integer("H", 3, meaning="") == 3
    assert env.boolean("I", True, meaning="") is True
    assert env.path("J", Path("/srv"), shown="", meaning="") == Path("/srv")
    assert env.string("K", "hidden", meaning="", secret=True) == "hidden"
    assert set(env.declarations) == set("ABCDEFGHIJK")
    assert env.read == {
        "A": "text",
        "B": True,
        "C": 7,
        "D": 0.5,
        "E": "two",
        "F": ["a", "b", "c"],
        "G": {"x": 1},
        "H": 3,
        "I": True,
        "J": Path("/srv"),
    }


@pytest.mark.parametrize(
    "read",
    [
        lambda env: env.boolean("X", False, meaning=""),
        lambda env: env.integer("X", 1, meaning=""),
        lambda env: env.choice("X", "one", ("one",), meaning=""),
        lambda env: env.mapping("X", meaning=""),
        lambda env: env.number("X", 1, meaning="", maximum=2),
    ],
)
def test_unusable_values_name_the_setting(read: Callable[[Environment], object]) -> None:
    with pytest.raises(SettingError, match="X cannot be used"):
        read(Environment({"X": "[nonsense"}))


@pytest.mark.parametrize(
    ("read", "words"),
    [
        (lambda env: env.integer("X", 1, meaning=""), "X cannot be used: not a whole number."),
        (lambda env: env.number("X", 1, meaning=""), "X cannot be used: not a number."),
        (lambda env: env.mapping("X", meaning=""), "X cannot be used: not a JSON object."),
    ],
)
@pytest.mark.parametrize("value", ["[nonsense", "nan", "1e999", "[" * 100_000], ids=["word", "nan", "huge", "deep"])
def test_what_is_wrong_is_said_in_words_of_our_own(
    read: Callable[[Environment], object], words: str, value: str
) -> None:
    with pytest.raises(SettingError) as caught:
        read(Environment({"X": value}))
    assert str(caught.value) == words


@pytest.mark.parametrize("value", ["~nobody-of-this-name/x", "a\0b"])
def test_a_path_that_leads_nowhere(value: str) -> None:
    with pytest.raises(SettingError, match="X cannot be used"):
        Environment({"X": value}).path("X", Path("/"), shown="", meaning="")


def test_bounds() -> None:
    with pytest.raises(SettingError, match="between 1 and 65535"):
        Environment({"PORT": "0"}).integer("PORT", 1, meaning="", minimum=1, maximum=65535)


def test_a_setting_is_declared_once() -> None:
    env = Environment({})
    env.string("A", meaning="")
    with pytest.raises(SettingError, match="twice"):
        env.string("A", meaning="")


class TestSecretFiles:
    def test_read_from_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "key").write_text("hidden\n")
        env = Environment({"KEY_FILE": str(tmp_path / "key")})
        assert env.string("KEY", secret=True, meaning="") == "hidden"

    def test_both_forms_are_refused(self, tmp_path: Path) -> None:
        env = Environment({"KEY_FILE": str(tmp_path / "key"), "KEY": "hidden"})
        with pytest.raises(SettingError, match="both set") as caught:
            env.string("KEY", secret=True, meaning="")
        assert "hidden" not in str(caught.value)

    def test_an_empty_name_of_a_file_is_left_out(self) -> None:
        assert Environment({"KEY_FILE": ""}).string("KEY", "d", secret=True, meaning="") == "d"
        assert Environment({"KEY_FILE": "", "KEY": "k"}).string("KEY", secret=True, meaning="") == "k"

    def test_an_unreadable_file_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(SettingError, match="KEY_FILE cannot be read"):
            Environment({"KEY_FILE": str(tmp_path / "none")}).string("KEY", secret=True, meaning="")

    def test_a_plain_setting_has_no_file(self, tmp_path: Path) -> None:
        assert Environment({"NAME_FILE": str(tmp_path)}).string("NAME", "d", meaning="") == "d"


def test_kept_secrets_are_made_once_and_private(tmp_path: Path) -> None:
    made = kept_secret(tmp_path / "new", "a.key")
    assert kept_secret(tmp_path / "new", "a.key") == made
    assert (tmp_path / "new" / "a.key").stat().st_mode & 0o777 == 0o600
    assert kept_secret(tmp_path / "new", "b.key") != made
    (tmp_path / "new" / "a.key").write_text("")
    with pytest.raises(SettingError, match="empty"):
        kept_secret(tmp_path / "new", "a.key")


class TestDatabaseAddress:
    def test_parts(self) -> None:
        parts = from_url("postgresql://loci_app:p%40ss@db.example:5433/loci?sslmode=require")
        assert parts == {
            "NAME": "loci",
            "USER": "loci_app",
            "PASSWORD": "p@ss",
            "HOST": "db.example",
            "PORT": "5433",
            "OPTIONS": {"sslmode": "require"},
        }

    def test_a_password_and_a_user_among_the_options_are_taken_out_of_them(self) -> None:
        parts = from_url("postgresql://db.example/loci?user=loci_app&password=p%40ss&sslmode=require")
        assert (parts["USER"], parts["PASSWORD"]) == ("loci_app", "p@ss")
        assert parts["OPTIONS"] == {"sslmode": "require"}

    def test_what_stands_before_the_host_goes_before_the_options_and_leaves_none_there(self) -> None:
        parts = from_url("postgresql://loci_app@db.example:5433/loci?user=other&port=5434")
        assert (parts["USER"], parts["PORT"], parts["OPTIONS"]) == ("loci_app", "5433", {})

    def test_a_password_in_two_places_is_refused(self) -> None:
        with pytest.raises(SettingError, match="password twice") as caught:
            from_url("postgresql://loci_app:one@db.example/loci?password=other")
        assert "other" not in str(caught.value)

    def test_a_socket_directory(self) -> None:
        assert from_url("postgres:///loci?host=/run/pg")["HOST"] == "/run/pg"

    @pytest.mark.parametrize(
        "url", ["mysql://x/y", "sqlite:///x", "postgresql://host/", "loci", "postgresql://host:port/loci"]
    )
    def test_others_are_refused(self, url: str) -> None:
        with pytest.raises(SettingError):
            from_url(url)

    def test_the_pool_is_for_the_web_process_only(self) -> None:
        base = from_url("postgresql://u@h/loci")
        assert "pool" not in connection(base, pool=None)["OPTIONS"]
        pooled = connection(base, pool={"max_size": 3})
        assert pooled["OPTIONS"]["pool"] == {"max_size": 3}
        assert pooled["CONN_MAX_AGE"] == 0
        assert pooled["CONN_HEALTH_CHECKS"] is True
        assert base["OPTIONS"] == {}


def test_a_section_that_is_read_once_more_may_declare_again() -> None:
    env = Environment({})
    for _ in range(2):
        env.section("Queue")
        env.string("A", meaning="Where it waits.")
    assert env.declarations["A"].section == "Queue"
