"""`agent` and `owner`: what an operator types, over the same services as everything else."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from memory.errors import CapabilityRefused, NotAuthenticated
from memory.models import Owner, User, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.agents import authenticate, list_agents
from memory.services.bus.capabilities import presented
from memory.services.clock import now


def typed(*arguments: str) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def opens(username: str, password: str) -> bool:
    return User.objects.get(username=username).check_password(password)


def answered(*arguments: str) -> Any:
    return json.loads(typed(*arguments, "--json"))


class TestAgent:
    def test_an_agent_and_its_first_key(self, alice: Actor) -> None:
        made = answered("agent", "create", "Scribe")
        actor = authenticate(made["key"])
        assert actor.owner_id == alice.owner_id
        assert str(actor.agent_id) == made["agent_id"]
        memories = {Permission.READ, Permission.WRITE, Permission.DELETE}
        assert actor.permissions == memories | {Permission.FILES_READ, Permission.TELEMETRY_WRITE}

    def test_a_key_by_name_in_any_case_and_by_id(self, alice: Actor) -> None:
        made = answered("agent", "create", "Scribe")
        for named in ("scribe", made["agent_id"]):
            key = answered("agent", "key", named, "--scopes", "memory:read, transfer")["key"]
            assert authenticate(key).permissions == {Permission.READ, Permission.TRANSFER}

    @pytest.mark.parametrize(
        "scopes", [["memory:read,transfer"], ["memory:read transfer"], ["memory:read", "--scopes", "transfer"]]
    )
    def test_scopes_in_every_form(self, alice: Actor, scopes: list[str]) -> None:
        key = answered("agent", "create", "Scribe", "--scopes", *scopes)["key"]
        assert authenticate(key).permissions == {Permission.READ, Permission.TRANSFER}

    def test_a_day_until_which_it_works(self, alice: Actor) -> None:
        answered("agent", "create", "Scribe", "--expires", "2099-01-31")
        listed = answered("agent", "list")["agents"][0]["keys"][0]
        assert listed["expires_at"] == "2099-01-31T00:00:00Z"

    def test_the_form_of_a_moment_is_named_and_nothing_is_half_made(self, alice: Actor) -> None:
        with pytest.raises(CommandError, match=r"--expires takes .* 2030-01-31"):
            typed("agent", "create", "Scribe", "--expires", "tomorrow")
        assert list_agents(actor=alice) == []

    def test_the_key_is_shown_once_and_the_list_has_its_beginning_only(self, alice: Actor) -> None:
        key = answered("agent", "create", "Scribe", "--label", "laptop")["key"]
        listed = typed("agent", "list")
        assert key not in listed
        assert "_".join(key.split("_")[:2]) in listed
        assert "laptop" in listed

    def test_pausing_and_resuming(self, alice: Actor) -> None:
        key = answered("agent", "create", "Scribe")["key"]
        assert answered("agent", "pause", "Scribe")["paused"]
        with pytest.raises(NotAuthenticated):
            authenticate(key)
        assert not answered("agent", "resume", "Scribe")["paused"]
        assert authenticate(key)

    def test_a_token_for_the_bus(self, alice: Actor) -> None:
        scribe = authenticate(answered("agent", "create", "Scribe")["key"])
        usual = answered("agent", "capability", "Scribe")["token"]
        narrow = ["--max-scope", "squad", "--max-importance", "0.5", "--rate", "3", "--read-only"]
        token = answered("agent", "capability", "scribe", *narrow)["token"]
        assert "locicap1_" in typed("agent", "capability", "Scribe", *narrow)
        with owner_scope(alice.owner_id):
            found = presented(actor=scribe, token=token, moment=now())
            assert presented(actor=scribe, token=usual, moment=now()).can_publish
        assert (found.max_scope, found.max_importance, found.publish_rate, found.can_publish) == (
            "squad",
            0.5,
            3,
            False,
        )
        assert answered("agent", "capability", "Scribe", "--end")["ended"]
        with owner_scope(alice.owner_id), pytest.raises(CapabilityRefused):
            presented(actor=scribe, token=token, moment=now())

    @pytest.mark.parametrize(
        ("limit", "code"),
        [
            (["--expires", "2001-01-01"], "date.past"),
            (["--expires", "2099-01-01"], "expires_at.out_of_range"),
            (["--rate", "0"], "publish_rate.out_of_range"),
            (["--max-importance", "2"], "max_importance.out_of_range"),
        ],
        ids=["past", "far", "rate", "importance"],
    )
    def test_a_token_out_of_bounds(self, alice: Actor, limit: list[str], code: str) -> None:
        typed("agent", "create", "Scribe")
        with pytest.raises(CommandError, match=code):
            typed("agent", "capability", "Scribe", *limit)

    def test_trust(self, alice: Actor) -> None:
        typed("agent", "create", "Scribe")
        assert answered("agent", "trust", "Scribe", "0.75")["trust"] == 0.75
        assert answered("agent", "list")["agents"][0]["trust"] == 0.75
        assert "trust 0.75" in typed("agent", "list")
        assert answered("agent", "trust", "Scribe", "unset")["trust"] is None
        assert "trust" not in typed("agent", "list")
        for value in ("1.5", "much", "nan", "-0.1"):
            with pytest.raises(CommandError, match=r"trust\.out_of_range"):
                typed("agent", "trust", "Scribe", value)

    @pytest.mark.parametrize("by", ["id", "beginning", "whole"])
    def test_revoking(self, alice: Actor, by: str) -> None:
        made = answered("agent", "create", "Scribe")
        other = answered("agent", "key", "Scribe")["key"]
        named = {"id": made["key_id"], "beginning": "_".join(made["key"].split("_")[:2]), "whole": made["key"]}[by]
        assert answered("agent", "revoke", named)["revoked"] == made["key_id"]
        with pytest.raises(NotAuthenticated):
            authenticate(made["key"])
        assert authenticate(other)
        states = {key["id"]: key["state"] for key in answered("agent", "list")["agents"][0]["keys"]}
        assert states[made["key_id"]] == "revoked"

    def test_an_expired_key_is_listed_as_such(self, alice: Actor) -> None:
        made = answered("agent", "create", "Scribe", "--expires", "2001-01-01T00:00:00Z")
        assert answered("agent", "list")["agents"][0]["keys"][0]["state"] == "expired"
        with pytest.raises(NotAuthenticated):
            authenticate(made["key"])

    def test_several_owners_need_a_name(self, alice: Actor, mallory: Actor) -> None:
        with pytest.raises(CommandError, match=r"several owners.*--owner LOGIN"):
            typed("agent", "list")
        made = answered("agent", "create", "Scribe", "--owner", "mallory")
        assert authenticate(made["key"]).owner_id == mallory.owner_id
        assert list_agents(actor=alice) == []

    def test_another_owners_key_is_not_found(self, alice: Actor, mallory: Actor) -> None:
        made = answered("agent", "create", "Scribe", "--owner", "alice")
        for named in (made["key_id"], made["key"]):
            with pytest.raises(CommandError, match="There is no key"):
                typed("agent", "revoke", named, "--owner", "mallory")
        assert authenticate(made["key"])

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["key", "Nobody"], "no agent of this name"),
            (["create", " "], "text.empty"),
            (["create", "Scribe", "--scopes", "everything"], "scopes.invalid"),
            (["create", "Scribe", "--scopes", ""], "scopes.too_few"),
            (["create", "Scribe", "--default-scope", "*"], "scope.invalid"),
            (["create", "Scribe", "--expires", "soon"], "date.invalid"),
            (["revoke", "loci_00000000"], "no key"),
            (["list", "--owner", "nobody"], "account.unknown"),
        ],
    )
    def test_bad_input_is_an_error_with_a_reason(self, alice: Actor, arguments: list[str], message: str) -> None:
        with pytest.raises(CommandError, match=message):
            typed("agent", *arguments)

    def test_a_name_twice(self, alice: Actor) -> None:
        typed("agent", "create", "Scribe")
        with pytest.raises(CommandError, match=r"agent\.taken"):
            typed("agent", "create", "scribe")


class TestOwner:
    def test_creating(self, db: None) -> None:
        made = answered("owner", "create", "ada", "--staff")
        assert str(Owner.objects.get(user__username="ada").pk) == made["owner_id"]
        assert opens("ada", made["password"])
        assert User.objects.get(username="ada").is_staff
        assert "ada" in typed("owner", "list")

    def test_the_password_is_never_listed(self, db: None) -> None:
        made = answered("owner", "create", "ada")
        assert made["password"] not in typed("owner", "list", "--json")

    def test_a_new_password(self, alice: Actor) -> None:
        made = answered("owner", "password", "alice")
        assert opens("alice", made["password"])
        assert not opens("alice", "correct horse battery")

    @pytest.mark.parametrize("end", ["\n", "\r\n", ""], ids=["pipe", "pipe-of-windows", "printf"])
    def test_a_password_from_standard_input(self, alice: Actor, monkeypatch: pytest.MonkeyPatch, end: str) -> None:
        monkeypatch.setattr("sys.stdin", io.StringIO(f"a rather long sentence{end}", newline="\n"))
        answer = answered("owner", "password", "alice", "--stdin")
        assert "password" not in answer
        assert opens("alice", "a rather long sentence")

    def test_a_weak_password_is_refused_and_the_old_one_kept(
        self, alice: Actor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("sys.stdin", io.StringIO("12345\n"))
        with pytest.raises(CommandError, match=r"account\.invalid"):
            typed("owner", "password", "alice", "--stdin")
        assert opens("alice", "correct horse battery")

    def test_a_password_that_is_too_long_to_log_in_with_is_refused_and_not_cut(
        self, alice: Actor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("sys.stdin", io.StringIO("a rather long sentence " * 200 + "\n"))
        with pytest.raises(CommandError, match=r"account\.invalid"):
            typed("owner", "password", "alice", "--stdin")
        assert opens("alice", "correct horse battery")

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["create", "alice"], r"account\.taken"),
            (["create", "not a name!"], r"account\.invalid"),
            (["create", ""], r"account\.invalid"),
            (["password", "nobody"], r"account\.unknown"),
        ],
    )
    def test_bad_input(self, make_owner: Callable[..., Actor], arguments: list[str], message: str) -> None:
        make_owner("alice")
        with pytest.raises(CommandError, match=message):
            typed("owner", *arguments)
        assert Owner.objects.count() == 1
