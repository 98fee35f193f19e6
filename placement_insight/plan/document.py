"""Plans as JSON."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from placement.core.snapshot.snapshot import Snapshot
from placement.core.text import first
from placement_insight.documents import Json, document
from placement_insight.hosts import SERVER_CLASSES
from placement_insight.plan import words
from placement_insight.plan.drain import Drain
from placement_insight.plan.hypothetical import Taken
from placement_insight.plan.model import Holder, Keep, Move, Needs, NeedsReader, Scene, Verdict
from placement_insight.plan.room import Rooms, Task
from placement_insight.plan.server_groups import NO_GROUPS, ServerGroups
from placement_insight.plan.survival import Domain, Outcome

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


def of_drain(
    snapshot: Snapshot, tops: Sequence[int], scene: Scene, result: Drain, limit: int | None
) -> Json:
    """Return the document of POST /insight/drain."""
    reader = NeedsReader(snapshot, scene.drained, Keep())
    assumes = _assumes(scene.keep, scene.groups)
    names = [provider(snapshot, row)["name"] for row in tops]
    are_hosts = all(map(snapshot.forest.is_root.item, tops))
    return document(
        text=_text(words.of_drain(names, scene, result, are_hosts=are_hosts), assumes),
        complete=result.is_complete,
        verdict=result.verdict,
        reasons=result.reasons,
        providers=[provider(snapshot, row) for row in tops],
        consumers=sum(len(demand.holders) for demand in scene.demands),
        placed=len(result.moves),
        hosts_used=len({move.root for move in result.moves}),
        moves=(
            {
                **_consumer(move.holder),
                "from": [provider(snapshot, row) for row in reader.roots(move.holder.allocations)],
                "to": [provider(snapshot, move.root)],
                "allocations": _by_uuid(snapshot, move.allocations),
                "text": _command(snapshot, move),
            }
            for move in result.moves[:limit]
        ),
        stuck=[
            {
                **_consumer(each.holder),
                "needs": _total(each.needs),
                "proved": each.is_proved,
                "text": each.text,
            }
            for each in result.stuck
        ],
        skipped=[{"consumer": uuid, "reason": reason} for uuid, reason in scene.skipped.items()],
        assumes=assumes,
    )


def of_survival(
    count: int,
    outcomes: Iterable[Outcome],
    skipped: int,
    keep: Keep,
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
    assumes = _assumes(keep)
    return document(
        text=_text(words.of_survival(count, results, skipped), assumes),
        complete=len(results) == count,
        verdict="does_not_fit" if failing else verdict,
        domains=count,
        survive=verdicts["fits"],
        undetermined=count - verdicts["fits"] - len(failing),
        **{"not": failing},
        unknown=unknown,
        left_out=[each.uuid for each in domains if each.uuid not in reached],
        skipped=skipped,
        assumes=assumes,
    )


def of_rooms(snapshot: Snapshot, result: Rooms, task: Task) -> Json:
    """Return the document of POST /insight/room."""
    verdict: Verdict = "fits" if result.fits_now or result.rooms else "undetermined"
    assumes = _assumes(task.keep, task.groups)
    targets = {e.move.root for room in result.rooms for e in room.leaving if e.move}
    names = {row: provider(snapshot, row)["name"] for row in targets}
    texts = [
        words.of_room(provider(snapshot, room.root)["name"], room, names) for room in result.rooms
    ]
    return document(
        text=_text(words.of_rooms(result, texts), assumes),
        complete=result.is_complete,
        verdict="does_not_fit" if result.reason else verdict,
        fits_now=result.fits_now,
        rooms=[
            {
                "root": provider(snapshot, room.root),
                "consumers": [
                    {
                        **_consumer(each.holder, "uuid"),
                        "frees": each.frees,
                        "to": provider(snapshot, each.move.root) if each.move else None,
                        "text": _command(snapshot, each.move)
                        if each.move
                        else f"{each.holder.uuid} must be evicted",
                        "allocations": _by_uuid(snapshot, each.move.allocations)
                        if each.move
                        else {},
                    }
                    for each in room.leaving
                ],
                "moved": len(room.leaving),
                "amount": room.frees,
                "minimal": room.is_minimal,
                "text": text,
            }
            for room, text in zip(result.rooms, texts, strict=True)
        ],
        reason=result.reason,
        undetermined=result.undetermined,
        assumes=assumes,
    )


def _text(lines: Iterable[str], assumes: Sequence[str]) -> str:
    """Return the lines, and what the command and the page show of what is assumed."""
    result, *others = lines
    return "\n".join((result, *(f"  {line}" for line in (*others, *assumes[:2]))))


def _assumes(keep: Keep, groups: ServerGroups = NO_GROUPS) -> Sequence[str]:
    cells = keep.cells.assumes
    if groups is NO_GROUPS:
        return (ASSUMES[0], *cells, *ASSUMES[1:])
    unknown = groups.without_allocations
    sentence = (
        f"Members of server groups without allocations are not considered: {first(unknown)}."
    )
    return (OF_GROUPS, *cells, *ASSUMES[1:], *((sentence,) if unknown else ()))


def provider(snapshot: Snapshot, row: int) -> Mapping[str, str]:
    """Return the UUID and the name of a provider."""
    identity = snapshot.entries.state(row).provider
    return {"uuid": identity.uuid, "name": identity.name}


def _command(snapshot: Snapshot, move: Move) -> str:
    has_devices = any(
        snapshot.forest.root.item(row) == move.root != row and name not in SERVER_CLASSES
        for name, row in move.allocations
        if not name.startswith("NET_")
    )
    target = provider(snapshot, move.root)["name"]
    return words.of_move(move.holder, target, has_devices=has_devices)


def _consumer(holder: Holder, key: str = "consumer") -> Mapping[str, str | None]:
    return {key: holder.uuid, "type": holder.type, "project_id": holder.project_id}


def _by_uuid(snapshot: Snapshot, allocations: Taken) -> Mapping[str, Mapping[str, int]]:
    by_uuid: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for (name, row), amount in allocations.items():
        by_uuid[snapshot.forest.uuids[row]][name] = amount
    return by_uuid


def _total(needs: Needs) -> Mapping[str, int]:
    total = needs.total
    for _, resources in needs.shared:
        total.update(dict(resources))
    return total
