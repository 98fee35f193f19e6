"""The sentences of plans: ``text`` of a document is its result, why, and what to do next.

Its first line is the result; what was not determined comes first. Equal reasons are one line.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from placement.core.snapshot.snapshot import Snapshot
from placement.core.text import nouns
from placement_insight.hosts import INSTANCE
from placement_insight.names import argument, option
from placement_insight.plan.drain import TIME_LIMIT, Drain
from placement_insight.plan.model import Move, Scene, SkipReason
from placement_insight.plan.room import NoRoom, Room, Rooms
from placement_insight.plan.survival import Outcome

_MOST_LINES: Final = 10
SKIPPED: Final[Mapping[SkipReason, str]] = {
    "several_trees": "allocations on several hosts",
    "migration": "migrations: confirm, revert or abort them, or audit those that failed",
    "state": "Nova moves no server in this state: end the resize, task, pause, suspension, "
    "shelving, rescue or error",
    "changed": "changed while they were read",
    "accelerator": "Nova migrates no server with an accelerator of Cyborg: shelve it, and "
    "unshelve it if another host has one free",
}
_NO_ROOM: Final[Mapping[NoRoom, str]] = {
    "nothing_evictable": "no host: the consumers that may be evicted are not enough",
    "nowhere_to_move": "no host: not enough consumers of one host fit elsewhere",
    "too_large_for_any_host": "no host: the request does not fit on an empty host either",
}
_COMMANDS: Final = "the text of each is its command (-f json)."
_IF_ABORTED: Final = (
    "If a move fails or is aborted, Nova leaves the server on its host, and the moves before it "
    "remain: see openstack server migration list --server ID, then plan again."
)
_EVACUATED: Final = (
    "Evacuated servers that ran are off afterwards (since microversion 2.95 of Nova). Nova "
    "releases their allocations on a host that is down when its nova-compute starts again."
)


def of_drain(
    names: Sequence[str], scene: Scene, result: Drain, *, are_hosts: bool
) -> Iterator[str]:
    """Yield the lines about a drain of providers with these names."""
    yield _headline(names, scene, result)
    stuck = [(each.text, each.holder.uuid) for each in result.stuck]
    if result.is_complete:
        yield from grouped(stuck)
        yield from (reason for reason in result.reasons if reason not in dict(stuck))
    for reason, count in Counter(scene.skipped.values()).items():
        yield f"{count} not planned: {SKIPPED[reason]}"
    if result.moves:
        name = names[0] if len(names) == 1 else "HOST"
        host = argument(name)
        disable = f"openstack compute service set --disable {host} nova-compute, then "
        yield f"Next: {disable if are_hosts else ''}the moves in this order; {_COMMANDS}"
        yield _IF_ABORTED
        scope = "--in-tree" if are_hosts else "--provider"
        listed = f"openstack resource consumer list {option(scope, name)}"
        yield f"{name} is empty when {listed} is empty."
        if any(map(scene.drained.item, scene.keep.cells.down)):
            yield _EVACUATED


def _headline(names: Sequence[str], scene: Scene, result: Drain) -> str:
    what = ", ".join(names) if len(names) < 4 else f"{len(names)} providers"
    consumers = sum(len(demand.holders) for demand in scene.demands)
    placed, stuck = len(result.moves), len(result.stuck)
    hosts = len({move.root for move in result.moves})
    if not consumers:
        return f"{what}: no {'moves are planned' if scene.skipped else 'consumers to move'}"
    on_hosts = f"elsewhere, on {hosts} {nouns(hosts, 'host')}"
    if not result.is_complete:
        unknown = f"{what}: {stuck} of {consumers} not determined: {TIME_LIMIT}"
        return f"{unknown}; {placed} {_verb(placed, 'fit')} {on_hosts}"
    fit = _verb(consumers, "fit")
    text = f"{what}: {placed} of {consumers} {nouns(consumers, 'consumer')} {fit} {on_hosts}"
    if not stuck:
        return text
    if result.verdict == "undetermined":
        have = f"{stuck} {_verb(stuck, 'have')}"
        return f"{text}; {have} no place in this plan, and may fit in another one"
    return f"{text}; {stuck} {_verb(stuck)} not"


def of_survival(what: str, count: int, outcomes: Sequence[Outcome], skipped: int) -> Iterator[str]:
    """Yield the lines about the outcomes of as many hosts, aggregates or pairs as were reached."""
    verdicts = Counter(each.verdict for each in outcomes)
    survive, fail = verdicts["fits"], verdicts["does_not_fit"]
    unknown = count - survive - fail
    domains, failing = nouns(count, what), f"{fail} {_verb(fail)} not" if fail else ""
    if len(outcomes) < count:
        known = [f"{survive} {_verb(survive, 'survive')}"] * bool(survive) + [failing] * bool(fail)
        others = f"; of the others, {' and '.join(known)}" if known else ""
        yield f"{unknown} of {count} {domains} not determined: {TIME_LIMIT}{others}"
    else:
        parts = [f"{survive} of {count} {domains} {_verb(count, 'survive')}", failing]
        yield "; ".join(filter(None, (*parts, f"{unknown} not determined" if unknown else "")))
    yield from grouped((each.reason, each.domain.name) for each in outcomes if each.reason)
    if skipped:
        yield f"{skipped} {nouns(skipped, 'consumer')} on several hosts {_verb(skipped)} not count"
    if fail:
        yield "Next: openstack placement drain HOST lists the consumers that have no move."


def of_outcome(outcome: Outcome) -> str:
    """Return the sentence about a domain that does not survive, or is not determined."""
    consumers = f"{outcome.consumers} {nouns(outcome.consumers, 'consumer')}"
    if outcome.verdict == "undetermined":
        return f"{outcome.domain.name} with {consumers} is not determined: {outcome.reason}"
    does = _verb(outcome.stuck)
    text = f"{outcome.domain.name}: {outcome.stuck} of {consumers} {does} not fit elsewhere"
    return f"{text}: {outcome.reason}"


def of_rooms(result: Rooms, texts: Sequence[str]) -> Iterator[str]:
    """Yield the lines about the hosts with room, which have these texts."""
    unknown = f"{result.undetermined} more {nouns(result.undetermined, 'host')} not determined"
    if not result.is_complete:
        yield f"{unknown}: {TIME_LIMIT}"
    if result.fits_now:
        yield f"not needed: it fits now, on {result.fits_now} {nouns(result.fits_now, 'host')}"
    yield from texts
    if result.reason:
        yield _NO_ROOM[result.reason]
    if result.undetermined and result.is_complete:
        yield unknown
    if any(each.move for room in result.rooms for each in room.leaving):
        yield f"Next: the moves of one host in this order; {_COMMANDS} {_IF_ABORTED}"


def of_room(root: str, room: Room, names: Mapping[int, str]) -> str:
    """Return the sentence about a host with room; ``names`` are of targets by row."""
    leaving = [
        each.holder.uuid + (f" to {names[each.move.root]}" if each.move else "")
        for each in room.leaving
    ]
    count = len(leaving)
    verb = _verb(count, "move") if room.leaving[0].move else "must be evicted"
    at_least = "" if room.is_minimal else " (perhaps fewer are enough)"
    amounts = (f"{name}:{amount}" for name, amount in room.frees.items())
    what = ", ".join((f"{verb}{at_least}", *amounts))
    return f"{root}: {count} {nouns(count, 'consumer')} {what}: {', '.join(leaving)}"


def of_move(snapshot: Snapshot, move: Move, down: Collection[int] = ()) -> str:
    """Return the command of a move; only servers have one.

    ``openstack server evacuate --wait`` would not end: it waits until servers run.
    """
    holder, target = move.holder, snapshot.entries.state(move.root).provider.name
    if holder.type not in {None, INSTANCE}:
        return f"{holder.type} {holder.uuid} moves to {target}"
    to_target = f"{option('--host', target)} {argument(holder.uuid)}"
    match holder.way(snapshot, down):
        case "evacuate":
            return f"openstack server evacuate {to_target}"
        case "cold":
            confirm = f"openstack server migration confirm {argument(holder.uuid)}"
            return f"openstack server migrate --wait {to_target} && {confirm}"
        case "live":
            return f"openstack server migrate --live-migration {to_target}"


def grouped(reasons: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield reasons with their only subject, or with the number of subjects; most come first.

    >>> list(grouped([("is full", "cn1"), ("is disabled", "cn2"), ("is full", "cn3")]))
    ['2: is full', 'cn2: is disabled']
    """
    by_reason: defaultdict[str, list[str]] = defaultdict(list)
    for reason, subject in reasons:
        by_reason[reason].append(subject)
    ordered = sorted(by_reason.items(), key=lambda each: -len(each[1]))
    for reason, subjects in ordered[:_MOST_LINES]:
        yield f"{subjects[0] if len(subjects) == 1 else len(subjects)}: {reason}"
    if len(ordered) > _MOST_LINES:
        more = len(ordered) - _MOST_LINES
        yield f"{more} more {nouns(more, 'reason')}"


def _verb(count: int, verb: str = "do") -> str:
    return verb if count != 1 else {"do": "does", "have": "has"}.get(verb, f"{verb}s")
