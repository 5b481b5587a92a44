"""`manage.py graph`: look after the projection of the graph to Neo4j."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable
from functools import partial
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from memory.errors import LociError, OwnerPurging, ProjectionFollowed, ProjectionOff
from memory.management.answers import answer, counted, errors_for_operators
from memory.management.neo4j_beside import Told, tell_lacking, tell_unknown
from memory.management.owners import named_owner, shown_owner
from memory.models import GraphProjection, Owner
from memory.providers.composition import neo4j_client
from memory.services.amounts import owners
from memory.services.health.heartbeat import worker_reported_lately
from memory.services.projection.comparing import SAMPLE
from memory.services.projection.erasing import forget, give_up
from memory.services.projection.health import remedy_of
from memory.services.projection.place import is_elsewhere, note_moved
from memory.services.projection.projecting import project
from memory.services.projection.schema import Schema
from memory.services.projection.standing import Standing, described, standing
from memory.services.projection.turn import Turn
from memory.services.projection.verifying import verify

MOST_SAMPLED: Final = 100_000
EVERY_ROWS: Final = 10_000
ELSEWHERE: Final = (
    "Graphs of {owners} stand in a Neo4j or a database that the settings do not name any more; until that is settled, "
    "they are not projected and purges of them are not done. Type `graph moved` if it is the same Neo4j under another "
    "name; otherwise set the former address again and type `graph forget --all`, or `graph forget --all --lost` if "
    "that Neo4j is gone."
)

# Neo4j is set up and does not answer usably.
ATTENTION: Final = 3

Work = Callable[[UUID, Turn, dict[str, Any]], dict[str, Any]]
Beside = Callable[[dict[str, Any], int], list[Told]]


class Command(BaseCommand):
    """Tell how the projection stands, make it, make it anew, compare it, delete it."""

    help = "Look after the projection of the graph to Neo4j: of one owner, or of all where none is named."
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the actions."""
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        made = [
            actions.add_parser(
                "status", help=f"tell how far it is, and whether Neo4j answers; ends with {ATTENTION} when it does not"
            ),
            actions.add_parser("project", help="project what waits, here and now, without a worker"),
            actions.add_parser("rebuild", help="empty it and make it anew from PostgreSQL"),
        ]
        verifying = actions.add_parser("verify", help="compare it with PostgreSQL, and put right what differs")
        verifying.add_argument("--no-repair", action="store_true", help="only compare; exit code 1 where it differs")
        verifying.add_argument(
            "--sample", type=int, default=SAMPLE, metavar="ROWS", help=f"rows of each sort compared whole ({SAMPLE})"
        )
        verifying.add_argument(
            "--delete-unknown",
            action="store_true",
            help="delete what stands there of owners that are not known here, or of none",
        )
        forgetting = actions.add_parser("forget", help="delete it from Neo4j; name the owner, or say --all")
        forgetting.add_argument("--all", action="store_true", help="of all owners")
        forgetting.add_argument(
            "--lost", action="store_true", help="delete nothing: that Neo4j is gone, with all that it held"
        )
        moved = actions.add_parser("moved", help="say that the same Neo4j has another name or address now")
        for action in (*made, verifying, forgetting, moved):
            action.add_argument("--owner", metavar="LOGIN", help="the owner's login or id; left out: all owners")
            action.add_argument("--json", action="store_true", help="as one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Carry out one action; exit code 1 where it failed for an owner, or where a comparison has found more."""
        actions: dict[str, Callable[[dict[str, Any]], None]] = {
            "status": self._status,
            "project": lambda options: self._each(options, _project),
            "rebuild": lambda options: self._each(options, _rebuild),
            "verify": self._verify,
            "forget": self._forget,
            "moved": lambda options: self._each(options, _moved),
        }
        with errors_for_operators():
            if not settings.NEO4J_URI and options["action"] != "status" and not options.get("lost"):
                raise ProjectionOff
            actions[options["action"]](options)

    def _status(self, options: dict[str, Any]) -> None:
        rows = GraphProjection.objects.order_by("owner_id")
        if options["owner"]:
            rows = rows.filter(owner_id=named_owner(options["owner"]))
        told, failure = standing(), _failure()
        projections = [{**described(row), "elsewhere": is_elsewhere(row)} for row in rows]
        elsewhere = sum(one["elsewhere"] for one in projections)
        value = {
            "configured": bool(settings.NEO4J_URI),
            "text": settings.NEO4J_TEXT,
            "reads": settings.GRAPH_READS,
            "neo4j": _reached(failure),
            "message": failure.message if failure else "",
            "remedy": remedy_of(failure.machine_code) if failure else "",
            "owners": told.owners,
            "following": told.following,
            "building": told.building,
            "failing": told.failing,
            "former_text": told.former,
            "waiting": sum(one["waiting"] for one in projections),
            "lag_s": round(told.lag_seconds, 1),
            "elsewhere": elsewhere,
            "projections": projections,
        }
        lines = _summary(value, told) if settings.NEO4J_URI else ["The graph is not projected: NEO4J_URI is not set."]
        if elsewhere:
            lines.append(ELSEWHERE.format(owners=owners(elsewhere)))
        answer(self.stdout.write, value, as_json=options["json"], lines=lines + _lines(projections))
        if failure:
            raise SystemExit(ATTENTION)

    def _verify(self, options: dict[str, Any]) -> None:
        if not 0 <= options["sample"] <= MOST_SAMPLED:
            raise CommandError(f"--sample is a number from 0 to {MOST_SAMPLED}.")
        if options["delete_unknown"] and (options["owner"] or options["no_repair"]):
            raise CommandError("--delete-unknown goes neither with --owner nor with --no-repair.")
        self._each(options, partial(_verify, Schema()), _beside)

    def _forget(self, options: dict[str, Any]) -> None:
        if not options["owner"] and not options["all"]:
            raise CommandError("Name the owner with --owner LOGIN, or say --all.")
        if not options["lost"] and worker_reported_lately():
            raise ProjectionFollowed
        self._each(options, _give_up if options["lost"] else _forget)

    def _each(self, options: dict[str, Any], work: Work, beside: Beside | None = None) -> None:
        """Work on each owner, whatever becomes of the others, and tell of all of them.

        Args:
            options: of the command.
            work: is done for each owner.
            beside: is done afterwards, is given how many owners failed, and gives what else there is to tell.
        """
        results: list[dict[str, Any]] = []
        unexpected: Exception | None = None
        for owner_id in _owners(options):
            turn = Turn(tell=None if options["json"] else self._progress(owner_id))
            try:
                result = {"ok": True, **work(owner_id, turn, options)}
            except OwnerPurging:
                continue
            except LociError as error:
                result = {"ok": False, "error": error.machine_code, "message": error.message}
            except Exception as error:
                unexpected = unexpected or error
                result = {
                    "ok": False,
                    "error": f"internal.{type(error).__name__}",
                    "message": "It failed unexpectedly.",
                }
            results.append({"owner": str(owner_id), "rows": turn.done, **result})
        failed = sum(1 for one in results if not one["ok"])
        more = beside(options, failed) if beside is not None and unexpected is None else []
        failed += sum(1 for one in more if not one.ok)
        value = {"action": options["action"], "owners": results, "failed": failed}
        value |= {one.name: one.value for one in more}
        lines = [_line(one) for one in results] + [line for one in more for line in one.lines]
        answer(self.stdout.write, value, as_json=options["json"], lines=lines)
        if unexpected is not None:
            raise unexpected
        if failed:
            raise SystemExit(1)

    def _progress(self, owner_id: UUID) -> Callable[[str, int], None]:
        said, owner = 0, shown_owner(owner_id)

        def tell(what: str, done: int) -> None:
            nonlocal said
            if done - said >= EVERY_ROWS:
                said = done
                self.stdout.write(f"{owner}: {done} ({what})")

        return tell


def _owners(options: dict[str, Any]) -> list[UUID]:
    if options["owner"]:
        return [named_owner(options["owner"])]
    if options["action"] == "moved" or options.get("lost"):
        # Also of owners whose purge waits for that Neo4j.
        return list(GraphProjection.objects.order_by("pk").values_list("pk", flat=True))
    return list(Owner.objects.filter(purging_at=None).order_by("pk").values_list("pk", flat=True))


def _project(owner_id: UUID, turn: Turn, options: dict[str, Any]) -> dict[str, Any]:
    project(owner_id=owner_id, turn=turn)
    return {}


def _rebuild(owner_id: UUID, turn: Turn, options: dict[str, Any]) -> dict[str, Any]:
    project(owner_id=owner_id, turn=turn, anew=True)
    return {}


def _verify(schema: Schema, owner_id: UUID, turn: Turn, options: dict[str, Any]) -> dict[str, Any]:
    outcome = verify(
        owner_id=owner_id, repair=not options["no_repair"], sample=options["sample"], turn=turn, schema=schema
    )
    left = outcome.left.mismatches
    return {"ok": not left, "found": outcome.found.as_json(), "repaired": outcome.repaired, "left": left}


def _beside(options: dict[str, Any], failed: int) -> list[Told]:
    """Look at what stands in Neo4j beside the owners, where the command is about all of them."""
    if options["owner"]:
        return []
    unknown = tell_unknown(delete=options["delete_unknown"], failed=failed)
    return [unknown] if options["no_repair"] or not unknown.ok else [unknown, tell_lacking()]


def _forget(owner_id: UUID, turn: Turn, options: dict[str, Any]) -> dict[str, Any]:
    forget(owner_id=owner_id, turn=turn)
    return {}


def _give_up(owner_id: UUID, turn: Turn, options: dict[str, Any]) -> dict[str, Any]:
    give_up(owner_id=owner_id)
    return {}


def _moved(owner_id: UUID, turn: Turn, options: dict[str, Any]) -> dict[str, Any]:
    return {"moved": note_moved(owner_id=owner_id)}


def _failure() -> LociError | None:
    """Ask Neo4j, where it is set up, and give why it does not answer usably."""
    try:
        if settings.NEO4J_URI:
            neo4j_client().read("RETURN 1 AS one", {})
    except LociError as error:
        return error
    return None


def _reached(failure: LociError | None) -> str:
    if not settings.NEO4J_URI:
        return "not set up"
    return failure.machine_code if failure else "answers"


def _summary(value: dict[str, Any], told: Standing) -> list[str]:
    """Say how Neo4j and the projections of all owners are."""
    lines = ["Neo4j: answers."]
    if value["message"]:
        lines = [f"Neo4j: {value['message']} ({value['neo4j']})", f"  -> {value['remedy']}"]
    lines.append(f"In clear there: {value['text']}. Reads are to come from {value['reads']}.")
    if told.former:
        whose = owners(told.former)
        lines.append(f"NEO4J_TEXT was changed; what it let out before still stands there, of {whose}.")
    lines.append(f"{told.following} of {owners(told.owners)} projected, {told.building} being built.")
    if told.failing:
        lines.append(f"{told.failing} failing ({told.error_code}).")
    elif not value["message"]:
        lines.append("None failing.")
    waiting = counted(value["waiting"], "change")
    return [*lines, f"{waiting} waiting, the oldest for {told.lag_seconds:.0f} s."]


def _lines(projections: list[dict[str, Any]]) -> list[str]:
    return [
        f"  {shown_owner(UUID(one['owner']))}  {one['state']}  {one['waiting']} waiting"
        + (f"  failed {one['failures']} times ({one['error_code']})" if one["failures"] else "")
        + ("  elsewhere" if one["elsewhere"] else "")
        for one in projections
    ]


def _line(result: dict[str, Any]) -> str:
    owner, rows = shown_owner(UUID(result["owner"])), counted(result["rows"], "row")
    if "error" in result:
        return f"{owner}: {result['message']} ({result['error']})"
    if "moved" in result:
        return f"{owner}: {'its new address is noted' if result['moved'] else 'there was nothing to note'}."
    if "found" in result:
        found = result["found"]
        counts = ", ".join(f"{name} {one['postgres']}/{one['neo4j']}" for name, one in found["counts"].items())
        after = f", {result['left']} left" if result["repaired"] else ""
        return f"{owner}: {counts}; {found['sampled']} compared whole, {found['mismatches']} differ{after}."
    return f"{owner}: {rows}."
