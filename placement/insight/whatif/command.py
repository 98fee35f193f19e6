"""Arguments and texts of ``openstack placement drain`` and ``survive``."""

import argparse
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from placement.core.text import Names, nouns, printable
from placement.insight.documents import Response

EXIT_STATUS: Final = {"fits": 0, "does_not_fit": 1, "undetermined": 3}
"""The exit status of a command by verdict."""

_MOST_STUCK: Final = 10
_SKIPPED: Final = {
    "several_trees": "have allocations on several hosts",
    "migration": "are migrations",
    "changed": "changed while they were read",
}

_EVICTABLE: Final = {
    "project": "project_ids",
    "type": "types",
    "consumer": "consumers",
    "older_than": "older_than",
}
_NO_ROOM: Final = {
    "nothing_evictable": "no host: the servers that may be evicted are not enough",
    "nowhere_to_move": "no host: not enough servers of one host fit elsewhere",
    "too_large_for_any_host": "no host: the request does not fit on an empty host either",
}


def add_keep(parser: argparse.ArgumentParser) -> None:
    """Add the option that says what another host must have."""
    parser.add_argument(
        "--keep",
        action="append",
        metavar="<what>",
        help="What another host must have of the host that a server leaves: aggregates (the "
        "default), none, or also traits:<prefix>, such as traits:CUSTOM_AZ_. Can be repeated.",
    )


def add_room_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``--make-room``."""
    parser.add_argument(
        "--evictable",
        action="append",
        default=[],
        metavar="<what>=<value>",
        help="With --make-room: servers are not moved but evicted, and only these: project=<id>, "
        "type=<consumer type>, consumer=<UUID>, older_than=<time>. They must meet all conditions; "
        "of several values for one condition, any.",
    )
    add_keep(parser)


def room_request(query: str, arguments: argparse.Namespace) -> dict[str, object]:
    """Return the body of POST /insight/room.  Raises: ValueError with a sentence."""
    body: dict[str, object] = {"query": query}
    if arguments.keep:
        body["keep"] = arguments.keep
    evictable = defaultdict[str, list[str]](list)
    for text in arguments.evictable:
        name, _, value = text.partition("=")
        if name not in _EVICTABLE or not value:
            raise ValueError(
                f"--evictable {text}: write it as project=<id>, type=<consumer type>, "
                "consumer=<UUID> or older_than=<time>."
            )
        evictable[_EVICTABLE[name]].append(value)
    if not evictable:
        return body
    last = {name: values[-1] for name, values in evictable.items() if name == "older_than"}
    return {**body, "by": "evict", "evictable": {**evictable, **last}}


def room_lines(document: Response, names: Names) -> Iterator[str]:
    """Yield a line for each host with room, or why there is none."""
    if document["fits_now"]:
        yield "not needed: it fits now"
    for each in document["rooms"]:
        yield printable(f"{each['root']['name']}: {_leaving(each, names)}")
    if document["reason"]:
        yield _NO_ROOM[document["reason"]]
    if document["undetermined"]:
        unknown = document["undetermined"]
        yield f"not determined for {unknown} more {nouns(unknown, 'host')}"


def _leaving(room: Response, names: Names) -> str:
    moves = [
        f"{names.get(each['uuid'], each['uuid'])}"
        + (f" to {each['to']['name']}" if each["to"] else "")
        for each in room["consumers"]
    ]
    verb = "move" if room["consumers"][0]["to"] else "must be evicted"
    verb += "s" if verb == "move" and room["moved"] == 1 else ""
    atleast = "" if room["minimal"] else " (perhaps fewer are enough)"
    amounts = (f"{name}:{amount}" for name, amount in room["amount"].items())
    what = ", ".join((f"{verb}{atleast}", *amounts))
    return f"{room['moved']} {nouns(room['moved'], 'server')} {what}: {', '.join(moves)}"


def add_drain_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``drain``."""
    parser.add_argument(
        "hosts",
        nargs="*",
        metavar="<host>",
        help="A provider that would be gone, with all providers below it; by name or UUID.",
    )
    parser.add_argument(
        "--aggregate",
        action="append",
        default=[],
        metavar="<aggregate>",
        help="All hosts of this aggregate, by name or UUID. Can be repeated.",
    )
    parser.add_argument(
        "--rack",
        action="append",
        default=[],
        metavar="<trait>",
        help="All hosts with this trait, such as CUSTOM_RACK_12. Can be repeated.",
    )
    add_keep(parser)


def drain_lines(document: Response, names: Names) -> Iterator[str]:
    """Yield the result, the consumers that fit nowhere, and what is assumed.

    ``names`` are names of servers by UUID.
    """
    yield printable(_headline(document, names))
    stuck: Sequence[Response] = document["stuck"]
    for each in stuck[1:_MOST_STUCK]:
        yield printable(f"  {_named(each, names)}: {each['text']}")
    if len(stuck) > _MOST_STUCK:
        yield f"  and {len(stuck) - _MOST_STUCK} more"
    texts = {each["text"] for each in stuck}
    for reason in document["reasons"]:
        if reason not in texts:
            yield printable(f"  {reason}")
    reasons = [each["reason"] for each in document["skipped"]]
    for reason in dict.fromkeys(reasons):
        yield f"  {reasons.count(reason)} not planned: they {_SKIPPED.get(reason, reason)}"
    yield f"  {document['assumes'][0]}"


def add_survival_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``survive``."""
    parser.add_argument(
        "--by",
        default="root",
        metavar="<what>",
        help="What fails: root (each host, the default), aggregate, or root_trait:<prefix>, such "
        "as root_trait:CUSTOM_RACK_.",
    )
    parser.add_argument(
        "--failures",
        default="1",
        metavar="<number>",
        help="How many hosts fail at once: 1 (the default) or 2.",
    )
    add_keep(parser)


def survival_lines(document: Response) -> Iterator[str]:
    """Yield the result, and what it relies on."""
    domains, unknown = document["domains"], document["undetermined"]
    yield f"{document['survive']} of {domains} {nouns(domains, 'domain')} survive" + (
        f"; {unknown} not determined" if unknown else ""
    )
    if not document["complete"]:
        yield "  the time limit was reached: [placement]candidate_search_budget_seconds"
    for each in (*document["not"], *document["unknown"])[:1]:
        yield printable(f"  {each['name']}: {each['reason']}")
    if document["skipped"]:
        yield f"  {document['skipped']} servers with allocations on several hosts do not count"
    yield f"  {document['assumes'][0]}"


def _headline(document: Response, names: Names) -> str:
    providers = [provider["name"] for provider in document["providers"]]
    what = ", ".join(providers) if len(providers) < 4 else f"{len(providers)} hosts"
    consumers, placed, hosts = (document[name] for name in ("consumers", "placed", "hosts_used"))
    if not consumers:
        return f"{what}: no servers to move"
    fit = "fits" if consumers == 1 else "fit"
    text = (
        f"{what}: {placed} of {consumers} {nouns(consumers, 'server')} {fit} elsewhere, on "
        f"{hosts} {nouns(hosts, 'host')}"
    )
    stuck = document["stuck"]
    if not stuck:
        return text
    first = f"{_named(stuck[0], names)} ({stuck[0]['text']})"
    verb = "does" if len(stuck) == 1 else "do"
    if document["verdict"] == "undetermined":
        verb = "has" if len(stuck) == 1 else "have"
        return f"{text}; {len(stuck)} {verb} no place in this plan: {first}"
    return f"{text}; {len(stuck)} {verb} not: {first}"


def _named(consumer: Response, names: Names) -> str:
    uuid: str = consumer["consumer"]
    return names.get(uuid, uuid)
