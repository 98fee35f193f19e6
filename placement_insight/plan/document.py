"""Plans as JSON."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from placement.core.snapshot.snapshot import Snapshot
from placement.core.text import first
from placement_insight.documents import Json, document
from placement_insight.plan import words
from placement_insight.plan.drain import Drain
from placement_insight.plan.hypothetical import Taken
from placement_insight.plan.model import Holder, Keep, Scene, Verdict, roots_of
from placement_insight.plan.room import Rooms, Task
from placement_insight.plan.server_groups import NO_GROUPS, ServerGroups
from placement_insight.plan.survival import Domain, Outcome, Survival

ASSUMES: Final = (
    "Only Nova knows server groups, images, pinning, ports and host states: the plan does not.",
    "A consumer needs what it has allocated: the amounts of its root from any providers of a "
    "tree, the amounts of each other provider from a separate provider.",
    "A target is enabled, is not drained, and has the aggregates and traits to keep of the root.",
    "What a sharing provider supplies stays there if it also shares with the target.",
    "Nothing else changes, and the moves are made in this order.",
)

OF_GROUPS: Final = (
    "The plan keeps the rules of server groups; only Nova knows images, pinning, ports and host "
    "states."
)

NO_MIGRATIONS: Final = (
    "The migrations of Nova are not known: those in progress count as servers. Give migrations, "
    "the UUIDs in openstack server migration list."
)


def of_drain(
    snapshot: Snapshot, tops: Sequence[int], scene: Scene, result: Drain, limit: int | None
) -> Json:
    """Return the document of POST /insight/drain."""
    providers = [provider(snapshot, row) for row in tops]
    are_hosts = all(map(snapshot.forest.is_root.item, tops))
    lines = words.of_drain(
        [each["name"] for each in providers], scene, result, are_hosts=are_hosts
    )
    text, assumes = _framed(lines, scene.keep, scene.groups)
    return document(
        text=text,
        complete=result.is_complete,
        verdict=result.verdict,
        reasons=result.reasons,
        providers=providers,
        consumers=sum(len(demand.holders) for demand in scene.demands),
        placed=len(result.moves),
        hosts_used=len({move.root for move in result.moves}),
        moves=(
            {
                **_leaving(snapshot, move.holder),
                "to": [provider(snapshot, move.root)],
                "allocations": _by_uuid(snapshot, move.allocations),
                "text": words.of_move(snapshot, move, scene.keep.cells.down),
            }
            for move in result.moves[:limit]
        ),
        stuck=[
            {
                **_leaving(snapshot, each.holder),
                "needs": sum(
                    (Counter(dict(some)) for _, some in each.needs.shared), each.needs.total
                ),
                "proved": each.is_proved,
                "text": each.text,
            }
            for each in result.stuck
        ],
        skipped=[
            {"consumer": uuid, "reason": reason, "text": f"not planned: {words.SKIPPED[reason]}"}
            for uuid, reason in scene.skipped.items()
        ],
        assumes=assumes,
    )


def of_survival(
    survival: Survival,
    what: str,
    count: int,
    outcomes: Iterable[Outcome],
    domains: Sequence[Domain] = (),
) -> Json:
    """Return the document of GET /insight/survival; the deadline may leave out outcomes.

    Of ``domains``, those without an outcome are listed; two failures are too many to list.
    """
    results = list(outcomes)
    reached = {each.domain.uuid for each in results}
    verdicts = Counter(each.verdict for each in results)
    verdict: Verdict = "fits" if verdicts["fits"] == count else "undetermined"
    failing, unknown = (
        [
            {
                "domain": each.domain.uuid,
                "name": each.domain.name,
                "hosts": len(each.domain.roots),
                "consumers": each.consumers,
                "stuck": each.stuck,
                "lacks": each.lacks,
                "reason": each.reason,
                "text": words.of_outcome(each),
            }
            for each in results
            if each.verdict == listed
        ]
        for listed in ("does_not_fit", "undetermined")
    )
    lines = words.of_survival(what, count, results, survival.skipped)
    text, assumes = _framed(lines, survival.keep)
    return document(
        text=text,
        complete=len(results) == count,
        verdict="does_not_fit" if failing else verdict,
        domains=count,
        survive=verdicts["fits"],
        undetermined=count - verdicts["fits"] - len(failing),
        **{"not": failing},
        unknown=unknown,
        left_out=[each.uuid for each in domains if each.uuid not in reached],
        skipped=survival.skipped,
        assumes=assumes,
    )


def of_rooms(snapshot: Snapshot, result: Rooms, task: Task) -> Json:
    """Return the document of POST /insight/room."""
    verdict: Verdict = "fits" if result.fits_now or result.rooms else "undetermined"
    targets = {e.move.root for room in result.rooms for e in room.leaving if e.move}
    names = {row: provider(snapshot, row)["name"] for row in targets}
    rooms = [
        {
            "root": (root := provider(snapshot, room.root)),
            "consumers": [
                {
                    **_consumer(each.holder, "uuid"),
                    "frees": each.frees,
                    "to": provider(snapshot, move.root) if (move := each.move) else None,
                    "text": words.of_move(snapshot, move, task.keep.cells.down)
                    if move
                    else f"{each.holder.uuid} must be evicted",
                    "allocations": _by_uuid(snapshot, move.allocations) if move else {},
                }
                for each in room.leaving
            ],
            "moved": len(room.leaving),
            "amount": room.frees,
            "minimal": room.is_minimal,
            "text": words.of_room(root["name"], room, names),
        }
        for room in result.rooms
    ]
    lines = words.of_rooms(result, [f"{room['text']}" for room in rooms])
    text, assumes = _framed(lines, task.keep, task.groups)
    return document(
        text=text,
        complete=result.is_complete,
        verdict="does_not_fit" if result.reason else verdict,
        fits_now=result.fits_now,
        rooms=rooms,
        reason=result.reason,
        undetermined=result.undetermined,
        assumes=assumes,
    )


def _framed(
    lines: Iterable[str], keep: Keep, groups: ServerGroups = NO_GROUPS
) -> tuple[str, Sequence[str]]:
    """Return the text, which ends with the assumptions about Nova, and all assumptions."""
    of_nova = [ASSUMES[0] if groups is NO_GROUPS else OF_GROUPS, *keep.cells.assumes]
    if not keep.knows_migrations:
        of_nova.append(NO_MIGRATIONS)
    assumes = [*of_nova, *ASSUMES[1:]]
    if unknown := sorted(groups.of_server.keys() - groups.roots.keys()):
        assumes.append(
            f"Members of server groups without allocations are not considered: {first(unknown)}."
        )
    result, *others = lines
    return "\n  ".join((result, *others, *of_nova)), assumes


def provider(snapshot: Snapshot, row: int) -> Mapping[str, str]:
    """Return the UUID and the name of a provider."""
    identity = snapshot.entries.state(row).provider
    return {"uuid": identity.uuid, "name": identity.name}


def _consumer(holder: Holder, key: str = "consumer") -> Mapping[str, str | None]:
    return {key: holder.uuid, "type": holder.type, "project_id": holder.project_id}


def _leaving(snapshot: Snapshot, holder: Holder) -> Mapping[str, object]:
    roots = roots_of(snapshot, holder.allocations)
    return {**_consumer(holder), "from": [provider(snapshot, row) for row in roots]}


def _by_uuid(snapshot: Snapshot, allocations: Taken) -> Mapping[str, Mapping[str, int]]:
    by_uuid: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for (name, row), amount in allocations.items():
        by_uuid[snapshot.forest.uuids[row]][name] = amount
    return by_uuid
