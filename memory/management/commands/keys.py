"""`manage.py keys`: how the keys stand, rotation of text keys and of the master key, and whether everything opens."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Final
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from memory.crypto.signing import fingerprint, signer
from memory.errors import LociError
from memory.management.answers import answer, errors_for_operators
from memory.management.owners import named_owner
from memory.models import Owner
from memory.services.amounts import owners
from memory.services.clock import now
from memory.services.keys.master import give_up_replacement, replace_master_key
from memory.services.keys.moving import move_to_keyring
from memory.services.keys.rotation import KeyStatus, Turn, begin_rotation, end_rotation, key_status
from memory.services.keys.verification import verify_owner
from runtime.instance import running_instance
from runtime.paths import data_directory

SAMPLE: Final = 100
MOST_SAMPLED: Final = 100_000
# A text does not open, or a rotation is overdue.
ATTENTION: Final = 3


class Command(BaseCommand):
    """Look after the keys."""

    help = "Tell how the keys stand, rotate text keys or the master key, and check that stored texts open."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the actions."""
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        status = actions.add_parser(
            "status", help="versions of text keys, what waits for rotation, the public signing key"
        )
        rotate = actions.add_parser("rotate", help="give text keys a new version; workers move what is stored")
        rotate.add_argument("--now", action="store_true", help="move everything here and destroy the former versions")
        rotate.add_argument(
            "--despite-damage", action="store_true", help="with --now: destroy them although some values do not open"
        )
        master = actions.add_parser("rotate-master", help="wrap the vault with another master key")
        master.add_argument("--abandon", action="store_true", help="give up a change that was interrupted")
        master.add_argument("--force", action="store_true", help="even while `up` runs, which can read nothing then")
        moving = actions.add_parser("to-keyring", help="move the master key into the keyring of the system")
        moving.add_argument("--keep-file", action="store_true", help="leave the generated file where it is")
        verify = actions.add_parser("verify", help=f"open stored texts; ends with {ATTENTION} when some do not open")
        verify.add_argument("--all", action="store_true", help="every row instead of a sample")
        verify.add_argument("--sample", type=int, default=SAMPLE, metavar="N", help=f"rows of a table; {SAMPLE}")
        for action in (status, rotate, verify):
            action.add_argument("--owner", metavar="LOGIN", help="one owner's; all owners' when left out")
        for action in (status, rotate, master, moving, verify):
            action.add_argument("--json", action="store_true", help="as one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Carry out one action."""
        actions: dict[str, Callable[[dict[str, Any]], None]] = {
            "status": self._status,
            "rotate": self._rotate,
            "rotate-master": self._rotate_master,
            "to-keyring": self._to_keyring,
            "verify": self._verify,
        }
        with errors_for_operators():
            actions[options["action"]](options)

    def _status(self, options: dict[str, Any]) -> None:
        found = [key_status(owner_id=owner_id) for owner_id in _owners(options)]
        lines = [line for status in found for line in _status_lines(status)]
        public = signer().public_key
        name = fingerprint(public)
        answer(
            self.stdout.write,
            {
                "owners": [asdict(status) for status in found],
                "signing": {"public_key": public.hex(), "fingerprint": name},
            },
            as_json=options["json"],
            lines=[*(lines or ["There are no owners."]), f"Public signing key {public.hex()}, fingerprint {name}"],
        )
        if any(status.overdue or status.without_key for status in found):
            raise SystemExit(ATTENTION)

    def _rotate(self, options: dict[str, Any]) -> None:
        if options["despite_damage"] and not options["now"]:
            raise CommandError("--despite-damage goes with --now.")
        done: list[dict[str, Any]] = []
        # All begin before the first ends: the time until every process knows the new versions passes once.
        for owner_id in _owners(options):
            version = begin_rotation(owner_id=owner_id)
            done.append({"owner_id": owner_id, "version": version, "former_versions": "moving"})
        for one in done if options["now"] else []:
            tell = None if options["json"] else self._teller(one["owner_id"])
            one["moved"] = end_rotation(
                owner_id=one["owner_id"], newest=one["version"], despite_damage=options["despite_damage"], tell=tell
            )
            one["former_versions"] = "destroyed"
        lines = [
            f"{one['owner_id']}: {one['moved']} rows moved, former versions destroyed."
            if options["now"]
            else f"{one['owner_id']}: version {one['version']} seals from now on; workers move what is stored."
            for one in done
        ]
        answer(
            self.stdout.write,
            {"owners": done},
            as_json=options["json"],
            lines=lines or ["There are no owners."],
        )

    def _teller(self, owner_id: UUID) -> Callable[[Turn], None]:
        said = ""

        def tell(turn: Turn) -> None:
            nonlocal said
            left = "more to move" if turn.left < 0 else f"{turn.left} rows left"
            line = f"{owner_id}: {left}{'' if turn.left else ', waiting until no process uses the former version'}"
            if line != said and not turn.finished:
                self.stdout.write(line)
            said = line

        return tell

    def _rotate_master(self, options: dict[str, Any]) -> None:
        supervisor = running_instance(data_directory())
        if supervisor is not None and not options["force"]:
            raise CommandError(
                f"`up` is running (process {supervisor}) and could open no key any more once another master key is in "
                "charge. Nothing was changed. Stop that process first, and start it again afterwards."
            )
        if options["abandon"]:
            entries = give_up_replacement()
            value: dict[str, Any] = {"abandoned": True, "entries": entries}
            lines = ["The change was given up; the old master key stays in charge."]
        else:
            made = replace_master_key()
            value = asdict(made)
            whose = owners(made.entries)
            lines = [f"The keys of {whose} are wrapped by the new master key; the old one is refused now."]
            lines += ["The file of the master key was replaced; back it up."] if made.file_replaced else []
            lines += [made.to_do] if made.to_do else []
            lines.append("Restart every process of Loci.")
        answer(self.stdout.write, value, as_json=options["json"], lines=lines)

    def _to_keyring(self, options: dict[str, Any]) -> None:
        moved = move_to_keyring(keep_file=options["keep_file"])
        lines = [f"The master key is in the system's keyring, as '{moved.entry}' of the service 'loci'."]
        lines += ["The generated file was overwritten and removed."] if moved.file_removed else []
        answer(self.stdout.write, asdict(moved), as_json=options["json"], lines=[*lines, *moved.to_do])

    def _verify(self, options: dict[str, Any]) -> None:
        if not 1 <= options["sample"] <= MOST_SAMPLED:
            raise CommandError(f"--sample takes 1 to {MOST_SAMPLED}.")
        sample = None if options["all"] else options["sample"]
        found, bad = [], False
        for owner_id in _owners(options):
            try:
                checks, error = verify_owner(owner_id=owner_id, sample=sample), ""
            except LociError as fault:
                checks, error = [], fault.machine_code
            bad |= bool(error) or any(check.closed for check in checks)
            found.append({"owner_id": owner_id, "tables": [asdict(check) for check in checks], "error": error})
        value = {"opens": not bad, "owners": found}
        answer(self.stdout.write, value, as_json=options["json"], lines=_verify_lines(found))
        if bad:
            raise SystemExit(ATTENTION)


def _owners(options: dict[str, Any]) -> list[UUID]:
    if options["owner"]:
        return [named_owner(options["owner"])]
    return list(Owner.objects.filter(purging_at=None).order_by("pk").values_list("pk", flat=True))


def _status_lines(status: KeyStatus) -> list[str]:
    moment = now()
    ages = ", ".join(f"version {one.version} ({(moment - one.made_at).days} days)" for one in status.versions)
    following = f"next rotation {status.next_rotation:%Y-%m-%d}" if status.next_rotation else "rotation on demand"
    lines = [f"{status.owner_id} {status.login or '-'}: {ages}; {following}{', OVERDUE' if status.overdue else ''}"]
    lines += [f"  {count} rows of {table} wait for the newest version" for table, count in status.waiting.items()]
    lines += [f"  {count} rows of {table} have lost their key" for table, count in status.without_key.items()]
    return lines


def _verify_lines(found: list[dict[str, Any]]) -> list[str]:
    lines = []
    for one in found:
        read = sum(check["read"] for check in one["tables"])
        closed = [check for check in one["tables"] if check["closed"]]
        if one["error"]:
            lines.append(f"{one['owner_id']}: the keys do not open ({one['error']})")
        elif not closed:
            lines.append(f"{one['owner_id']}: {read} rows open")
        lines += [
            f"{one['owner_id']}: {check['closed']} of {check['read']} rows of {check['table']} do not open"
            for check in closed
        ]
    return lines or ["There are no owners."]
