"""`manage.py audit`: verify the chains of the audit, write down where they end, show what was recorded."""

from __future__ import annotations

import json
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from memory.errors import InvalidInput, OwnerPurging
from memory.management.answers import answer, counted, errors_for_operators, moment_written
from memory.management.owners import acting_for, named_owner
from memory.management.public_keys import public_key
from memory.models import Owner
from memory.services.audit.access_log import Entry, LogRequest, access_log
from memory.services.audit.heads import Head, checked_heads, compare, ends, heads_of
from memory.services.audit.purged import not_purged
from memory.services.audit.verification import Finding, Verified, retired_chains, verify_owner, verify_retired

SHOWN: Final = 50
MOST_SHOWN: Final = 10_000
LARGEST_FILE_BYTES: Final = 64 * 1024 * 1024


class Command(BaseCommand):
    """Look after the audit."""

    help = "Verify the chains of the audit, write down where they end, show what was recorded."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the actions."""
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        verify = actions.add_parser("verify", help="check that what was sealed is still there as it was")
        verify.add_argument(
            "--owner", metavar="LOGIN", help="one owner's chain; all, purged owners' too, when left out"
        )
        verify.add_argument("--against", type=Path, metavar="FILE", help="what `audit heads` has written before")
        verify.add_argument(
            "--public-key", type=public_key, metavar="KEY", help="the former signing key's, where it was replaced"
        )
        heads = actions.add_parser("heads", help="write where every chain ends as JSON, to be kept elsewhere")
        show = actions.add_parser("show", help="list what was recorded of an owner, the newest first")
        show.add_argument("--owner", metavar="LOGIN", help="the owner's login, where there are several owners")
        show.add_argument("--limit", type=_limit, default=SHOWN, metavar="N", help=f"events; {SHOWN} when left out")
        for action in (verify, heads, show):
            action.add_argument("--json", action="store_true", help="as one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Carry out one action."""
        actions: dict[str, Callable[[dict[str, Any]], None]] = {
            "verify": self._verify,
            "heads": self._heads,
            "show": self._show,
        }
        with errors_for_operators():
            actions[options["action"]](options)

    def _verify(self, options: dict[str, Any]) -> None:
        key = options["public_key"]
        heads = checked_heads(_read(options["against"]), public_key=key) if options["against"] else {}
        chains = list(_chains(options["owner"], key))
        findings = [one for chain in chains for one in chain.findings]
        findings += not_purged(chain.chain for chain in chains if chain.retired)
        findings += compare(chains, _not_moving(heads, chains), all_chains=options["owner"] is None)
        value = {
            "sound": not findings,
            "chains": [_described(chain) for chain in chains],
            "findings": [_found(one) for one in findings],
        }
        lines = [_line(chain) for chain in chains if chain.seals or chain.unsealed]
        lines += [f"  {one.code} in {one.chain}{_at_seal(one)}: {one.detail}" for one in findings]
        answer(self.stdout.write, value, as_json=options["json"], lines=lines or ["Nothing was recorded yet."])
        if findings:
            raise CommandError(
                "1 thing is not as it was sealed."
                if len(findings) == 1
                else f"{len(findings)} things are not as they were sealed."
            )

    def _heads(self, options: dict[str, Any]) -> None:
        self.stdout.write(json.dumps(heads_of(ends()), indent=None if options["json"] else 1))

    def _show(self, options: dict[str, Any]) -> None:
        actor = acting_for(options["owner"])
        events = access_log(actor=actor, request=LogRequest(), size=options["limit"])
        value = {"events": [_event(entry) for entry in events]}
        lines = [_event_line(entry) for entry in events]
        answer(self.stdout.write, value, as_json=options["json"], lines=lines or ["Nothing was recorded yet."])


def _chains(login: str | None, public_key: bytes | None) -> Iterable[Verified]:
    if login is not None:
        yield verify_owner(named_owner(login), public_key=public_key)
        return
    for owner_id in list(Owner.objects.order_by("pk").values_list("pk", flat=True)):
        try:
            yield verify_owner(owner_id, public_key=public_key)
        except OwnerPurging:
            # Its chain is on its way to those of the purged, or there already.
            continue
    for pseudonym in retired_chains():
        yield verify_retired(pseudonym, public_key=public_key)


def _not_moving(heads: Mapping[UUID, Head], chains: Iterable[Verified]) -> dict[UUID, Head]:
    """Leave out chains of owners whom a purge has closed and not moved yet: they cannot be read just now."""
    closed = set(Owner.objects.exclude(purging_at=None).values_list("pseudonym", flat=True))
    moving = closed - {one.chain for one in chains}
    return {chain: head for chain, head in heads.items() if chain not in moving}


def _limit(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_SHOWN:
        raise ArgumentTypeError(f"a number from 1 to {MOST_SHOWN}")
    return int(text)


def _read(path: Path) -> Any:
    try:
        if path.stat().st_size > LARGEST_FILE_BYTES:
            raise InvalidInput("This file of heads is too large to be one.", code="heads.invalid")
        return json.loads(path.read_bytes())
    except OSError as error:
        raise InvalidInput(f"The file of heads cannot be read: {error.strerror}.", code="heads.unreadable") from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput("This file of heads is not valid JSON.", code="heads.invalid") from error


def _described(chain: Verified) -> dict[str, Any]:
    return {
        "chain": str(chain.chain),
        "purged": chain.retired,
        "seals": chain.seals,
        "acts": chain.acts,
        "reads": chain.reads,
        "pruned_reads": chain.pruned_reads,
        "unsealed": chain.unsealed,
        "sound": not chain.findings,
    }


def _found(one: Finding) -> dict[str, Any]:
    return {"chain": str(one.chain), "code": one.code, "seal": one.seal, "detail": one.detail}


def _line(chain: Verified) -> str:
    state = "sound" if not chain.findings else counted(len(chain.findings), "finding")
    pruned = f", {counted(chain.pruned_reads, 'old read')} pruned" if chain.pruned_reads else ""
    return (
        f"{chain.chain}{' (purged)' if chain.retired else ''}: {state}; "
        f"{counted(chain.seals, 'seal')} over {counted(chain.acts, 'act')} and {counted(chain.reads, 'read')}{pruned}, "
        f"{counted(chain.unsealed, 'event')} not sealed yet"
    )


def _at_seal(one: Finding) -> str:
    return f", seal {one.seal}" if one.seal is not None else ""


def _event(entry: Entry) -> dict[str, Any]:
    event = entry.event
    return {
        "id": str(event.pk),
        "at": moment_written(event.created_at),
        "actor": event.actor,
        "agent_name": entry.agent_name,
        "verb": event.verb,
        "kind": event.object_kind,
        "object_id": str(event.object_id) if event.object_id else None,
        "reason": event.reason,
        "count": event.count,
        "seal": event.sealed_in,
    }


def _event_line(entry: Entry) -> str:
    event = entry.event
    times = f" × {event.count}" if event.count != 1 else ""
    parts = [
        f"{event.created_at:%Y-%m-%d %H:%M:%S}",
        f"{event.verb} {event.object_kind}{times}",
        str(event.object_id) if event.object_id else "-",
        f"by {entry.agent_name or event.actor}",
        event.reason,
    ]
    return "  ".join(part for part in parts if part)
