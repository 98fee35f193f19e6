"""The flavors of nova, as requests for candidates.

A flavor requests VCPU, MEMORY_MB and DISK_GB. Its extra specs ``resources:CLASS=AMOUNT`` replace
and add amounts, ``trait:TRAIT=required`` and ``=forbidden`` add traits. Both can name a group, as
in ``resources_GPU:CUSTOM_GPU=1``. ``hw:cpu_policy=dedicated`` requests PCPU instead of VCPU. Nova
does not request disabled hosts.

A server can need more than its request has: other extra specs, such as aliases of PCI devices, are
``not_counted``; nova also adds what its image, its ports, and the aggregates of its project and
zone require.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from keystoneauth1.exceptions import ClientException
from openstack import exceptions
from openstack.connection import Connection
from osc_lib.exceptions import CommandError

from placement_insight.documents import Response
from placement_insight.hosts import DISABLED
from placement_insight.nova_lists import InvalidPage, NovaList, rows_of

Pairs = list[tuple[str, str]]

_FLAVORS: Final = NovaList("/flavors/detail", "flavors", "id", "2.61")  # with extra specs
_ERRORS = (InvalidPage, exceptions.SDKException, ClientException)
_NUMBERS: Final = ("vcpus", "ram", "disk", "OS-FLV-EXT-DATA:ephemeral")
_NOT_DISABLED: Final = ("root_required", f"!{DISABLED}")
_EXTRA_SPEC: Final = re.compile(r"(resources|trait)([A-Za-z0-9_-]{0,64}):([A-Z0-9_]+)")
_PREFIXES: Final = {"required": "", "forbidden": "!"}
_MIB_OF_GIB: Final = 1024
_OF_NO_HOST: Final = ("quota:", "hw_rng:", "hw_video:", "os:", "hw:watchdog_action")


class OfFlavor(NamedTuple):
    """The request of a flavor, and the extra specs for hosts or devices that it does not have."""

    request: Pairs
    not_counted: Sequence[str]


def requests_of(connection: Connection) -> dict[str, OfFlavor]:
    """Return the requests by the names of the flavors, without disabled flavors.

    Raises: CommandError.
    """
    try:
        return {
            flavor["name"]: OfFlavor(request_of(flavor), not_counted(flavor))
            for flavor in map(
                _checked, rows_of(connection.compute, _FLAVORS, {"is_public": "None"})
            )
            if not flavor.get("OS-FLV-DISABLED:disabled")
        }
    except _ERRORS as error:
        text = str(error).partition("\n")[0].rstrip(".")
        raise CommandError(f"The flavors of nova could not be listed: {text}.") from error


def _checked(flavor: Response) -> Response:
    """Return a flavor that has the fields of a request.  Raises: CommandError."""
    specs = flavor.get("extra_specs")
    if not (
        isinstance(flavor.get("name"), str)
        and all(isinstance(flavor.get(name), int) for name in _NUMBERS)
        and re.fullmatch("[0-9]*", str(flavor.get("swap")))
        and isinstance(specs, dict)
        and all(isinstance(value, str) for value in specs.values())
    ):
        raise CommandError(
            "Nova listed a flavor without a field that is needed, or with another value than its "
            f"API defines: {flavor!r:.200}. Your roles must allow you to list extra specs."
        )
    return flavor


def request_of(flavor: Response) -> Pairs:
    """Return the parameters of a request for candidates; the amount 0 removes a class."""
    specs: Mapping[str, str] = flavor["extra_specs"]
    amounts: defaultdict[str, dict[str, int]] = defaultdict(dict)
    amounts[""] = _own_amounts(flavor, specs)
    traits: defaultdict[str, list[str]] = defaultdict(list)
    for name, value in specs.items():
        match = _EXTRA_SPEC.fullmatch(name)
        if match is None or not _is_counted(match[1], value):
            continue
        if match[1] == "resources":
            amounts[match[2]][match[3]] = int(value)
        else:
            traits[match[2]].append(f"{_PREFIXES[value]}{match[3]}")
    suffixes = sorted(amounts.keys() | traits.keys())
    pairs = []
    for suffix in suffixes:
        if requested := [f"{name}:{n}" for name, n in amounts[suffix].items() if n]:
            pairs.append((f"resources{suffix}", ",".join(requested)))
        if traits[suffix]:
            pairs.append((f"required{suffix}", ",".join(traits[suffix])))
    if len(suffixes) > 1:
        pairs.append(("group_policy", specs.get("group_policy", "none")))
    return [*pairs, _NOT_DISABLED]


def not_counted(flavor: Response) -> Sequence[str]:
    """Return the extra specs that can exclude hosts, and are not in the request."""
    return [
        f"{name}={value}"
        for name, value in flavor["extra_specs"].items()
        if not (
            name.startswith(_OF_NO_HOST)
            or name == "group_policy"
            or (name == "hw:cpu_policy" and value in {"dedicated", "shared"})
            or ((match := _EXTRA_SPEC.fullmatch(name)) and _is_counted(match[1], value))
        )
    ]


def _is_counted(kind: str, value: str) -> bool:
    return value.isdecimal() if kind == "resources" else value in _PREFIXES


def _own_amounts(flavor: Response, specs: Mapping[str, str]) -> dict[str, int]:
    cpus = "PCPU" if specs.get("hw:cpu_policy") == "dedicated" else "VCPU"
    swap = -(-int(flavor["swap"] or 0) // _MIB_OF_GIB)
    return {
        cpus: flavor["vcpus"],
        "MEMORY_MB": flavor["ram"],
        "DISK_GB": flavor["disk"] + flavor["OS-FLV-EXT-DATA:ephemeral"] + swap,
    }
