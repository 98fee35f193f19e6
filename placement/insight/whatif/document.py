"""Plans as JSON."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from placement.core.snapshot.snapshot import Snapshot
from placement.insight.whatif.drain import Drain, Stuck
from placement.insight.whatif.model import Allocations, Holder, Move, Scene, Verdict
from placement.insight.whatif.room import Leaving, Room, Rooms
from placement.insight.whatif.survival import Outcome

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


def drain_fields(
    snapshot: Snapshot, tops: Sequence[int], scene: Scene, result: Drain, limit: int | None
) -> Mapping[str, Any]:
    """Return the fields of GET /insight/drain."""
    return {
        "complete": result.is_complete,
        "verdict": result.verdict,
        "reasons": result.reasons,
        "providers": [provider(snapshot, row) for row in tops],
        "consumers": scene.consumers,
        "placed": len(result.moves),
        "hosts_used": len({move.root for move in result.moves}),
        "moves": [_move(snapshot, move) for move in result.moves[:limit]],
        "stuck": [_stuck(each) for each in result.stuck],
        "skipped": [
            {"consumer": each.holder.uuid, "reason": each.reason} for each in scene.skipped
        ],
        "assumes": (OF_GROUPS, *ASSUMES[1:]) if scene.groups else ASSUMES,
    }


def survival_fields(domains: int, outcomes: Iterable[Outcome], skipped: int) -> Mapping[str, Any]:
    """Return the fields of GET /insight/survival; outcomes may be missing after the deadline."""
    results = list(outcomes)
    count = Counter(each.verdict for each in results)
    undetermined = domains - count["fits"] - count["does_not_fit"]
    verdict: Verdict = "fits" if count["fits"] == domains else "undetermined"
    return {
        "complete": len(results) == domains,
        "verdict": "does_not_fit" if count["does_not_fit"] else verdict,
        "domains": domains,
        "survive": count["fits"],
        "undetermined": undetermined,
        "not": [_outcome(each) for each in results if each.verdict == "does_not_fit"],
        "unknown": [_outcome(each) for each in results if each.verdict == "undetermined"],
        "skipped": skipped,
        "assumes": ASSUMES,
    }


def room_fields(snapshot: Snapshot, result: Rooms) -> Mapping[str, Any]:
    """Return the fields of POST /insight/room."""
    verdict: Verdict = "fits" if result.fits_now or result.rooms else "undetermined"
    return {
        "complete": result.is_complete,
        "verdict": "does_not_fit" if result.reason else verdict,
        "fits_now": result.fits_now,
        "rooms": [_room(snapshot, each) for each in result.rooms],
        "reason": result.reason,
        "undetermined": result.undetermined,
        "assumes": ASSUMES,
    }


def _room(snapshot: Snapshot, room: Room) -> Mapping[str, Any]:
    return {
        "root": provider(snapshot, room.root),
        "consumers": [_leaving(snapshot, each) for each in room.leaving],
        "moved": len(room.leaving),
        "amount": room.frees,
        "minimal": room.is_minimal,
    }


def _leaving(snapshot: Snapshot, leaving: Leaving) -> Mapping[str, Any]:
    move = leaving.move
    return {
        "uuid": leaving.holder.uuid,
        "type": leaving.holder.type,
        "project_id": leaving.holder.project_id,
        "frees": leaving.frees,
        "to": None if move is None else provider(snapshot, move.root),
        "allocations": {} if move is None else _by_uuid(snapshot, move.allocations),
    }


def _by_uuid(snapshot: Snapshot, allocations: Allocations) -> Mapping[str, Mapping[str, int]]:
    return {snapshot.forest.uuids[row]: amounts for row, amounts in allocations.items()}


def _outcome(outcome: Outcome) -> Mapping[str, Any]:
    domain = outcome.domain
    return {
        "domain": domain.uuid,
        "name": domain.name,
        "hosts": len(domain.roots),
        "consumers": outcome.consumers,
        "stuck": outcome.stuck,
        "lacks": outcome.lacks,
    }


def provider(snapshot: Snapshot, row: int) -> Mapping[str, str]:
    """Return the UUID and the name of a provider."""
    identity = snapshot.entries.state(row).provider
    return {"uuid": identity.uuid, "name": identity.name}


def _move(snapshot: Snapshot, move: Move) -> Mapping[str, Any]:
    return {
        **_consumer(move.holder),
        "from": [provider(snapshot, row) for row in _roots(snapshot, move.holder.allocations)],
        "to": [provider(snapshot, move.root)],
        "allocations": _by_uuid(snapshot, move.allocations),
    }


def _roots(snapshot: Snapshot, allocations: Allocations) -> Sequence[int]:
    """Return the roots of the trees that a consumer leaves, without sharing providers."""
    sharing = snapshot.sharing.mask(snapshot.size)
    rows = [row for row in allocations if not sharing[row]] or list(allocations)
    return sorted({snapshot.forest.root.item(row) for row in rows})


def _consumer(holder: Holder) -> Mapping[str, Any]:
    return {"consumer": holder.uuid, "type": holder.type, "project_id": holder.project_id}


def _stuck(stuck: Stuck) -> Mapping[str, Any]:
    needs = stuck.needs.total
    for _, resources in stuck.needs.shared:
        needs.update(dict(resources))
    return {
        **_consumer(stuck.holder),
        "needs": dict(needs),
        "proved": stuck.is_proved,
        "text": stuck.text,
    }
