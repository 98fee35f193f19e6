"""Options for a request and its explanation.

A request has the options of ``openstack allocation candidate list``, or ``--query``.

Options after ``--group SUFFIX`` belong to this group. Options before the first ``--group`` belong
to the unsuffixed group. Other parameters of the newest microversion have an option that the list
command does not have.
"""

import argparse
from collections.abc import Sequence
from urllib.parse import parse_qsl

from placement.exception import BadRequest

Pairs = list[tuple[str, str]]


_OF_GROUPS = {
    "--resource": (
        "<class>=<amount>",
        "An amount of a resource class: VCPU=4, MEMORY_MB=8192 (MiB), DISK_GB=80 (GiB). Can be "
        "repeated.",
    ),
    "--required": (
        "<trait>[,<trait>]",
        "A trait that a provider must have, or several traits, one of which it must have.",
    ),
    "--forbidden": ("<trait>", "A trait that no provider may have. Can be repeated."),
    "--member-of": (
        "<aggregate>[,<aggregate>]",
        "An aggregate of the providers, by name or UUID; or several, one of which they are in.",
    ),
    "--not-member-of": ("<aggregate>[,<aggregate>]", "Aggregates that no provider may be in."),
    "--in-tree": (
        "<provider>",
        "Only the host of this provider, and the providers below it; by name or UUID.",
    ),
}
_OF_REQUESTS = {
    "--root-required": ("<trait>", "A trait that the host must have. Can be repeated."),
    "--root-forbidden": ("<trait>", "A trait that the host must not have. Can be repeated."),
    "--same-subtree": (
        "<suffix>,<suffix>",
        "Suffixes of groups whose providers must be in one subtree. Can be repeated.",
    ),
}


class _OfGroup(argparse.Action):
    """Adds an option to the current group; ``--group`` begins another group."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,  # noqa: ARG002
    ) -> None:
        option = self.option_strings[0]
        if option == "--group":
            namespace.group = values
        group = namespace.group or ""
        namespace.groups = [*(namespace.groups or ()), (group, option, values)]


def add_to(parser: argparse.ArgumentParser) -> None:
    """Add the options of a request for candidates."""
    for option, (metavar, text) in _OF_GROUPS.items():
        names = (option, "--aggregate-uuid") if option == "--member-of" else (option,)
        parser.add_argument(*names, metavar=metavar, action=_OfGroup, dest="groups", help=text)
    parser.add_argument(
        "--group",
        metavar="<suffix>",
        action=_OfGroup,
        help="Begin a group that one provider must satisfy, with a suffix such as 1. The options "
        "that follow belong to it.",
    )
    parser.add_argument(
        "--group-policy",
        choices=("none", "isolate"),
        help="Whether different providers must satisfy the groups. Default with groups: none.",
    )
    for option, (metavar, text) in _OF_REQUESTS.items():
        parser.add_argument(option, metavar=metavar, action="append", default=[], help=text)
    text = "Accepted, as by the list of candidates; has no effect."
    parser.add_argument("--limit", metavar="<limit>", help=text)
    parser.add_argument(
        "--query", metavar="<query>", help="The request as a query string: resources=VCPU:1"
    )


def add_explanation(parser: argparse.ArgumentParser) -> None:
    """Add the options that select what is explained."""
    parser.add_argument(
        "--request-id",
        metavar="<id>",
        help="Show the records of a request ID or global request ID instead of a query.",
    )
    parser.add_argument(
        "--host",
        metavar="<host>",
        help="Explain whether this host fits: the name or UUID of a provider of its tree.",
    )
    parser.add_argument(
        "--remedies",
        action="store_true",
        help="Also look for changes of the request after which a host fits.",
    )


def pairs_of(arguments: argparse.Namespace, if_empty: str) -> Pairs:
    """Return the parameters of the query that the options specify.

    Raises: BadRequest for an invalid amount, and with the text ``if_empty`` if the options
    specify no request.
    """
    pairs = _of_options(arguments)
    if arguments.query:
        query = arguments.query.partition("?")[2] or arguments.query
        pairs += parse_qsl(query, keep_blank_values=True)
    if not pairs:
        raise BadRequest(if_empty)
    return pairs


def has_request(arguments: argparse.Namespace) -> bool:
    """Return whether the options specify a request."""
    return bool(arguments.query or _of_options(arguments))


def _of_options(arguments: argparse.Namespace) -> Pairs:
    options = arguments.groups or []
    suffixes = list(dict.fromkeys(suffix for suffix, _, _ in options))
    pairs = [pair for suffix in suffixes for pair in _of_group(suffix, options)]
    if arguments.group_policy or any(suffixes):
        pairs.append(("group_policy", arguments.group_policy or "none"))
    traits = [*arguments.root_required, *(f"!{name}" for name in arguments.root_forbidden)]
    if traits:
        pairs.append(("root_required", ",".join(traits)))
    pairs += [("same_subtree", suffixes) for suffixes in arguments.same_subtree]
    if arguments.limit:
        pairs.append(("limit", arguments.limit))
    return pairs


def _of_group(suffix: str, options: Sequence[tuple[str, str, str]]) -> Pairs:
    values: dict[str, list[str]] = {option: [] for option in (*_OF_GROUPS, "--group")}
    for group, option, value in options:
        if group == suffix:
            values[option].append(value)
    plain = [name for name in values["--required"] if "," not in name]
    plain += [f"!{name}" for name in values["--forbidden"]]
    joined = {"resources": [*map(_amount, values["--resource"])], "required": plain}
    pairs = [(name, ",".join(each)) for name, each in joined.items() if each]
    pairs += [("required", f"in:{names}") for names in values["--required"] if "," in names]
    pairs += [("member_of", f"in:{uuids}") for uuids in values["--member-of"]]
    pairs += [("member_of", f"!in:{uuids}") for uuids in values["--not-member-of"]]
    pairs += [("in_tree", uuid) for uuid in values["--in-tree"]]
    return [(name + suffix, value) for name, value in pairs]


def _amount(text: str) -> str:
    name, separator, amount = text.partition("=")
    if not separator or not amount.isdigit():
        raise BadRequest(f"--resource {text}: write it as <class>=<amount>, as in VCPU=4.")
    return f"{name}:{amount}"
