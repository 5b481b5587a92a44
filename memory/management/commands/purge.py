"""`manage.py purge`: erase an owner or a part of what is remembered, provably; receipts, and replay after a restore."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from memory.errors import InvalidInput, NotFound
from memory.management.agents import agent_named
from memory.management.answers import answer, errors_for_operators
from memory.management.owners import acting_for
from memory.management.public_keys import public_key
from memory.management.replaying import described
from memory.models import Purge, PurgeState, PurgeSubject
from memory.services.actors import Actor
from memory.services.purge.held import Held, held_stores, held_up, own_error, waits_only_elsewhere
from memory.services.purge.ledger import check_ledger
from memory.services.purge.partial_requests import PartialRequest, begin_partial, preview_partial
from memory.services.purge.receipts import verify_receipt
from memory.services.purge.replay import replay
from memory.services.purge.requests import NewPurge, begin_purge, preview_owner, vouch_for
from memory.services.purge.runner import run_purge

# Something is not done, or a receipt is not genuine.
ATTENTION: Final = 3
MOST_LISTED: Final = 50
LARGEST_RECEIPT: Final = 1024 * 1024
LEFT_BEHIND: Final = (
    "what was projected stands where the settings do not lead any more. If it is the same Neo4j under another name, "
    "run `manage.py graph moved`. Otherwise set the former NEO4J_URI again, or run `manage.py graph forget --all "
    "--lost` if that Neo4j is gone. Then run `manage.py purge resume` with the id"
)


class Command(BaseCommand):
    """Purge, and show what purges have done."""

    help = "Erase an owner or a part of what is remembered, show receipts, and replay purges after a restore."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the actions."""
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        preview = actions.add_parser("preview", help="count what a purge would erase, and change nothing")
        run = actions.add_parser("run", help="erase for good; prints the id and, once, the token of the receipt")
        for action in (preview, run):
            action.add_argument("--owner", metavar="LOGIN", help="whose; a whole owner has to be named")
            action.add_argument("--agent", metavar="AGENT", help="name or id of an agent: all it stored, and the agent")
            action.add_argument("--source", help="what came from a source or from below it, and from nowhere else")
            action.add_argument(
                "--memory", type=_id, action="append", metavar="ID", help="one memory; the option several times"
            )
        run.add_argument(
            "--seal",
            action="store_true",
            help="rotate the text key at once, so that remains in dead rows and backups become unreadable",
        )
        run.add_argument("--yes", action="store_true", help="without asking; needed where there is no terminal")
        run.add_argument("--wait", action="store_true", help="do it here and now instead of leaving it to a worker")
        status = actions.add_parser("status", help=f"list purges; ends with {ATTENTION} when one has failed")
        status.add_argument("id", type=_id, nargs="?", metavar="ID", help="one purge")
        resume = actions.add_parser("resume", help="go on here and now with a purge that was interrupted")
        receipt = actions.add_parser("receipt", help="print the signed receipt of a purge that is done, as JSON")
        resume.add_argument(
            "--vouch",
            action="store_true",
            help="say that a purge was asked for that is refused as unproven, since the signing key was replaced",
        )
        for action in (resume, receipt):
            action.add_argument("id", type=_id, metavar="ID", help="the purge")
        verify = actions.add_parser("verify", help=f"check a receipt; ends with {ATTENTION} when it is not genuine")
        verify.add_argument("path", metavar="FILE", help="the receipt; - reads it from the input")
        verify.add_argument(
            "--public-key",
            type=public_key,
            metavar="KEY",
            help="of the installation that signed; this one's if left out",
        )
        again = actions.add_parser(
            "replay",
            help=f"erase again what the purge ledger names, after a restore; ends with {ATTENTION} if that fails",
        )
        for action in (preview, run, status, resume, verify, again):
            action.add_argument("--json", action="store_true", help="as one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Carry out one action."""
        actions: Mapping[str, Callable[[dict[str, Any]], None]] = {
            "preview": self._preview,
            "run": self._run,
            "status": self._status,
            "resume": self._resume,
            "receipt": self._receipt,
            "verify": self._verify,
            "replay": self._replay,
        }
        with errors_for_operators():
            actions[options["action"]](options)

    def _preview(self, options: dict[str, Any]) -> None:
        actor, request = _asked(options)
        if request is None:
            subject, counts = str(PurgeSubject.OWNER), preview_owner(owner_id=actor.owner_id)
        else:
            found = preview_partial(actor=actor, request=request)
            subject, counts = found.subject, found.counts
        lines = [f"{_sort(name)}: {count}" for name, count in counts.items()] or ["There is nothing to erase."]
        answer(self.stdout.write, {"subject": subject, "counts": counts}, as_json=options["json"], lines=lines)

    def _run(self, options: dict[str, Any]) -> None:
        actor, request = _asked(options)
        # A worker would meet a damaged ledger later, where nobody sees it.
        check_ledger()
        _confirm(options, whole=request is None)
        made = begin_purge(actor=actor) if request is None else begin_partial(actor=actor, request=request)
        purge = run_purge(purge_id=made.purge.pk) if options["wait"] else made.purge
        value = {**_described(purge), "token": made.token}
        answer(self.stdout.write, value, as_json=options["json"], lines=[*_lines(purge), *_token_lines(made)])
        if options["wait"] and purge.state != PurgeState.DONE:
            raise SystemExit(ATTENTION)

    def _status(self, options: dict[str, Any]) -> None:
        rows = [_purge(options["id"])] if options["id"] else list(Purge.objects.order_by("-requested_at")[:MOST_LISTED])
        lines = [line for row in rows for line in _lines(row)]
        value = {"purges": [_described(row) for row in rows]}
        answer(self.stdout.write, value, as_json=options["json"], lines=lines or ["There are no purges."])
        if any(row.error_code and row.state != PurgeState.DONE for row in rows):
            raise SystemExit(ATTENTION)

    def _resume(self, options: dict[str, Any]) -> None:
        purge = _purge(options["id"])
        if options["vouch"]:
            vouch_for(purge_id=purge.pk)
        purge = run_purge(purge_id=purge.pk)
        answer(self.stdout.write, _described(purge), as_json=options["json"], lines=_lines(purge))
        if purge.state != PurgeState.DONE:
            raise SystemExit(ATTENTION)

    def _receipt(self, options: dict[str, Any]) -> None:
        purge = _purge(options["id"])
        if purge.receipt is None:
            raise NotFound("This purge is not done, so there is no receipt yet.", code="purge.not_done")
        self.stdout.write(json.dumps(purge.receipt, indent=1, ensure_ascii=False))

    def _verify(self, options: dict[str, Any]) -> None:
        genuine = verify_receipt(_read(options["path"]), options["public_key"])
        line = "The receipt stands as it was signed." if genuine else "The receipt is not genuine."
        answer(self.stdout.write, {"genuine": genuine}, as_json=options["json"], lines=[line])
        if not genuine:
            raise SystemExit(ATTENTION)

    def _replay(self, options: dict[str, Any]) -> None:
        done = replay()
        answer(self.stdout.write, asdict(done), as_json=options["json"], lines=[described(done)])
        if done.failed:
            raise SystemExit(ATTENTION)


def _asked(options: Mapping[str, Any]) -> tuple[Actor, PartialRequest | None]:
    """Give the operator as who acts for the owner, and what is asked for; None for everything of the owner."""
    partial = [name for name in ("agent", "source", "memory") if options[name]]
    if not partial and not options["owner"]:
        raise InvalidInput(
            "Name --agent, --source or --memory; or --owner LOGIN for everything of that owner.", code="purge.empty"
        )
    if not partial and options.get("seal"):
        raise CommandError("--seal belongs to --agent, --source and --memory: an owner's keys are destroyed anyway.")
    actor = acting_for(options["owner"])
    if not partial:
        return actor, None
    agent = agent_named(actor, options["agent"]).pk if options["agent"] else None
    return actor, PartialRequest(
        agent=agent, source=options["source"], memories=options["memory"], seal=options.get("seal", False)
    )


def _confirm(options: Mapping[str, Any], *, whole: bool) -> None:
    if options["yes"]:
        return
    if not sys.stdin.isatty():
        raise CommandError(
            "This erases for good, and there is no terminal to ask at. Nothing was erased. Add --yes to say that you "
            "mean it; `purge preview` counts what would go."
        )
    word = options["owner"] if whole else "yes"
    what = "everything of this owner, with the login and the keys" if whole else "what is named"
    if input(f"This erases {what}, for good. Type {word} to go on: ").strip() != word:
        raise CommandError("Nothing was erased.")


def _purge(purge_id: UUID) -> Purge:
    found = Purge.objects.filter(pk=purge_id).first()
    if found is None:
        raise NotFound("There is no such purge.", code="purge.unknown")
    return found


def _described(purge: Purge) -> dict[str, Any]:
    return {
        "id": purge.pk,
        "subject": purge.subject,
        "state": purge.state,
        "stage": purge.stage,
        "expected": purge.expected,
        "erased": purge.erased,
        "requested_at": purge.requested_at,
        "finished_at": purge.finished_at,
        "error": purge.error_code,
        "held": held_stores(purge),
    }


def _lines(purge: Purge) -> list[str]:
    state = f"{purge.state} in {purge.stage}" if purge.stage else str(purge.state)
    lines = [f"{purge.pk} {purge.subject}: {state}, asked for at {purge.requested_at:%Y-%m-%d %H:%M}"]
    again = "" if purge.state == PurgeState.FAILED else "; it is tried again"
    held, failed = held_up(purge), own_error(purge)
    lines += [f"  failed with {failed}{again}"] if failed else []
    lines += [line for one in held for line in _held_lines(one)]
    if held:
        erased = "is erased, with the root key" if purge.subject == PurgeSubject.OWNER else "is erased"
        rest = erased if waits_only_elsewhere(purge) else "goes on"
        lines.append(f"  Everything else {rest}. The receipt is written when that store was looked at, too.")
    lines += [f"  {_sort(name)}: {count}" for name, count in (purge.erased or {}).items()]
    if purge.state == PurgeState.WAITING and not purge.error_code:
        lines.append("  A worker does it; `purge resume` does it here and now.")
    return lines


def _held_lines(held: Held) -> list[str]:
    if held.needs_operator:
        return [f"  held up by {held.name} ({held.code}): {LEFT_BEHIND}"]
    return [f"  held up by {held.name} ({held.code}), where nothing can be erased now; it is tried again"]


def _sort(name: str) -> str:
    return name.replace("_", " ")


def _token_lines(made: NewPurge) -> list[str]:
    return [
        "",
        "Whoever has this token can read the receipt, also without a login. It is shown once:",
        f"  {made.token}",
    ]


def _read(path: str) -> Any:
    try:
        text = sys.stdin.read(LARGEST_RECEIPT + 1) if path == "-" else _file_text(Path(path))
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} cannot be read ({type(error).__name__}).") from error
    if len(text) > LARGEST_RECEIPT:
        raise InvalidInput("A receipt is smaller than this.", code="receipt.invalid")
    try:
        return json.loads(text)
    except ValueError as error:
        raise InvalidInput("This is no JSON, so no receipt.", code="receipt.invalid") from error


def _file_text(path: Path) -> str:
    with path.open(encoding="utf-8") as file:
        return file.read(LARGEST_RECEIPT + 1)


def _id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise ArgumentTypeError("this takes an id") from None
