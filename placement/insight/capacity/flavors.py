"""The flavors of nova, as requests for candidates.

A flavor requests VCPU, MEMORY_MB and DISK_GB. Its extra specs ``resources:CLASS=AMOUNT`` replace
and add amounts, ``trait:TRAIT=required`` and ``=forbidden`` add traits. Both can name a group, as
in ``resources_GPU:CUSTOM_GPU=1``. ``hw:cpu_policy=dedicated`` requests PCPU instead of VCPU. Nova
does not request disabled hosts.

A server can need more than its flavor: nova also adds what its image, its ports, the aggregates of
its project and zone, and other extra specs, such as aliases of PCI devices, require.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from keystoneauth1.exceptions import ClientException
from openstack import exceptions
from openstack.connection import Connection
from osc_lib.exceptions import CommandError

from placement.insight.documents import Response
from placement.insight.nova_lists import InvalidPage, NovaList, pages

Pairs = list[tuple[str, str]]

_FLAVORS: Final = NovaList("/flavors/detail", "flavors", "id", "2.61")  # with extra specs
_ERRORS = (InvalidPage, exceptions.SDKException, ClientException)
_NUMBERS: Final = ("vcpus", "ram", "disk", "OS-FLV-EXT-DATA:ephemeral")
_NOT_DISABLED: Final = ("root_required", "!COMPUTE_STATUS_DISABLED")
_EXTRA_SPEC: Final = re.compile(r"(resources|trait)([A-Za-z0-9_-]{0,64}):([A-Z0-9_]+)")
_PREFIXES: Final = {"required": "", "forbidden": "!"}
_MIB_OF_GIB: Final = 1024


def requests_of(connection: Connection) -> dict[str, Pairs]:
    """Return the requests by the names of the flavors, without disabled flavors.

    Raises: CommandError.
    """
    try:
        return {
            flavor["name"]: request_of(flavor)
            for flavor in map(_checked, pages(connection.compute, _FLAVORS, {"is_public": "None"}))
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


@dataclass(slots=True)
class _Group:
    """The amounts and traits that a flavor requests in one group."""

    amounts: dict[str, int] = field(default_factory=dict)
    traits: list[str] = field(default_factory=list)

    def pairs(self, suffix: str) -> Iterator[tuple[str, str]]:
        """Yield the parameters; nova removes a class by the amount 0."""
        amounts = [f"{name}:{amount}" for name, amount in self.amounts.items() if amount]
        if amounts:
            yield f"resources{suffix}", ",".join(amounts)
        if self.traits:
            yield f"required{suffix}", ",".join(self.traits)


def request_of(flavor: Response) -> Pairs:
    """Return the parameters of the request for candidates."""
    specs: Mapping[str, str] = flavor["extra_specs"]
    groups = _groups(flavor, specs)
    pairs = [pair for suffix in sorted(groups) for pair in groups[suffix].pairs(suffix)]
    if len(groups) > 1:
        pairs.append(("group_policy", specs.get("group_policy", "none")))
    return [*pairs, _NOT_DISABLED]


def _groups(flavor: Response, specs: Mapping[str, str]) -> Mapping[str, _Group]:
    """Return the groups by suffix."""
    groups: defaultdict[str, _Group] = defaultdict(_Group)
    groups[""].amounts = _own_amounts(flavor, specs)
    for name, value in specs.items():
        match = _EXTRA_SPEC.fullmatch(name)
        if match and match[1] == "resources" and value.isdecimal():
            groups[match[2]].amounts[match[3]] = int(value)
        elif match and match[1] == "trait" and value in _PREFIXES:
            groups[match[2]].traits.append(f"{_PREFIXES[value]}{match[3]}")
    return groups


def _own_amounts(flavor: Response, specs: Mapping[str, str]) -> dict[str, int]:
    cpus = "PCPU" if specs.get("hw:cpu_policy") == "dedicated" else "VCPU"
    swap = -(-int(flavor["swap"] or 0) // _MIB_OF_GIB)
    return {
        cpus: flavor["vcpus"],
        "MEMORY_MB": flavor["ram"],
        "DISK_GB": flavor["disk"] + flavor["OS-FLV-EXT-DATA:ephemeral"] + swap,
    }
